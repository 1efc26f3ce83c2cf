"""Keeps the latest MPI calls of this rank and its messages, where a run is traced.

It listens to the calls of the program, takes the time before and after each and adds a packed row
to a ring. So a trace has what the program asked for: its own messages, inside a cluster as between
clusters, but not those of which collectives are made. Where nobody traces, this module is not
loaded.

A receive is known when it is complete: then its status tells who has sent. One that the program
begins leaves a note at its request, which becomes a row when a wait or test completes it. MPI
matches receives in the order in which they were posted, so a row of a receive begins with that
time, and whoever reads the rows finds the messages from the order of rows alone.
"""

from __future__ import annotations

import _thread
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from struct import error as StructError
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime import calls
from runtime.collectives.choice import Choice
from runtime.matching import traced
from runtime.matching.traced import NO_COMMUNICATOR, ROW, UNKNOWN
from runtime.membership.rank_link import current
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.requests.parts import completed_places, is_flagged
from runtime.mpi.surface.observed_calls import COMMUNICATORS, REQUESTS, observe

if TYPE_CHECKING:
    from runtime.mpi.surface.observed_calls import MadeCall

MOST_ROWS = 1 << 16
"""So many of the latest rows of a rank are kept."""

NATIVE = "native"
"""The plan of collectives inside one cluster, as `plan_of` names it."""

MOST_COMMUNICATORS = 256
"""The rows of further communicators say nothing about their members."""


_MOST = (1 << 31) - 1
_clock = time.monotonic
_ANY_SOURCE, _ANY_TAG = MPI.ANY_SOURCE, MPI.ANY_TAG


class _Rows:
    """The ring, and what the numbers in it stand for.

    A row is bytes and no tuple, at which the collector of garbage would look again and again.
    """

    def __init__(self) -> None:
        self.ring: deque[bytes] = deque(maxlen=MOST_ROWS)
        self.calls: list[tuple[str, str]] = []
        self.counts: list[int] = []
        self.plans = [NATIVE]
        self._comms: list[list[Any]] = []  # with the object, whose name is asked at the end

    def call(self, name: str, kind: str) -> int:
        """Return the number of a call of some kind."""
        if (name, kind) not in self.calls:
            self.calls.append((name, kind))
            self.counts.append(0)
        return self.calls.index((name, kind))

    def plan(self, name: str) -> int:
        """Return the number of a plan of collectives."""
        if name not in self.plans:
            self.plans.append(name)
        return self.plans.index(name)

    def remember(self, comm: Any) -> int:
        """Return the number of a communicator, now that it can still say who its members are."""
        if comm._traced is None:
            if len(self._comms) == MOST_COMMUNICATORS:
                comm._traced = NO_COMMUNICATOR
            else:
                comm._traced = len(self._comms)
                self._comms.append([comm, *_members(comm)])
        number: int = comm._traced
        return number

    def add(self, begun: float, ended: float, call: int, comm: int, *numbers: Any) -> None:
        """Add a row; a rank, tag or size that is no number, or too large a one, is unknown."""
        self.counts[call] += 1
        try:
            row = ROW.pack(begun, ended, call, comm, *numbers)
        except StructError:
            row = ROW.pack(begun, ended, call, comm, *map(_number, numbers))
        self.ring.append(row)

    def communicators(self) -> list[list[Any]]:
        """Return of each communicator its name, what all members know it by, and its peers."""
        return [[_name(comm), *members] for comm, *members in self._comms]


class _Latest(_thread._local):
    """The number of the plan that this thread's latest collective over several clusters took."""

    plan = UNKNOWN


_rows, _latest = _Rows(), _Latest()
_SENT, _RECEIVED = _rows.call("", traced.SENT), _rows.call("", traced.RECEIVED)


def trace() -> None:
    """Keep calls from now on."""
    for communicator in COMMUNICATORS:
        communicator._traced = None  # its number in rows, once it has one
    for request in REQUESTS:
        request._posted = None  # of a receive that goes on: when, and on which communicator
    for classes, rows, listener in _listening():
        observe(classes, rows, listener)
    from runtime.mpi.collectives.state import Collecting

    choose: Callable[..., Choice] = Collecting.chosen

    def chosen(self: Any, *args: Any, **options: Any) -> Choice:
        found = choose(self, *args, **options)
        if found.plan:
            _latest.plan = _rows.plan(str(found))
        return found

    setattr(Collecting, "chosen", chosen)  # noqa: B010 - a method of a class


