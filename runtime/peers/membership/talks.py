"""What a member says to others, step by step: a generator yields steps and is sent what came.

Whoever holds a talk carries its steps out, one after the other, over real connections or simulated
ones; a step that fails raises PeerError in the talk. Between two steps nobody else may change what
the talk works on. At its end, and before it dials again, its connection is closed.
"""

from __future__ import annotations

from collections.abc import Generator, MutableSequence, Sequence
from typing import Any, Protocol, TypeVar

from gcm.records import dataclass
from runtime.peers.model import Address, Member

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DialMember:
    """Connect to whoever is at an address; what comes is the `Principal` that answers there."""

    address: Address
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ReachMember:
    """Connect to a member, at one of its addresses; what comes is its `Principal`."""

    member: Member
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class CallMember:
    """Call an operation of `LabMembership` over the connection; what comes is the answer.

    Who calls is not among the `arguments`: whoever holds the talk knows that.
    """

    operation: str
    arguments: tuple[Any, ...] = ()
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class MeasureRoundTrip:
    """Measure the round trip over the connection; what comes are the seconds."""


@dataclass(frozen=True, slots=True)
class KeepHosts:
    """Write the list of hosts to where it is found in the next life."""


TalkStep = DialMember | ReachMember | CallMember | MeasureRoundTrip | KeepHosts
Talk = Generator[TalkStep, Any, T]


class Chance(Protocol):
    """What is left to chance; the module `random` is one."""

    def random(self) -> float:
        """Return a number from 0 to 1."""

    def sample(self, population: Sequence[T], k: int) -> list[T]:
        """Return some of a population."""

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Bring a list into any order."""
