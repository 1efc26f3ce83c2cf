"""Keeps the latest MPI calls of this rank and its messages, where a run is traced.

Each call of the program passes one function more, which takes the time before and after it and adds
a packed row to a ring. So a trace has what the program asked for: its own messages, inside a
cluster as between clusters, but not those of which collectives are made. Where nobody traces, this
module is not loaded, and calls are as they are.

Calls that are made of other traced ones (collectives, exchanges, completions of several requests)
mark their thread, and what is called inside leaves no row. Sends and receives are made of no traced
calls, and no traced call is made of them, so these, the shortest, neither ask nor mark.

A receive is known when it is complete: then its status tells who has sent. One that the program
begins leaves a note at its request, which becomes a row when a wait or test completes it. MPI
matches receives in the order in which they were posted, so a row of a receive begins with that
time, and whoever reads the rows finds the messages from the order of rows alone.
"""

from __future__ import annotations

import _thread
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from struct import error as StructError
from typing import Any

from mpi4py import MPI

from runtime import calls
from runtime.collectives.choice import Choice
from runtime.matching import traced
from runtime.matching.traced import NO_COMMUNICATOR, ROW, UNKNOWN
from runtime.membership.rank_link import current
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.requests.parts import completed_places, is_flagged
from runtime.mpi.surface.observed_calls import (
    COMMUNICATORS,
    OF_CLASS,
    REQUESTS,
    TESTS,
    TESTS_AND_WAITS,
    put_around,
)
from runtime.mpi.surface.waiting_calls import (
    COLLECTIVES,
    EXCHANGES,
    NONBLOCKING,
)

MOST_ROWS = 1 << 16
"""So many of the latest rows of a rank are kept."""

NATIVE = "native"
"""The plan of collectives inside one cluster, as `plan_of` names it."""

MOST_COMMUNICATORS = 256
"""The rows of further communicators say nothing about their members."""


class _TracedRequest(MPI.Request):
    """A request of native MPI, at which a receive leaves its note."""

    _posted: tuple[float, int] | None = None


_MOST = (1 << 31) - 1
_clock, _pack = time.monotonic, ROW.pack
_ANY_SOURCE, _ANY_TAG = MPI.ANY_SOURCE, MPI.ANY_TAG

Call = Callable[..., Any]


