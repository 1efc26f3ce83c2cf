"""What detectors say to each other, how it looks as plain data, and what they want done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from gcm.records import dataclass
from runtime.errors import GridError


@dataclass(frozen=True, slots=True)
class Beat:
    """The heartbeats that a member knows, in the order of the group's members.

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
    """You are suspected; are you there?"""

    sender: str
    incarnation: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class PingReply:
    """I am: this is my heartbeat."""

    sender: str
    incarnation: int
    count: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class Expel:
    """You have been declared dead in this incarnation."""

    sender: str
    incarnation: int
    group: str = ""


Message = Beat | Ping | PingReply | Expel

_KINDS: dict[str, type[Any]] = {"beat": Beat, "ping": Ping, "reply": PingReply, "expel": Expel}
_NAMES = {kind: name for name, kind in _KINDS.items()}


class NotUnderstood(GridError):
    """What came is no message of a detector."""


def plain(message: Message) -> tuple[str, tuple[Any, ...]]:
    """Return the kind of a message and its fields as plain data.

    >>> plain(PingReply("b", 0, 17))
    ('reply', ('b', 0, 17, ''))
    """
    if isinstance(message, Beat):
        told = dict(message.incarnations), dict(message.dead), message.group
        return "beat", (message.sender, message.incarnation, list(message.counts), *told)
    if isinstance(message, PingReply):
        return "reply", (message.sender, message.incarnation, message.count, message.group)
    return _NAMES[type(message)], (message.sender, message.incarnation, message.group)


def read(kind: str, fields: Sequence[Any], members: int) -> Message:
    """Return the message that `plain` took apart, in a group of so many members.

    >>> read("reply", ("b", 0, 17, ""), 2)
    PingReply(sender='b', incarnation=0, count=17, group='')

    Raises:
        NotUnderstood: it is none.
    """
    made = _KINDS.get(kind)
    try:
        if made is None:
            raise ValueError(f"there is no message '{kind}'")
        message: Message = made(*fields)
        _check(message, members)
    except (TypeError, ValueError) as fault:
        raise NotUnderstood(
            "a message about heartbeats is not understood", cause=str(fault)
        ) from None
    return message


def _check(message: Any, members: int) -> None:
    if not isinstance(message.sender, str) or not isinstance(message.group, str):
        raise TypeError("a name is not a text")
    numbers = [message.incarnation]
    if isinstance(message, PingReply):
        numbers.append(message.count)
    if isinstance(message, Beat):
        if not (isinstance(message.incarnations, dict) and isinstance(message.dead, dict)):
            raise TypeError("incarnations belong to names")
        if len(message.counts) != members:
            raise ValueError(f"it has {len(message.counts)} heartbeats, not {members}")
        numbers += [
            *message.counts, *message.incarnations.values(), *message.dead.values()
        ]  # fmt: skip
        if not all(isinstance(name, str) for name in (*message.incarnations, *message.dead)):
            raise TypeError("a name is not a text")
    if not all(type(number) is int and 0 <= number < _MOST for number in numbers):
        raise ValueError("a number is not a heartbeat")


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
