"""The failure detectors that a descriptor can name: a row for each.

Whoever asks for a detector has a row or its name; nothing outside of this package compares names.
A new detector is a row here, and a file where it does not spread heartbeats by gossip.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Self

from gcm.records import dataclass


def rounds_to_all(members: int) -> int:
    """Return the logarithm to base 2, rounded up: what a doubling number of informed ones needs.

    >>> [rounds_to_all(members) for members in (1, 2, 3, 4, 5, 256)]
    [0, 1, 2, 2, 3, 8]
    """
    return (members - 1).bit_length()


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


def _doubling(members: int) -> tuple[int, ...]:
    return tuple(1 << number for number in range(rounds_to_all(members)))


def _doubling_both_ways(members: int) -> tuple[int, ...]:
    there = _doubling(members)
    return (*there, *(-one for one in there))


def _everybody(members: int) -> tuple[int, ...]:
    return tuple(range(1, members))


def _twice(members: int) -> int:
    return 2 * rounds_to_all(members)


def _thrice(members: int) -> int:
    return 3 * rounds_to_all(members)


def _twice_spreading(members: int) -> int:
    """Return twice the rounds in which a heartbeat reaches everybody by round robin.

    Members do not begin their rounds at the same moment, so what left in one cycle arrives in the
    next; the same holds for BRR.
    """
    return 2 * spreading_rounds(members)


@dataclass(frozen=True, slots=True)
class DetectorRow:
    """What is known of a detector.

    `offsets` says how far the receiver of each round of a cycle is from the sender, for a number of
    members, and `cleanup_rounds` how many rounds of silence make one a suspect. Where heartbeats go
    `at_random`, the offsets are those to choose from. Each member watches those of its `own_site`,
    or everybody. `maker` has the module and the class of the contract `Detector`, which is imported
    once it is chosen.
    """

    name: str
    offsets: Callable[[int], tuple[int, ...]]
    cleanup_rounds: Callable[[int], int]
    at_random: bool = False
    own_site: bool = False
    maker: tuple[str, str] = ("runtime.health.gossip", "GossipDetector")


class DetectorProtocol(StrEnum):
    """The detectors, by the names that they have in a descriptor.

    >>> DetectorProtocol("brr").row.offsets(6), DetectorProtocol.DBRR.row.offsets(6)
    ((1, 2, 4), (1, 2, 4, -1, -2, -4))
    >>> DetectorProtocol.ROUND_ROBIN.row.offsets(6)
    (1, 2, 3, 4, 5)
    >>> [one.row.cleanup_rounds(16) for one in (DetectorProtocol.BRR, DetectorProtocol.DBRR)]
    [8, 12]
    """

    row: DetectorRow

    def __new__(cls, row: Any) -> Self:  # a `DetectorRow`; a call looks for a name
        """Make the member whose text is the name of the row."""
        made = str.__new__(cls, row.name)
        made._value_, made.row = row.name, row
        return made

    DBRR = DetectorRow("dbrr", _doubling_both_ways, _thrice)
    BRR = DetectorRow("brr", _doubling, _twice)
    ROUND_ROBIN = DetectorRow("round-robin", _everybody, _twice_spreading)
    RANDOM = DetectorRow("random", _everybody, random_rounds, at_random=True)
    """To a random member in each round, as the first gossiping detectors did."""
    HIERARCHICAL = DetectorRow("hierarchical", _doubling_both_ways, _thrice, own_site=True)
    """DBRR inside each site; the launcher in between passes on what one has found."""


DEFAULT_DETECTOR = DetectorProtocol.DBRR