def recorded(rows_at_a_time: int = 20_000) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield what was kept: a head, and rows on the clock of this host; at least once."""
    rows = list(_rows.ring)
    head = {
        "begun": 0.0,
        "calls": [list(one) for one in _rows.calls],
        "communicators": _rows.communicators(),
        "plans": _rows.plans,
        "dropped": sum(_rows.counts) - len(rows),
    }
    for at in range(0, max(1, len(rows)), rows_at_a_time):
        yield head, b"".join(rows[at : at + rows_at_a_time])


# --- listeners: one for each kind of call ---------------------------------------------------------


class _Kind:
    """Listens to calls of one kind; `ends` is told when a call has begun."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._known: dict[str, tuple[int, str, bool]] = {}

    def begins(self, _: MadeCall) -> Any:
        """Return the time."""
        return _clock()

    def known(self, row: calls.MpiCall) -> tuple[int, str, bool]:
        """Return the number of a call, its first argument, and whether that is an object."""
        found = self._known.get(row.name)
        if found is None:
            first = row.arguments[0].name if row.arguments else ""
            found = _rows.call(row.name, self._kind), first, row.takes_objects
            self._known[row.name] = found
        return found

    def add(self, begun: float, call: MadeCall, *numbers: Any) -> float:
        """Add a row for a call; return the time at its end."""
        end = _clock()
        _rows.add(begun, end, self.known(call.row)[0], *numbers)
        return end


class _Sends(_Kind):
    def ends(self, call: MadeCall, begun: float) -> None:
        end, args = _clock(), call.args
        number, data, _ = self.known(call.row)
        if len(args) == 4:
            comm, memory, dest, tag = args
        else:
            given, comm = call.given, args[0]
            memory, dest, tag = given.get(data), given.get("dest"), given.get("tag", 0)
        size = getattr(memory, "nbytes", UNKNOWN)
        _rows.add(begun, end, number, _rows.remember(comm), dest, tag, size)


class _Receives(_Kind):
    def begins(self, call: MadeCall) -> float:
        args = call.args
        if len(args) == 4 and not call.options:
            _, _, source, tag = args
            if source != _ANY_SOURCE and tag != _ANY_TAG:
                return _clock()
        given = call.given
        source, tag = given.get("source", _ANY_SOURCE), given.get("tag", _ANY_TAG)
        if given.get("status") is None and (source == _ANY_SOURCE or tag == _ANY_TAG):
            given["status"] = MPI.Status()
        return _clock()

    def ends(self, call: MadeCall, begun: float) -> None:
        end, comm = _clock(), _rows.remember(call.args[0])
        number, data, is_object = self.known(call.row)
        if len(call.args) == 4:
            _, memory, source, tag = call.args
            size = UNKNOWN if is_object else getattr(memory, "nbytes", UNKNOWN)
            _rows.add(begun, end, number, comm, source, tag, size)
            return
        given = call.given
        status = given.get("status")
        if status is not None:
            came = status.source, status.tag, status.count
        else:
            size = UNKNOWN if is_object else getattr(given[data], "nbytes", UNKNOWN)
            came = given["source"], given["tag"], size
        _rows.add(begun, end, number, comm, *came)


class _Posts(_Kind):
    def ends(self, call: MadeCall, begun: float) -> None:
        if call.error is not None:
            return
        given, comm = call.given, _rows.remember(call.on)
        call.result._posted = begun, comm
        ends = given.get("source", _ANY_SOURCE), given.get("tag", _ANY_TAG)
        self.add(begun, call, comm, *ends, UNKNOWN)


class _Exchanges(_Kind):
    def begins(self, call: MadeCall) -> float:
        call.given["status"] = call.given.get("status") or MPI.Status()
        return _clock()

    def ends(self, call: MadeCall, begun: float) -> None:
        given, comm = call.given, _rows.remember(call.on)
        end = self.add(begun, call, comm, UNKNOWN, UNKNOWN, UNKNOWN)
        if call.error is None:
            status = given["status"]
            size = getattr(given[call.row.arguments[0].name], "nbytes", UNKNOWN)
            _rows.add(begun, end, _SENT, comm, given["dest"], given.get("sendtag", 0), size)
            _rows.add(begun, end, _RECEIVED, comm, status.source, status.tag, status.count)


