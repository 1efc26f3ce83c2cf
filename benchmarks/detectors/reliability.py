"""How probable it is that a detector itself fails: a living member has lost all its sources."""

from __future__ import annotations

from runtime.health import DetectorProtocol

PUBLISHED = {
    (4, "brr"): 9.506e-3,
    (4, "dbrr"): 4.813e-4,
    (8, "brr"): 9.477e-4,
    (8, "dbrr"): 2.262e-6,
    (16, "brr"): 9.497e-5,
    (16, "dbrr"): 1.187e-8,
}
"""For 5 % of dead members, by simulation."""


def failure_probability(protocol: DetectorProtocol, members: int, dead: float) -> float:
    """Return the probability, exactly, by looking at all sets of dead members.

    A group in which nobody lives has failed too.

    >>> f"{failure_probability(DetectorProtocol.BRR, 4, 0.05):.3e}"
    '9.506e-03'
    """
    steps = {step % members for step in protocol.row.offsets(members)}
    sources = [sum(1 << (member - step) % members for step in steps) for member in range(members)]
    total = 0.0
    for gone in range(1 << members):
        lost = any(not gone >> one & 1 and from_ & ~gone == 0 for one, from_ in enumerate(sources))
        if lost or gone == (1 << members) - 1:
            count = gone.bit_count()
            total += dead**count * (1 - dead) ** (members - count)
    return total
