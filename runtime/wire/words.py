"""What a rank asks of another one that it cannot connect to, or could not."""

COME = "come"
"""To connect to it."""

MEET = "meet"
"""To come to a front-end, where it waits."""

LANE = " lane"
"""What is added to the name of a rank that opens one more connection, for parts of payloads."""

PROBES = " probes"
"""What is added to the name of a rank that only wants to know whether it reaches another one."""
