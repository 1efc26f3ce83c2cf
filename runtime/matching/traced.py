"""The rows of a trace: what ranks keep of their calls, and which receive got which message.

A rank knows of a message what its own call says, so each end is found by itself and the two are
joined later: of the messages from one rank to another, with one tag on one communicator, the first
that was sent is the first that was received, by the order in which receives were posted (MPI calls
that non-overtaking). Where a rank has dropped its oldest rows, the last ones are joined instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import TypeVar

from gcm.records import dataclass

E = TypeVar("E", bound="MessageEnd")

ROW = Struct("!ddHHiii")
"""Begin and end in seconds, the call, the communicator, the other rank or root, tag, bytes.

In the place of a tag a collective has the number of its plan.
"""

MOST_SECONDS = 1e10
"""No run lasts longer."""

UNKNOWN = -1
NO_COMMUNICATOR = 0xFFFF

SEND, RECEIVE, POST, COLLECTIVE, WAIT, SENT, RECEIVED = (
    "send", "receive", "post", "collective", "wait", "(sent)", "(received)",
)  # fmt: skip
"""The kinds of rows. The last two are no calls: one message of a call that does more than that, or
of a request that is complete; it begins when the receive was posted."""


@dataclass(frozen=True, slots=True)
class TracedRow:
    """A row in which names stand for numbers; `peer` is a rank in the communicator, or -1."""

    begun: float
    ended: float
    call: int
    communicator: int
    peer: int
    tag: int
    bytes: int


def rows_of(packed: bytes) -> Iterator[TracedRow]:
    """Yield packed rows, but none at times that no run has: a rank may tell anything."""
    for row in ROW.iter_unpack(packed):
        if -MOST_SECONDS < row[0] < MOST_SECONDS and -MOST_SECONDS < row[1] < MOST_SECONDS:
            yield TracedRow(*row)


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """One end of a message: at which rank, when, and what the other end has to say, too.

    `posted` is when a send or receive was begun, `at` when a receive was complete.
    """

    sender: str
    receiver: str
    communicator: str
    tag: int
    posted: float
    at: float
    bytes: int


def joined(sends: Iterable[E], receives: Iterable[E], cut: Iterable[str]) -> Iterator[tuple[E, E]]:
    """Yield the two ends of each message; `cut` are ranks whose oldest rows are not there."""
    are_cut = frozenset(cut)
    received: dict[tuple[str, str, str, int], list[E]] = {}
    for one in sorted(receives, key=lambda end: end.posted):
        received.setdefault(_key(one), []).append(one)
    sent: dict[tuple[str, str, str, int], list[E]] = {}
    for one in sorted(sends, key=lambda end: end.posted):
        sent.setdefault(_key(one), []).append(one)
    for key, those in sent.items():
        theirs = received.get(key, [])
        both = min(len(those), len(theirs)) if are_cut & {key[0], key[1]} else 0
        yield from zip(those[-both:], theirs[-both:], strict=False)


def _key(end: MessageEnd) -> tuple[str, str, str, int]:
    return end.sender, end.receiver, end.communicator, end.tag