class _Others(_Kind):
    """Collectives, and calls that wait for something else than one message."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self._has_root: dict[str, bool] = {}

    def begins(self, call: MadeCall) -> tuple[float, int]:
        _latest.plan = UNKNOWN
        return _clock(), _rows.remember(call.on)  # now that it is no other one's place yet

    def ends(self, call: MadeCall, kept: tuple[float, int]) -> None:
        begun, comm = kept
        plan, _latest.plan = _latest.plan, UNKNOWN
        is_native = call.on._members is None and self._kind == traced.COLLECTIVE
        if plan == UNKNOWN and is_native:
            plan = _rows.plan(NATIVE)
        end, given, row = _clock(), call.given, call.row
        number, data, _ = self.known(row)
        has_root = self._has_root.get(row.name)
        if has_root is None:
            has_root = self._has_root[row.name] = row.takes("root")
        root = given.get("root", 0) if has_root else UNKNOWN
        size = getattr(given.get(data), "nbytes", UNKNOWN)
        _rows.add(begun, end, number, comm, root, plan, size)


class _OneCompletion(_Kind):
    def begins(self, call: MadeCall) -> float:
        if call.on._posted is not None and call.given.get("status") is None:
            call.given["status"] = MPI.Status()
        return _clock()

    def ends(self, call: MadeCall, begun: float) -> None:
        request, status = call.on, call.given.get("status")
        if call.row.kind == "test" and not is_flagged(call.result):
            return
        end = self.add(begun, call, NO_COMMUNICATOR, UNKNOWN, UNKNOWN, UNKNOWN)
        if request._posted is not None and status is not None:
            posted, comm = request._posted
            request._posted = None
            _rows.add(posted, end, _RECEIVED, comm, status.source, status.tag, status.count)


class _SeveralCompletions(_Kind):
    def begins(self, call: MadeCall) -> float:
        name = call.row.arguments[1].name
        if call.given.get(name) is None and any(getattr(one, "_posted", None) for one in call.on):
            is_any = name == "status"
            call.given[name] = MPI.Status() if is_any else [MPI.Status() for _ in call.on]
        return _clock()

    def ends(self, call: MadeCall, begun: float) -> None:
        if call.error is not None:
            return
        requests, name = call.on, call.row.arguments[1].name
        places = completed_places(call.row.name, call.result, len(requests))
        if not places and call.row.kind == "test":
            return
        statuses: Any = call.given.get(name)
        end = self.add(begun, call, NO_COMMUNICATOR, UNKNOWN, UNKNOWN, UNKNOWN)
        for at, place in enumerate(places):
            if (kept := getattr(requests[place], "_posted", None)) is not None:
                requests[place]._posted = None
                (posted, comm), status = kept, statuses if name == "status" else statuses[at]
                _rows.add(posted, end, _RECEIVED, comm, status.source, status.tag, status.count)


def _listening() -> Iterator[tuple[Any, Any, Any]]:
    """Yield classes, rows of calls, and who listens to them."""
    waits, begins = (calls.BLOCKING,), (calls.BEGUN,)
    of = partial(calls.of_kind, how=waits)
    yield COMMUNICATORS, calls.of_kind("send", how=waits + begins).values(), _Sends(traced.SEND)
    yield COMMUNICATORS, of("receive").values(), _Receives(traced.RECEIVE)
    yield COMMUNICATORS, calls.of_kind("receive", how=begins).values(), _Posts(traced.POST)
    yield COMMUNICATORS, of("exchange").values(), _Exchanges(traced.WAIT)
    others = of("probe") | calls.of_kind("exchange", how=begins)
    yield COMMUNICATORS, others.values(), _Others(traced.WAIT)
    collective = of("collective", "copy", "make")
    collective |= calls.of_kind("collective", "copy", how=begins)
    yield COMMUNICATORS, collective.values(), _Others(traced.COLLECTIVE)
    completions = calls.of_kind("wait", "test", of=calls.OF_REQUESTS).values()
    one, several = _OneCompletion(traced.WAIT), _SeveralCompletions(traced.WAIT)
    yield REQUESTS, [row for row in completions if not row.is_of_class], one
    yield REQUESTS, [row for row in completions if row.is_of_class], several


# --- what calls tell ------------------------------------------------------------------------------


def _number(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN
    return number if abs(number) <= _MOST else UNKNOWN


def _name(comm: MPI.Comm) -> str:
    try:
        return comm.Get_name() or type(comm).__name__
    except MPI.Exception:  # it was freed
        return type(comm).__name__


def _members(comm: Any) -> tuple[str, list[str]]:
    """Return what the members know a communicator by, and the names of its peers.

    Native MPI has no name that is the same at all members: their names stand for it. One that was
    freed has none any more, and its messages no ends.
    """
    link, m = current(), members_behind(comm)
    assert link is not None, "who is traced is a rank"
    if m is not None:
        return m.context.hex(), [m.engine.process_of(one) for one in m.peers]
    try:
        is_inter = comm.Is_inter()
        group = comm.Get_remote_group() if is_inter else comm.Get_group()
        everybody = MPI.COMM_WORLD.Get_group()
        places = MPI.Group.Translate_ranks(group, range(group.size), everybody)
    except MPI.Exception:
        return "", []
    cluster = link.rank_name.cluster
    alone = everybody.size == 1
    names = [link.name if alone else f"{cluster}:{place}" for place in places]
    # the two sides of an intercommunicator know each other, and not the same members
    return "between groups" if is_inter else " ".join(names), names
