"""What a rank tells of its calls and messages when it is asked: records, the same at both ends.

The rank makes a `RankState` and sends its `plain`; the launcher reads that by `parse`, and
`runtime.waits` explains from those of all ranks why some wait. A rank imports this once it is asked
or ends, so it imports little itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from gcm.records import dataclass
from runtime.machine.deaths import UnreadableReport, read_fields

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from typing import Any, Self

    Kinds = Mapping[str, type | tuple[type, ...]]

_LONGEST = 400
"""The letters of a text of a program that are shown."""

RECEIVE, SEND, COLLECTIVE, UNKNOWN = "receive", "send", "collective", "unknown"
"""The kinds of parts of a call. What a request of native MPI waits for is unknown."""

_MOST_MEMBERS = 1 << 17
"""More than any machine has ranks: a report that says more would fill the launcher's memory."""

Run = tuple[str, int, int]
"""Consecutive ranks of a cluster: the cluster, the first and the last rank."""

_ROWS = (list, tuple)
_NUMBER = (int, float)


@dataclass(frozen=True, slots=True)
class KnownCommunicator:
    """A communicator as its members see it.

    `id` is the same at all members, or empty if unknown; `members` are ranges of ranks.

    >>> known = KnownCommunicator("1f", "MPI_COMM_WORLD", (("0:0", 0, 1), ("0:1", 0, 0)))
    >>> known.ranks, KnownCommunicator.parse(known.plain) == known
    (('0:0:0', '0:0:1', '0:1:0'), True)
    """

    id: str = ""
    name: str = ""
    members: tuple[Run, ...] = ()

    @classmethod
    def parse(cls, plain: object) -> Self:
        """Return what a rank has sent, as `plain` makes it; raises UnreadableReport."""
        values = read_fields(plain, _COMMUNICATOR)
        members = _rows(values.pop("members", ()), str, int, int)
        if sum(max(0, last + 1 - first) for _, first, last in members) > _MOST_MEMBERS:
            raise UnreadableReport(f"it has more than {_MOST_MEMBERS} members")
        return cls(values.get("id", ""), _text(values.get("name", "")), members)

    @property
    def plain(self) -> dict[str, Any]:
        """What travels, as plain data."""
        return _said(self, _COMMUNICATOR)

    @property
    def ranks(self) -> tuple[str, ...]:
        """The members, in the order of their names."""
        return _each(self.members)

    def __str__(self) -> str:
        """Return how messages name it."""
        return self.name.removeprefix("MPI_") or "a communicator"

    def is_like(self, other: KnownCommunicator) -> bool:
        """Return whether the two may be the same, as far as that is known."""
        if self.id or other.id:
            return self.id == other.id
        return not self.members or not other.members or self.members == other.members


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a call waits for; without a `peer` any rank, without a `tag` any tag.

    >>> Part.parse(Part(RECEIVE, "0:1:0", 7).plain)
    Part(kind='receive', peer='0:1:0', tag=7, is_tag_known=True)
    """

    kind: str
    peer: str = ""
    tag: int | None = None
    is_tag_known: bool = True

    @classmethod
    def parse(cls, plain: object) -> Self:
        """Return what a rank has sent, as `plain` makes it; raises UnreadableReport."""
        return cls(**read_fields(plain, _PART, ("kind",)))

    @property
    def plain(self) -> dict[str, Any]:
        """What travels, as plain data."""
        return _said(self, _PART)

    def fits(self, tag: int | None) -> bool:
        """Return whether a message with that tag may match; None stands for any."""
        return not self.is_tag_known or self.tag is None or tag is None or self.tag == tag


@dataclass(frozen=True, slots=True)
class Wait:
    """A call that blocks a thread.

    It returns when all of its `parts` are done, or one of them if `needs_all` is false. `serial`
    distinguishes it from other calls of its rank, `turn` from other collectives of its
    communicator. `seconds` is how long it has lasted at least, `size` how many bytes it contributes
    to a collective in which all members have to contribute equally. `began` is the call whose
    request it waits for, if that is known.
    """

    call: str
    parts: tuple[Part, ...]
    comm: KnownCommunicator = KnownCommunicator()
    needs_all: bool = True
    turn: int | None = None
    root: str = ""
    seconds: float = 0.0
    where: str = ""
    serial: int = 0
    size: int | None = None
    began: str = ""
    is_of_mpi: bool = True
    """Whether it is known to be a call of MPI; `wait` may also be one of another library."""

    @classmethod
    def parse(cls, plain: object) -> Self:
        """Return what a rank has sent, as `plain` makes it; raises UnreadableReport."""
        values = _clean(read_fields(plain, _WAIT, ("call", "parts")), "call", "where", "began")
        values["parts"] = tuple(map(Part.parse, values["parts"]))
        values["comm"] = KnownCommunicator.parse(values.get("comm", {}))
        return cls(**values)

    @property
    def plain(self) -> dict[str, Any]:
        """What travels, as plain data."""
        parts = [one.plain for one in self.parts]
        return {**_said(self, _WAIT), "parts": parts, "comm": self.comm.plain}

    @property
    def is_collective(self) -> bool:
        """Whether it is a collective call."""
        return any(part.kind == COLLECTIVE for part in self.parts)

    @property
    def is_for_sends(self) -> bool:
        """Whether it is known to wait for nothing but its sends."""
        return all(part.kind == SEND for part in self.parts)


@dataclass(frozen=True, slots=True)
class UnreceivedMessage:
    """A message that has arrived and that no receive matches yet."""

    sender: str
    tag: int
    size: int
    comm: str = ""

    @classmethod
    def parse(cls, plain: object) -> Self:
        """Return what a rank has sent, as `plain` makes it; raises UnreadableReport."""
        return cls(**_clean(read_fields(plain, _UNRECEIVED, ("sender", "tag", "size")), "comm"))

    @property
    def plain(self) -> dict[str, Any]:
        """What travels, as plain data."""
        return _said(self, _UNRECEIVED)


@dataclass(frozen=True, slots=True)
class UnsentMessage:
    """A message whose receiver had ended before it could go."""

    receiver: str
    tag: int
    size: int
    comm: str = ""

    @classmethod
    def parse(cls, plain: object) -> Self:
        """Return what a rank has sent, as `plain` makes it; raises UnreadableReport."""
        return cls(**_clean(read_fields(plain, _UNSENT, ("receiver", "tag", "size")), "comm"))

    @property
    def plain(self) -> dict[str, Any]:
        """What travels, as plain data."""
        return _said(self, _UNSENT)


@dataclass(frozen=True, slots=True)
class RecoveryState:
    """Where a communicator is between a loss and its recovery, as one of its members knows it.

    `size` are its places, and of these as many are `present` as there are processes that have
    neither ended nor are lost; both are 0 for a process that was started again and has yet to join.
    """

    comm: str
    state: str
    modes: str
    size: int = 0
    present: int = 0

    @classmethod
    def parse(cls, plain: object) -> Self:
        """Return what a rank has sent, as `plain` makes it; raises UnreadableReport."""
        values = read_fields(plain, _RECOVERY, ())
        texts = (_text(values.get(name, "")) for name in ("comm", "state", "modes"))
        name, state, modes = texts
        return cls(name, state, modes, values.get("size", 0), values.get("present", 0))

    @property
    def plain(self) -> dict[str, Any]:
        """What travels, as plain data."""
        return _said(self, _RECOVERY)


@dataclass(frozen=True, slots=True)
class RankState:
    """What a rank was doing when it was asked, or what it has left at its end.

    `at` is where the program was if it does not wait. `may_act` means that threads besides the
    waiting ones may do something. `turns` counts the collectives begun on each communicator.

    >>> state = RankState("0:1:0", (Wait("Recv", (Part(RECEIVE, tag=0),)),), turns=(("1f", 2),))
    >>> RankState.parse("0:1:0", state.plain) == state, state.turn("1f"), state.turn("20")
    (True, 2, 0)
    """

    rank: str
    waits: tuple[Wait, ...] = ()
    at: str = ""
    may_act: bool = False
    turns: tuple[tuple[str, int], ...] = ()
    unreceived: tuple[UnreceivedMessage, ...] = ()
    unsent: tuple[UnsentMessage, ...] = ()
    intercepted: tuple[str, ...] = ()
    """What interceptors have done to messages that it has sent."""
    recoveries: tuple[RecoveryState, ...] = ()
    """The communicators that have lost members, or whose modes say what becomes of them then."""
    stacks: tuple[tuple[str, str], ...] = ()
    host: str = ""
    pid: int = 0
    is_alone: bool = False
    """Whether the program has one thread, so that nobody beside it can complete its wait."""
    memory: int = 0
    cpu: float = 0.0
    """The bytes that its process had at most, and its seconds of processor time."""
    in_mpi: float = 0.0
    """The seconds that it has been in MPI until now, where its calls are counted."""
    clock: float = 0.0
    clock_of: str = ""
    """When it was asked, and by which clock; no clock at the end of a rank."""

    @classmethod
    def parse(cls, rank: str, plain: object) -> Self:
        """Return what a rank has sent, as `plain` makes it.

        The texts of its program, such as names of communicators, are cleaned here.

        Raises:
            UnreadableReport: it is something else.
        """
        values = _clean(read_fields(plain, _STATE), "at", "host", "clock_of")
        for name, parse in _RECORDS.items():
            values[name] = tuple(map(parse, values.get(name, ())))
        values["intercepted"] = tuple(map(_text, values.get("intercepted", ())))
        values["turns"] = _rows(values.get("turns", ()), str, int)
        values["stacks"] = tuple(map(_stack, _rows(values.get("stacks", ()), str, str)))
        return cls(rank, **values)

    @property
    def plain(self) -> dict[str, Any]:
        """What travels, as plain data; who the rank is has been proved otherwise."""
        values = _said(self, _STATE)
        records = {name: [one.plain for one in values[name]] for name in _RECORDS if name in values}
        return values | records

    def turn(self, communicator: str) -> int:
        """Return how many collectives it has begun on a communicator with that id."""
        return dict(self.turns).get(communicator, 0)


_COMMUNICATOR: Kinds = {"id": str, "name": str, "members": _ROWS}
_PART: Kinds = {"kind": str, "peer": str, "tag": int, "is_tag_known": bool}
_WAIT: Kinds = {
    "call": str,
    "parts": _ROWS,
    "comm": dict,
    "needs_all": bool,
    "turn": int,
    "root": str,
    "seconds": _NUMBER,
    "where": str,
    "serial": int,
    "size": int,
    "began": str,
    "is_of_mpi": bool,
}
_UNRECEIVED: Kinds = {"sender": str, "tag": int, "size": int, "comm": str}
_UNSENT: Kinds = {"receiver": str, "tag": int, "size": int, "comm": str}
_RECOVERY: Kinds = {"comm": str, "state": str, "modes": str, "size": int, "present": int}
_STATE: Kinds = {
    "waits": _ROWS,
    "at": str,
    "may_act": bool,
    "turns": _ROWS,
    "unreceived": _ROWS,
    "unsent": _ROWS,
    "intercepted": _ROWS,
    "recoveries": _ROWS,
    "stacks": _ROWS,
    "host": str,
    "pid": int,
    "is_alone": bool,
    "memory": int,
    "cpu": _NUMBER,
    "in_mpi": _NUMBER,
    "clock": float,
    "clock_of": str,
}
_RECORDS = {
    "waits": Wait.parse,
    "unreceived": UnreceivedMessage.parse,
    "unsent": UnsentMessage.parse,
    "recoveries": RecoveryState.parse,
}


def _said(record: object, kinds: Kinds) -> dict[str, Any]:
    """Return the fields of a record that say something; 0 and False do, unlike what is empty."""
    values = {name: getattr(record, name) for name in kinds}
    return {name: value for name, value in values.items() if value not in (None, "", ())}


def _clean(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return fields of a report with those texts in it cleaned that a program wrote."""
    return values | {name: _text(values[name]) for name in names if name in values}


def _text(told: object) -> str:
    from runtime.shown_text import shown  # ranks do without

    return shown(str(told), _LONGEST)


def _stack(told: tuple[str, str]) -> tuple[str, str]:
    from runtime.shown_text import shown_lines

    return _text(told[0]), shown_lines(told[1])


def _rows(plain: list[Any] | tuple[Any, ...], *kinds: type) -> tuple[Any, ...]:
    """Return rows of a report, each of which has values of these types; raises UnreadableReport."""
    for one in plain:
        if not isinstance(one, _ROWS) or [*map(type, one)] != [*kinds]:
            raise UnreadableReport(f"a row of it is {one!r:.80}")
    return tuple(map(tuple, plain))


@lru_cache(maxsize=128)
def _each(members: tuple[Run, ...]) -> tuple[str, ...]:
    """Return the names of all ranks of these ranges."""
    return tuple(
        f"{cluster}:{rank}" for cluster, first, last in members for rank in range(first, last + 1)
    )
