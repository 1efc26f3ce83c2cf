"""What the replication core wants done, and what the cores of a run say to each other.

A *process* is known by its index in the machine, a *rank* by its number in COMM_WORLD; the replicas
of a rank are several processes.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, TypeAlias

from gcm.records import dataclass

if TYPE_CHECKING:
    Stream: TypeAlias = tuple[Hashable, int, int, int]
    """A context, the rank that sends, the rank that receives, and a tag: what counts one by one."""
    Word: TypeAlias = tuple[Any, ...]
    """What one core says to another: a name and plain values, for `hear` of the other one."""


class _OfMessage:
    """An effect on a message. There is one for each message, so it is made quickly."""

    __slots__ = ("message",)

    def __init__(self, message: Any) -> None:
        self.message = message

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._values()}"

    def _values(self) -> tuple[Any, ...]:
        return (self.message,)


class Transmit(_OfMessage):
    """Send a message to several processes, with its stream and number in the header.

    `message` is what was given to `send`. What is transmitted to one process arrives there in this
    order, in one line with the words of `Tell`; of a process that is lost the last may be missing.
    """

    __slots__ = ("number", "stream", "to")

    def __init__(self, to: tuple[int, ...], stream: Stream, number: int, message: Any) -> None:
        self.to, self.stream, self.number, self.message = to, stream, number, message

    def _values(self) -> tuple[Any, ...]:
        return self.to, self.stream, self.number, self.message


@dataclass(frozen=True, slots=True)
class Tell:
    """Say something to the core of another process, in one line with what is transmitted to it."""

    to: int
    word: Word


class Keep(_OfMessage):
    """Copy the payload of a message that was given to `send`: the program may go on now.

    The copy may be let go at `Drop`, or when the message has been transmitted to all.
    """

    __slots__ = ()


class Drop(_OfMessage):
    """Nothing is to be done for this message any more: every receiver has it, or is dead.

    The program may go on if it waits for it, and a copy may be let go. A message for which there is
    a `Transmit` is done when the transmissions are, and there is no `Drop`.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision is known now, which was not when it was asked for."""

    sequence: Hashable
    number: int
    value: Any


@dataclass(frozen=True, slots=True)
class Lead:
    """This process decides from now on: decide what was asked for and is not decided."""


@dataclass(frozen=True, slots=True)
class DecisionsSettled:
    """All living replicas know the first so many decisions."""

    count: int


Effect = Transmit | Tell | Keep | Drop | Decided | Lead | DecisionsSettled
