"""Whom a member tells in which round, and how many rounds of silence make it a suspect."""

from __future__ import annotations

from enum import StrEnum


class DetectorProtocol(StrEnum):
    """How heartbeats spread."""

    ROUND_ROBIN = "round-robin"
    BRR = "brr"
    DBRR = "dbrr"
    HIERARCHICAL = "hierarchical"
    """DBRR inside each group; somebody in between passes on what one group has found."""
    RANDOM = "random"
    """To a random member in each round, as the first gossiping detectors did."""


def rounds_to_all(members: int) -> int:
    """Return the logarithm to base 2, rounded up: what a doubling number of informed ones needs.

    >>> [rounds_to_all(members) for members in (1, 2, 3, 4, 5, 256)]
    [0, 1, 2, 2, 3, 8]
    """
    return (members - 1).bit_length()


def offsets(protocol: DetectorProtocol, members: int) -> tuple[int, ...]:
    """Return how far the receiver of each round of a cycle is from the sender.

    >>> offsets(DetectorProtocol.BRR, 6), offsets(DetectorProtocol.DBRR, 6)
    ((1, 2, 4), (1, 2, 4, -1, -2, -4))
    >>> offsets(DetectorProtocol.ROUND_ROBIN, 6)
    (1, 2, 3, 4, 5)

    With random gossip these are the members to choose from.
    """
    if protocol in (DetectorProtocol.ROUND_ROBIN, DetectorProtocol.RANDOM):
        return tuple(range(1, members))
    there = tuple(1 << number for number in range(rounds_to_all(members)))
    if protocol is DetectorProtocol.BRR:
        return there
    return (*there, *(-one for one in there))


def cleanup_rounds(protocol: DetectorProtocol, members: int) -> int:
    """Return T_cleanup in rounds.

    For round robin it is twice the time a heartbeat needs to reach everybody, as for BRR: members
    do not begin their rounds at the same moment, so what left in one cycle arrives in the next.

    >>> [cleanup_rounds(one, 16) for one in (DetectorProtocol.BRR, DetectorProtocol.DBRR)]
    [8, 12]
    """
    if protocol is DetectorProtocol.ROUND_ROBIN:
        return 2 * spreading_rounds(members)
    if protocol is DetectorProtocol.RANDOM:
        return random_rounds(members)
    return (2 if protocol is DetectorProtocol.BRR else 3) * rounds_to_all(members)


def spreading_rounds(members: int) -> int:
    """Return the rounds of round robin after which a heartbeat has reached everybody.

    >>> [spreading_rounds(members) for members in (2, 4, 6, 7, 8)]
    [1, 2, 3, 3, 4]
    """
    rounds = 0
    while 1 + rounds * (rounds + 1) // 2 < members:
        rounds += 1
    return rounds


MISTAKE = 1e-9
"""How probable it may be that random gossip has not brought a heartbeat to a member by T_cleanup:
256 members suspect one that lives in some hours."""


def random_rounds(members: int) -> int:
    """Return the rounds of random gossip after which a heartbeat has reached a certain member.

    In each round all who know it tell one of the others, so that the share of those who do not
    shrinks to a third in the end.

    >>> [random_rounds(members) for members in (2, 16, 256)]
    [1, 23, 29]
    """
    unaware, rounds = 1 - 1 / members, 0
    while unaware > MISTAKE:
        unaware *= (1 - 1 / (members - 1)) ** (members * (1 - unaware))
        rounds += 1
    return rounds
