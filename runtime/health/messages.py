"""What detectors say to each other, how it looks as plain data, and what they want done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from gcm.records import dataclass
from runtime.errors import GridError


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A heartbeat: the counts of all members that its sender knows, in the order of the group.

    `incarnations` has those above 0, `dead` the incarnation up to which a member has been declared.
    """

    sender: str
    incarnation: int
    counts: Sequence[int]
    incarnations: Mapping[str, int] = field(default_factory=dict)
    dead: Mapping[str, int] = field(default_factory=dict)
    group: str = ""


@dataclass(frozen=True, slots=True)
class Ping:
    """The receiver is suspected by the sender, and answers with a `PingReply`."""

    sender: str
    incarnation: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class PingReply:
    """The answer to a ping, with the count of the heartbeats of its sender."""

    sender: str
    incarnation: int
    count: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class Expel:
    """The receiver has been declared dead in this incarnation."""

    sender: str
    incarnation: int
    group: str = ""


Message = Heartbeat | Ping | PingReply | Expel


class NotUnderstood(GridError):
    """The received data are no message of a detector."""


def plain(message: Message) -> tuple[str, tuple[Any, ...]]:
    """Return the kind of a message and its fields as plain data.

    >>> plain(PingReply("b", 0, 17))
    ('reply', ('b', 0, 17, ''))
    """
    match message:
        case Heartbeat(sender, number, counts, incarnations, dead, group):
            fields = sender, number, list(counts), dict(incarnations), dict(dead), group
            return "beat", fields
        case PingReply(sender, number, count, group):
            return "reply", (sender, number, count, group)
    return _NAMES[type(message)], (message.sender, message.incarnation, message.group)


def read(kind: str, fields: Sequence[Any], members: int) -> Message:
    """Return the message that `plain` took apart, in a group of so many members.

    >>> read("reply", ("b", 0, 17, ""), 2)
    PingReply(sender='b', incarnation=0, count=17, group='')

    Raises:
        NotUnderstood: it is none.
    """
    match kind, fields:
        case "beat", [str(), number, [*counts], {**incarnations}, {**dead}, str()] if (
            len(counts) == members
            and _are_numbers(number, *counts, *incarnations.values(), *dead.values())
            and all(isinstance(name, str) for name in (*incarnations, *dead))
        ):
            return Heartbeat(*fields)
        case "reply", [str(), number, count, str()] if _are_numbers(number, count):
            return PingReply(*fields)
        case "ping" | "expel", [str(), number, str()] if _are_numbers(number):
            return (Ping if kind == "ping" else Expel)(*fields)
    raise NotUnderstood(
        "a message about heartbeats is not understood",
        cause=f"'{kind}' of {members} members does not say: {fields!r:.200}",
    )


def _are_numbers(*values: Any) -> bool:
    return all(type(one) is int and 0 <= one < _MOST for one in values)


_NAMES: dict[type[Any], str] = {Ping: "ping", Expel: "expel"}
_MOST = 1 << 53


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to a member; it may get lost."""

    to: str
    message: Message


@dataclass(frozen=True, slots=True)
class Suspect:
    """A member has been silent for that many seconds; it is pinged now."""

    member: str
    silence: float


@dataclass(frozen=True, slots=True)
class Trust:
    """A suspected member has been heard of."""

    member: str


@dataclass(frozen=True, slots=True)
class Declare:
    """A member is dead in this incarnation; that is final. `why` is what shows it."""

    member: str
    incarnation: int
    why: str


@dataclass(frozen=True, slots=True)
class Join:
    """A member is there in a new incarnation."""

    member: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Expelled:
    """The others have declared this very member dead: it must not go on as if it were not."""

    by: str


Effect = Send | Suspect | Trust | Declare | Join | Expelled
