"""What the replication core wants done, and what the cores of a run say to each other.

A *process* is known by its index in the machine, a *rank* by its number in COMM_WORLD; the replicas
of a rank are several processes.
"""

from __future__ import annotations

from gcm.records import dataclass

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any, TypeAlias

    Stream: TypeAlias = tuple[Hashable, int, int, int]
    """A context, the rank that sends, the rank that receives, and a tag: what counts one by one."""
    Word: TypeAlias = tuple[Any, ...]
    """What one core says to another: a name and plain values, for `hear` of the other one."""


@dataclass(frozen=True, slots=True)
class Transmit:
    """Send a message to several processes, with its stream and number in the header.

    `message` is what was given to `send`. What is transmitted to one process arrives there in this
    order, in one line with the words of `Tell`; of a process that is lost the last may be missing.
    """

    to: tuple[int, ...]
    stream: Stream
    number: int
    message: Any


@dataclass(frozen=True, slots=True)
class Tell:
    """Say something to the core of another process, in one line with what is transmitted to it."""

    to: int
    word: Word


@dataclass(frozen=True, slots=True)
class Keep:
    """Copy the payload of a message that was given to `send`: the program may go on now.

    The copy may be let go at `Drop`, or when the message has been transmitted to all.
    """

    message: Any


@dataclass(frozen=True, slots=True)
class Drop:
    """Nothing is to be done for this message any more: every receiver has it, or is dead.

    The program may go on if it waits for it, and a copy may be let go. A message for which there is
    a `Transmit` is done when the transmissions are, and there is no `Drop`.
    """

    message: Any


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
