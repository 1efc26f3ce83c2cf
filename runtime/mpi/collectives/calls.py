"""The collectives of communicators, made from the table of calls.

Where native MPI serves a communicator, a call is mpi4py's own, but for `MPI.AVG`. Over several
clusters a call turns its arguments into a plan, which is run, begun or prepared. Plans take the
arguments of mpi4py's blocking calls, by keyword and by position.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from mpi4py import MPI

from runtime.calls import BEGUN, BLOCKING, PERSISTENT, MpiCall, of_kind
from runtime.lazy_import import LazyModule
from runtime.mpi.collectives.reductions import Average
from runtime.mpi.progress.latest_calls import begun, entered, mine, sole
from runtime.mpi.requests.requests import started_in_cluster
from runtime.mpi.values.handles import named_like

_Call: TypeAlias = "Callable[..., Any]"

_state: Any = LazyModule("runtime.mpi.collectives.state")
_averaged: Any = LazyModule("runtime.mpi.collectives.averaged")
_with_losses: Any = LazyModule("runtime.mpi.collectives.with_losses")
_PLANS: dict[str, Any] = {
    name: LazyModule(f"runtime.mpi.collectives.{name}")
    for name in ("plans", "reduction_plans", "neighbour_plans", "object_plans")
}


class Collectives(MPI.Comm):
    """The collectives of every communicator."""

    __slots__ = ()


class Scans(MPI.Intracomm):
    """The collectives that only communicators of one group have."""

    __slots__ = ()


class NeighbourCollectives(MPI.Topocomm):
    """The collectives among neighbours."""

    __slots__ = ()


# One function for each list of arguments: `*args` would be slower. Each takes back what it has
# written down, which refers to the data.


def _nothing(name: str, native: _Call, enter: _Call) -> _Call:
    def call(self: Any) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, None, None), self
        result = native(self) if m is None else enter(self)
        latest.call = None
        return result

    return call


def _buf(name: str, native: _Call, enter: _Call) -> _Call:
    def call(self: Any, buf: Any, root: int = 0) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, root, buf), self
        result = native(self, buf, root) if m is None else enter(self, buf, root)
        latest.call = None
        return result

    return call


def _buffers(name: str, native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendbuf: Any, recvbuf: Any) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, None, sendbuf), self
        result = native(self, sendbuf, recvbuf) if m is None else enter(self, sendbuf, recvbuf)
        latest.call = None
        return result

    return call


def _rooted(name: str, native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, root, sendbuf), self
        result = (
            native(self, sendbuf, recvbuf, root)
            if m is None
            else enter(self, sendbuf, recvbuf, root)
        )
        latest.call = None
        return result

    return call


def _reduced(name: str, native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, None, sendbuf), self
        if m is None and not isinstance(op, Average):
            result = native(self, sendbuf, recvbuf, op)
        else:
            result = enter(self, sendbuf, recvbuf, op)
        latest.call = None
        return result

    return call


def _reduced_rooted(name: str, native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM, root: int = 0) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, root, sendbuf), self
        if m is None and not isinstance(op, Average):
            result = native(self, sendbuf, recvbuf, op, root)
        else:
            result = enter(self, sendbuf, recvbuf, op, root)
        latest.call = None
        return result

    return call


def _reduced_blocks(name: str, native: _Call, enter: _Call) -> _Call:
    def call(
        self: Any, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = MPI.SUM
    ) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, None, sendbuf), self
        if m is None and not isinstance(op, Average):
            result = native(self, sendbuf, recvbuf, recvcounts, op)
        else:
            result = enter(self, sendbuf, recvbuf, recvcounts, op)
        latest.call = None
        return result

    return call


def _object(name: str, native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendobj: Any) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, None, None), self
        result = native(self, sendobj) if m is None else enter(self, sendobj)
        latest.call = None
        return result

    return call


def _object_reduced(name: str, native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendobj: Any, op: Any = MPI.SUM) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, None, None), self
        if m is None and not isinstance(op, Average):
            _meet(self)
            result = native(self, sendobj, op)
        else:
            result = enter(self, sendobj, op)
        latest.call = None
        return result

    return call


def _object_reduced_rooted(name: str, native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendobj: Any, op: Any = MPI.SUM, root: int = 0) -> Any:
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call, begun.comm = (name, self, root, None), self
        if m is None and not isinstance(op, Average):
            _meet(self)
            result = native(self, sendobj, op, root)
        else:
            result = enter(self, sendobj, op, root)
        latest.call = None
        return result

    return call


def _meet(comm: Any) -> None:
    """Wait for all members before the first reduction of objects on a native communicator.

    mpi4py duplicates it then and lets no other thread run meanwhile: a rank could not tell what it
    waits for if others are in another call.
    """
    if not comm.Get_attr(_has_met()):
        comm.Set_attr(_has_met(), True)
        MPI.Comm.Ibarrier(comm).Wait()


@cache
def _has_met() -> int:
    return MPI.Comm.Create_keyval()


_TAKING = {
    (): _nothing,
    ("buf", "root"): _buf,
    ("sendbuf", "recvbuf"): _buffers,
    ("sendbuf", "recvbuf", "root"): _rooted,
    ("sendbuf", "recvbuf", "op"): _reduced,
    ("sendbuf", "recvbuf", "op", "root"): _reduced_rooted,
    ("sendbuf", "recvbuf", "recvcounts", "op"): _reduced_blocks,
    ("obj", "root"): _buf,
    ("sendobj",): _object,
    ("sendobj", "root"): _buf,
    ("sendobj", "op"): _object_reduced,
    ("sendobj", "op", "root"): _object_reduced_rooted,
}
"""What makes a call, by its arguments but hints."""

_CLASSES = {"Comm": Collectives, "Intracomm": Scans, "Topocomm": NeighbourCollectives}
_CARRIED_OUT = {BLOCKING: "run", BEGUN: "begin", PERSISTENT: "prepare"}
_SHAPES = ("vector", "exclusive")
"""The flags of calls that one function plans in several shapes."""

_AT_ONCE = ("run", "result")


def _add(one: MpiCall) -> None:
    """Add a collective to the class that has it."""
    cls, name = _CLASSES[one.of], one.name
    native = getattr(cls, name)
    how = "result" if one.name == one.operation and one.takes_objects else _CARRIED_OUT[one.how]
    module, _, plan = one.plan.partition(".")
    plans = _PLANS[module]
    fixed = {shape: True for shape in _SHAPES if one.has(shape)}

    found: tuple[Any, ...] | None = None

    def enter(self: Any, *args: Any) -> Any:
        nonlocal found
        members = getattr(self, "_members", None)
        if members is None:
            return _averaged.mean(self, one.operation, how, *args)
        if found is None:  # imported with the first collective over several clusters
            kind = _state.CollectiveCall
            found = kind, _state.state_of, getattr(plans, plan), getattr(kind, how)
        kind, state_of, plan_of, carry_out = found
        if members.gaps:
            return _with_losses.over_gaps(members, one.operation, name, args)
        made = kind(self, members.collecting or state_of(members))
        if members.recovery.is_strict and how in _AT_ONCE:
            plan_here = plan_of(made, *args, **fixed)
            return _with_losses.strictly(members, name, lambda: carry_out(made, plan_here))
        return carry_out(made, plan_of(made, *args, **fixed))

    taken = tuple(argument.name for argument in one.arguments if argument.name != "info")
    call = named_like(native, _TAKING[taken](name, native, enter), taken)
    if one.how == PERSISTENT:
        call = named_like(native, _with_hints(native, call))
    setattr(cls, name, call)


def _with_hints(native: _Call, call: _Call) -> _Call:
    """Return a call that also takes hints, which concern native MPI only."""

    def with_hints(self: Any, *args: Any, info: MPI.Info = MPI.INFO_NULL, **kwargs: Any) -> Any:
        *args_, last = args or (None,)
        if isinstance(last, MPI.Info):
            args, info = tuple(args_), last
        if info != MPI.INFO_NULL and getattr(self, "_members", None) is None:
            made = native(self, *args, info=info, **kwargs)
        else:
            made = call(self, *args, **kwargs)
        return started_in_cluster(made, self) if type(made) is MPI.Prequest else made

    return with_hints


for _call in of_kind("collective").values():
    _add(_call)
