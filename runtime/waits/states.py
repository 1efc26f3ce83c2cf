"""What a rank reports of its calls, as values; `state_from` reads the plain data that travels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from runtime.shown_text import shown, shown_lines

_LONGEST = 400
"""The letters of a text of a program that are shown."""

RECEIVE, SEND, COLLECTIVE, UNKNOWN = "receive", "send", "collective", "unknown"
"""The kinds of parts of a call. What a request of native MPI waits for is unknown."""

Run = tuple[str, int, int]
"""Consecutive ranks of a cluster: the cluster, the first and the last rank."""


@dataclass(frozen=True)
class KnownCommunicator:
    """A communicator as its members see it.

    `id` is the same at all members, or empty if unknown; `members` are ranges of ranks.

    >>> KnownCommunicator("1f", "MPI_COMM_WORLD", (("0:0", 0, 1), ("0:1", 0, 0))).ranks
    ('0:0:0', '0:0:1', '0:1:0')
    """

    id: str = ""
    name: str = ""
    members: tuple[Run, ...] = ()

    @cached_property
    def ranks(self) -> tuple[str, ...]:
        """The members, in the order of their names."""
        return tuple(
            f"{cluster}:{rank}"
            for cluster, first, last in self.members
            for rank in range(first, last + 1)
        )

    def __str__(self) -> str:
        return self.name.removeprefix("MPI_") or "a communicator"

    def is_like(self, other: KnownCommunicator) -> bool:
        """Return whether the two may be the same, as far as that is known."""
        if self.id or other.id:
            return self.id == other.id
        return not self.members or not other.members or self.members == other.members


@dataclass(frozen=True)
class Part:
    """One thing that a call waits for; without a `peer` any rank, without a `tag` any tag."""

    kind: str
    peer: str = ""
    tag: int | None = None
    is_tag_known: bool = True

    def fits(self, tag: int | None) -> bool:
        """Return whether a message with that tag may match; None stands for any."""
        return not self.is_tag_known or self.tag is None or tag is None or self.tag == tag


@dataclass(frozen=True)
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

    @property
    def is_collective(self) -> bool:
        """Whether it is a collective call."""
        return any(part.kind == COLLECTIVE for part in self.parts)


@dataclass(frozen=True)
class UnreceivedMessage:
    """A message that has arrived and that no receive matches yet."""

    sender: str
    tag: int
    size: int
    comm: str = ""


@dataclass(frozen=True)
class UnsentMessage:
    """A message whose receiver had ended before it could go."""

    receiver: str
    tag: int
    size: int
    comm: str = ""


@dataclass(frozen=True)
class RecoveryState:
    """Where a communicator is between a loss and its recovery, as one of its members knows it."""

    comm: str
    state: str
    modes: str


@dataclass(frozen=True)
class RankState:
    """What a rank was doing when it was asked.

    `at` is where the program was if it does not wait. `may_act` means that threads besides the
    waiting ones may do something. `turns` counts the collectives begun on each communicator.
    """

    rank: str
    waits: tuple[Wait, ...] = ()
    at: str = ""
    may_act: bool = False
    turns: Mapping[str, int] = field(default_factory=dict)
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


def state_from(rank: str, told: Mapping[str, Any]) -> RankState:
    """Return the report of a rank from plain data; raises ValueError, TypeError or KeyError.

    Its texts are what a program wrote, such as names of communicators, so they are cleaned here.
    """
    return RankState(
        rank,
        tuple(_wait_from(one) for one in told["waits"]),
        _text(told["at"]),
        bool(told["may_act"]),
        {str(name): int(turn) for name, turn in told["turns"].items()},
        tuple(
            UnreceivedMessage(str(sender), int(tag), int(size), _text(comm))
            for sender, tag, size, comm in told["unreceived"]
        ),
        tuple(
            UnsentMessage(str(receiver), int(tag), int(size), _text(comm))
            for receiver, tag, size, comm in told.get("unsent", ())
        ),
        tuple(_text(what) for what in told.get("intercepted", ())),
        tuple(
            RecoveryState(_text(comm), _text(state), _text(modes))
            for comm, state, modes in told.get("recoveries", ())
        ),
        tuple((_text(name), shown_lines(str(text))) for name, text in told["stacks"]),
        _text(told["host"]),
        int(told["pid"]),
        is_alone=bool(told.get("alone", False)),
        memory=int(told.get("memory", 0)),
        cpu=float(told.get("cpu", 0.0)),
    )


def _wait_from(told: Mapping[str, Any]) -> Wait:
    id, name, members = told["comm"]
    turn = told["turn"]
    return Wait(
        _text(told["call"]),
        tuple(
            Part(str(kind), str(peer), None if tag is None else int(tag), bool(is_known))
            for kind, peer, tag, is_known in told["parts"]
        ),
        KnownCommunicator(
            str(id), _text(name), tuple((str(one), int(a), int(b)) for one, a, b in members)
        ),
        bool(told["needs_all"]),
        None if turn is None else int(turn),
        str(told["root"]),
        float(told["seconds"]),
        _text(told["where"]),
        int(told["serial"]),
        None if told["size"] is None else int(told["size"]),
        _text(told.get("began", "")),
        bool(told.get("is-mpi", False)),
    )


def _text(told: object) -> str:
    return shown(str(told), _LONGEST)


def steady(before: Iterable[RankState], after: Iterable[RankState]) -> dict[str, RankState]:
    """Return the later states, with only those calls that the ranks were in both times.

    Ranks are asked one after the other, and messages are under way meanwhile: a wait that is gone a
    moment later needs no explanation.
    """
    known = {one.rank: {wait.serial for wait in one.waits} for one in before}
    found = {}
    for one in after:
        kept = tuple(wait for wait in one.waits if wait.serial in known.get(one.rank, ()))
        moved = len(kept) < len(one.waits)
        found[one.rank] = replace(one, waits=kept, may_act=one.may_act or moved)
    return found
