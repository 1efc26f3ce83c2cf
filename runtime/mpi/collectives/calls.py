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


# One function for each list of arguments: `*args` would be slower.


def _nothing(native: _Call, enter: _Call) -> _Call:
    def call(self: Any) -> Any:
        if getattr(self, "_members", None) is None:
            return native(self)
        return enter(self)

    return call


def _buf(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, buf: Any, root: int = 0) -> Any:
        if getattr(self, "_members", None) is None:
            return native(self, buf, root)
        return enter(self, buf, root)

    return call


def _buffers(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendbuf: Any, recvbuf: Any) -> Any:
        if getattr(self, "_members", None) is None:
            return native(self, sendbuf, recvbuf)
        return enter(self, sendbuf, recvbuf)

    return call


def _rooted(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Any:
        if getattr(self, "_members", None) is None:
            return native(self, sendbuf, recvbuf, root)
        return enter(self, sendbuf, recvbuf, root)

    return call


def _reduced(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Any:
        if getattr(self, "_members", None) is None and not isinstance(op, Average):
            return native(self, sendbuf, recvbuf, op)
        return enter(self, sendbuf, recvbuf, op)

    return call


def _reduced_rooted(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM, root: int = 0) -> Any:
        if getattr(self, "_members", None) is None and not isinstance(op, Average):
            return native(self, sendbuf, recvbuf, op, root)
        return enter(self, sendbuf, recvbuf, op, root)

    return call


def _reduced_blocks(native: _Call, enter: _Call) -> _Call:
    def call(
        self: Any, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = MPI.SUM
    ) -> Any:
        if getattr(self, "_members", None) is None and not isinstance(op, Average):
            return native(self, sendbuf, recvbuf, recvcounts, op)
        return enter(self, sendbuf, recvbuf, recvcounts, op)

    return call


def _obj(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, obj: Any, root: int = 0) -> Any:
        if getattr(self, "_members", None) is None:
            return native(self, obj, root)
        return enter(self, obj, root)

    return call


def _object(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendobj: Any) -> Any:
        if getattr(self, "_members", None) is None:
            return native(self, sendobj)
        return enter(self, sendobj)

    return call


def _object_rooted(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendobj: Any, root: int = 0) -> Any:
        if getattr(self, "_members", None) is None:
            return native(self, sendobj, root)
        return enter(self, sendobj, root)

    return call


def _object_reduced(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendobj: Any, op: Any = MPI.SUM) -> Any:
        if getattr(self, "_members", None) is None and not isinstance(op, Average):
            _meet(self)
            return native(self, sendobj, op)
        return enter(self, sendobj, op)

    return call


def _object_reduced_rooted(native: _Call, enter: _Call) -> _Call:
    def call(self: Any, sendobj: Any, op: Any = MPI.SUM, root: int = 0) -> Any:
        if getattr(self, "_members", None) is None and not isinstance(op, Average):
            _meet(self)
            return native(self, sendobj, op, root)
        return enter(self, sendobj, op, root)

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
    ("obj", "root"): _obj,
    ("sendobj",): _object,
    ("sendobj", "root"): _object_rooted,
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
    call = _TAKING[taken](native, enter)
    if one.how == PERSISTENT:
        call = _with_hints(native, call)
    setattr(cls, name, named_like(native, call))


def _with_hints(native: _Call, call: _Call) -> _Call:
    """Return a call that also takes hints, which concern native MPI only."""

    def with_hints(self: Any, *args: Any, info: MPI.Info = MPI.INFO_NULL, **kwargs: Any) -> Any:
        *args_, last = args or (None,)
        if isinstance(last, MPI.Info):
            args, info = tuple(args_), last
        if info != MPI.INFO_NULL and getattr(self, "_members", None) is None:
            return native(self, *args, info=info, **kwargs)
        return call(self, *args, **kwargs)

    return with_hints


for _call in of_kind("collective").values():
    _add(_call)
