"""Front-ends forward bytes between processes that cannot reach each other, unread.

To reach a process, a member connects to a front-end, proves that it belongs to the run, and names
the stops that follow. The front-end connects to the next one, answers, and from then on copies
bytes between the two connections in both directions. The two ends authenticate each other once
more, end to end, so what travels is between them alone.
"""