class _Rows:
    """The ring, and what the numbers in it stand for.

    Functions around short calls append rows themselves: a call more would cost as much as they do.
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
        self.ring.append(ROW.pack(begun, ended, call, comm, *map(_number, numbers)))

    def communicators(self) -> list[list[Any]]:
        """Return of each communicator its name, what all members know it by, and its peers."""
        return [[_name(comm), *members] for comm, *members in self._comms]


class _Inside(_thread._local):
    """Whether this thread is in a call already: what that calls is none of the program's.

    `plan` is the number of the plan that the latest collective over several clusters took.
    """

    call = False
    plan = UNKNOWN


_rows, _inside = _Rows(), _Inside()
_SENT, _RECEIVED = _rows.call("", traced.SENT), _rows.call("", traced.RECEIVED)


def trace() -> None:
    """Keep calls from now on."""
    for communicator in COMMUNICATORS:
        communicator._traced = None  # its number in rows, once it has one
    for request in REQUESTS:
        request._posted = None  # of a receive that goes on: when, and on which communicator
    for classes, kinds in (
        (COMMUNICATORS, _OF_COMMUNICATORS),
        ((*REQUESTS, _TracedRequest), _OF_REQUESTS),
    ):
        for names, make, kind in kinds:
            put_around(classes, names, partial(_numbered, make, kind), "traces")
    from runtime.mpi.collectives.state import Collecting

    choose: Call = Collecting.chosen

    def chosen(self: Any, *args: Any, **options: Any) -> Choice:
        found: Choice = choose(self, *args, **options)
        if _inside.call and found.plan:
            _inside.plan = _rows.plan(str(found))
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


# --- around calls: all have the name by which the look at stacks passes over them --------------


def _numbered(make: Callable[..., Call], kind: str, call: Call, name: str) -> Call:
    return make(call, _rows.call(name, kind), name)


def _send(call: Call, number: int, name: str) -> Call:
    append, counts = _rows.ring.append, _rows.counts
    begins = name in NONBLOCKING

    def observed_call(self: Any, buf: Any, dest: int, tag: int = 0) -> Any:
        if (comm := self._traced) is None:
            comm = _rows.remember(self)
        begun = _clock()
        try:
            result = call(self, buf, dest, tag)
            return _noted(result) if begins else result
        finally:
            end, size = _clock(), getattr(buf, "nbytes", UNKNOWN)
            try:
                append(_pack(begun, end, number, comm, dest, tag, size))
                counts[number] += 1
            except StructError:
                _rows.add(begun, end, number, comm, dest, tag, size)

    return observed_call


def _send_object(call: Call, number: int, name: str) -> Call:
    send = _send(call, number, name)

    def observed_call(self: Any, obj: Any, dest: int, tag: int = 0) -> Any:
        return send(self, obj, dest, tag)

    return observed_call


def _receive(call: Call, number: int, name: str) -> Call:
    append, counts = _rows.ring.append, _rows.counts
    needs_buffer = name == "Recv"

    def observed_call(
        self: Any, buf: Any = None, source: int = _ANY_SOURCE, tag: int = _ANY_TAG,
        status: Any = None,
    ) -> Any:  # fmt: skip
        if (comm := self._traced) is None:
            comm = _rows.remember(self)
        if status is None and (source == _ANY_SOURCE or tag == _ANY_TAG):
            status = MPI.Status()
        begun = _clock()
        try:
            return call(self, buf, source, tag, status)
        finally:
            end, size = _clock(), getattr(buf, "nbytes", UNKNOWN) if needs_buffer else UNKNOWN
            if status is not None:
                source, tag, size = status.source, status.tag, status.count
            try:
                append(_pack(begun, end, number, comm, source, tag, size))
                counts[number] += 1
            except StructError:
                _rows.add(begun, end, number, comm, source, tag, size)

    return observed_call


def _post(call: Call, number: int, _name: str) -> Call:
    append, counts = _rows.ring.append, _rows.counts

    def observed_call(
        self: Any, buf: Any = None, source: int = _ANY_SOURCE, tag: int = _ANY_TAG
    ) -> Any:
        if (comm := self._traced) is None:
            comm = _rows.remember(self)
        begun = _clock()
        request = _noted(call(self, buf, source, tag))
        request._posted = begun, comm
        append(_pack(begun, _clock(), number, comm, source, tag, UNKNOWN))
        counts[number] += 1
        return request

    return observed_call


def _exchange(call: Call, number: int, name: str) -> Call:
    # mpi4py's arguments: those of `Sendrecv_replace` have no second buffer
    names = ["sendbuf", "dest", "sendtag", "recvbuf", "source", "recvtag", "status"]
    if name == "sendrecv":
        names[0] = "sendobj"
    elif name == "Sendrecv_replace":
        names[0] = "buf"
        del names[3]

    def observed_call(self: Any, *args: Any, **options: Any) -> Any:
        if _inside.call:
            return call(self, *args, **options)
        given: dict[str, Any] = {"sendtag": 0, "source": _ANY_SOURCE, "recvtag": _ANY_TAG}
        given |= dict(zip(names, args, strict=False)) | options
        status = given.get("status") or MPI.Status()
        given["status"] = status
        comm, _inside.call, begun = _rows.remember(self), True, _clock()
        try:
            result = call(self, **given)
        finally:
            _inside.call, end = False, _clock()
            _rows.add(begun, end, number, comm, UNKNOWN, UNKNOWN, UNKNOWN)
        size = getattr(given[names[0]], "nbytes", UNKNOWN)
        _rows.add(begun, end, _SENT, comm, given["dest"], given["sendtag"], size)
        _rows.add(begun, end, _RECEIVED, comm, status.source, status.tag, status.count)
        return result

    return observed_call


def _plain(call: Call, number: int, name: str) -> Call:
    append, counts = _rows.ring.append, _rows.counts
    row = calls.COLLECTIVES.get(name)
    at, begins = row.place("root") if row else None, name in NONBLOCKING
    usual = _rows.plan(NATIVE) if _rows.calls[number][1] == traced.COLLECTIVE else UNKNOWN

    def observed_call(self: Any, *args: Any, **options: Any) -> Any:
        if _inside.call:
            return call(self, *args, **options)
        if (comm := self._traced) is None:
            comm = _rows.remember(self)
        _inside.call, begun = True, _clock()
        try:
            result = call(self, *args, **options)
            return _noted(result) if begins else result
        finally:
            _inside.call, end = False, _clock()
            if (plan := _inside.plan) != UNKNOWN:
                _inside.plan = UNKNOWN
            elif self._members is None:
                plan = usual
            root: Any = UNKNOWN
            if at is not None:
                root = args[at] if len(args) > at else options.get("root", 0)
            size = getattr(args[0], "nbytes", UNKNOWN) if args else UNKNOWN
            try:
                append(_pack(begun, end, number, comm, root, plan, size))
                counts[number] += 1
            except StructError:
                _rows.add(begun, end, number, comm, root, plan, size)

    return observed_call


def _complete_one(call: Call, number: int, name: str) -> Call:
    append, counts = _rows.ring.append, _rows.counts
    is_test = name in TESTS

    def observed_call(self: Any, status: Any = None) -> Any:
        if _inside.call:
            return call(self, status)
        if (posted := self._posted) is not None and status is None:
            status = MPI.Status()
        begun, result = _clock(), None
        try:
            result = call(self, status)
            return result
        finally:
            end, done = _clock(), not is_test or is_flagged(result)
            if done:
                append(_pack(begun, end, number, NO_COMMUNICATOR, UNKNOWN, UNKNOWN, UNKNOWN))
                counts[number] += 1
            if posted is not None and done and status is not None:
                self._posted = None
                begun, comm = posted
                source, tag, size = status.source, status.tag, status.count
                try:
                    append(_pack(begun, end, _RECEIVED, comm, source, tag, size))
                    counts[_RECEIVED] += 1
                except StructError:
                    _rows.add(begun, end, _RECEIVED, comm, source, tag, size)

    return observed_call


def _complete_several(call: Call, number: int, name: str) -> Call:
    is_test, is_any = name in TESTS, name[4:] == "any"

    def observed_call(requests: Sequence[Any], *args: Any, **options: Any) -> Any:
        if _inside.call:
            return call(requests, *args, **options)
        statuses: Any = next(iter((*args, *options.values())), None)
        posted: list[Any] = [getattr(one, "_posted", None) for one in requests]
        if any(posted) and statuses is None:
            statuses = MPI.Status() if is_any else [MPI.Status() for _ in requests]
        _inside.call, begun = True, _clock()
        try:
            result = call(requests, statuses)
        finally:
            _inside.call = False
        end, places = _clock(), completed_places(name, result, len(requests))
        if places or not is_test:
            _rows.add(begun, end, number, NO_COMMUNICATOR, UNKNOWN, UNKNOWN, UNKNOWN)
        for at, place in enumerate(places):
            if posted[place] is not None:
                requests[place]._posted = None
                (posted_at, comm), status = posted[place], statuses if is_any else statuses[at]
                came = status.source, status.tag, status.count
                _rows.add(posted_at, end, _RECEIVED, comm, *came)
        return result

    return observed_call


_WAITS, _BEGINS = (calls.BLOCKING,), (calls.BEGUN,)
_SENDS = calls.of_kind("send", how=_WAITS + _BEGINS)

_Kinds = tuple[tuple[Collection[str], Callable[..., Call], str], ...]

_OF_COMMUNICATORS: _Kinds = (
    ({name for name in _SENDS if name[0].isupper()}, _send, traced.SEND),
    ({name for name in _SENDS if name[0].islower()}, _send_object, traced.SEND),
    (calls.of_kind("receive", how=_WAITS), _receive, traced.RECEIVE),
    (calls.of_kind("receive", how=_BEGINS), _post, traced.POST),
    (EXCHANGES, _exchange, traced.WAIT),
    (
        calls.of_kind("exchange", how=_BEGINS) | calls.of_kind("probe", how=_WAITS),
        _plain,
        traced.WAIT,
    ),
    (COLLECTIVES | {*calls.of_kind("collective", "copy", how=_BEGINS)}, _plain, traced.COLLECTIVE),
)
"""The functions around calls."""

_OF_REQUESTS: _Kinds = (
    (TESTS_AND_WAITS - OF_CLASS, _complete_one, traced.WAIT),
    (TESTS_AND_WAITS & OF_CLASS, _complete_several, traced.WAIT),
)


# --- what calls tell ------------------------------------------------------------------------------


def _noted(request: Any) -> Any:
    """Return a request of native MPI as one whose waits are traced."""
    if type(request) is MPI.Request:
        return MPI.Request.__new__(_TracedRequest, request)  # quicker than a call of the class
    return request


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
