"""The collectives of communicators, made from a table: blocking, nonblocking, and persistent.

Where native MPI serves a communicator, a call is mpi4py's own, but for `MPI.AVG`. Over several
clusters a call turns its arguments into a plan, which is run, begun or prepared. Plans take the
arguments of mpi4py's blocking calls, by keyword and by position.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.collectives.reductions import Average
from runtime.mpi.values.handles import named_like

_Call: TypeAlias = "Callable[..., Any]"

_state: Any = LazyModule("runtime.mpi.collectives.state")
_averaged: Any = LazyModule("runtime.mpi.collectives.averaged")
_with_losses: Any = LazyModule("runtime.mpi.collectives.with_losses")
_plans: Any = LazyModule("runtime.mpi.collectives.plans")
_reductions: Any = LazyModule("runtime.mpi.collectives.reduction_plans")
_neighbours: Any = LazyModule("runtime.mpi.collectives.neighbour_plans")
_objects: Any = LazyModule("runtime.mpi.collectives.object_plans")


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


class _Collective:
    """A row of the table: an mpi4py call, its arguments, and its planner for several clusters."""

    def __init__(
        self, name: str, takes: Callable[..., _Call], plans: Any, plan: str, **fixed: bool
    ) -> None:
        self.name = name
        self.takes = takes
        self.plans = plans
        self.plan = plan
        self.fixed = fixed


_WITH_BUFFERS = {
    Collectives: (
        _Collective("Barrier", _nothing, _plans, "barrier"),
        _Collective("Bcast", _buf, _plans, "bcast"),
        _Collective("Gather", _rooted, _plans, "gather", vector=False),
        _Collective("Gatherv", _rooted, _plans, "gather", vector=True),
        _Collective("Scatter", _rooted, _plans, "scatter", vector=False),
        _Collective("Scatterv", _rooted, _plans, "scatter", vector=True),
        _Collective("Allgather", _buffers, _plans, "allgather", vector=False),
        _Collective("Allgatherv", _buffers, _plans, "allgather", vector=True),
        _Collective("Alltoall", _buffers, _plans, "alltoall", vector=False),
        _Collective("Alltoallv", _buffers, _plans, "alltoall", vector=True),
        _Collective("Alltoallw", _buffers, _plans, "alltoallw"),
        _Collective("Reduce", _reduced_rooted, _reductions, "reduce"),
        _Collective("Allreduce", _reduced, _reductions, "allreduce"),
        _Collective("Reduce_scatter_block", _reduced, _reductions, "reduce_scatter_block"),
        _Collective("Reduce_scatter", _reduced_blocks, _reductions, "reduce_scatter"),
    ),
    Scans: (
        _Collective("Scan", _reduced, _reductions, "scan", exclusive=False),
        _Collective("Exscan", _reduced, _reductions, "scan", exclusive=True),
    ),
    NeighbourCollectives: (
        _Collective(
            "Neighbor_allgather", _buffers, _neighbours, "neighbour_allgather", vector=False
        ),
        _Collective(
            "Neighbor_allgatherv", _buffers, _neighbours, "neighbour_allgather", vector=True
        ),
        _Collective("Neighbor_alltoall", _buffers, _neighbours, "neighbour_alltoall", vector=False),
        _Collective("Neighbor_alltoallv", _buffers, _neighbours, "neighbour_alltoall", vector=True),
        _Collective("Neighbor_alltoallw", _buffers, _neighbours, "neighbour_alltoallw"),
    ),
}
"""Each stands for three calls: `Bcast`, `Ibcast` and `Bcast_init`."""

_WITH_OBJECTS = {
    Collectives: (
        _Collective("bcast", _obj, _objects, "bcast"),
        _Collective("gather", _object_rooted, _objects, "gather"),
        _Collective("scatter", _object_rooted, _objects, "scatter"),
        _Collective("allgather", _object, _objects, "allgather"),
        _Collective("alltoall", _object, _objects, "alltoall"),
        _Collective("reduce", _object_reduced_rooted, _objects, "reduce"),
        _Collective("allreduce", _object_reduced, _objects, "allreduce"),
    ),
    Scans: (
        _Collective("scan", _object_reduced, _objects, "scan", exclusive=False),
        _Collective("exscan", _object_reduced, _objects, "scan", exclusive=True),
    ),
    NeighbourCollectives: (
        _Collective("neighbor_allgather", _object, _objects, "neighbour_allgather"),
        _Collective("neighbor_alltoall", _object, _objects, "neighbour_alltoall"),
    ),
}
"""Each returns the received object."""


_AT_ONCE = ("run", "result")


def _add(kind: type[MPI.Comm], name: str, one: _Collective, how: str) -> None:
    """Add the call `name` to a class; `how` says how it carries a collective out."""
    native = getattr(kind, name)
    plans, plan, fixed = one.plans, one.plan, one.fixed

    found: tuple[Any, ...] | None = None

    def enter(self: Any, *args: Any) -> Any:
        nonlocal found
        members = getattr(self, "_members", None)
        if members is None:
            return _averaged.mean(self, one.name, how, *args)
        if found is None:  # imported with the first collective over several clusters
            kind = _state.CollectiveCall
            found = kind, _state.state_of, getattr(plans, plan), getattr(kind, how)
        kind, state_of, plan_of, carry_out = found
        if members.gaps:
            return _with_losses.over_gaps(members, one.name, name, args)
        made = kind(self, members.collecting or state_of(members))
        if members.recovery.is_strict and how in _AT_ONCE:
            plan_here = plan_of(made, *args, **fixed)
            return _with_losses.strictly(members, name, lambda: carry_out(made, plan_here))
        return carry_out(made, plan_of(made, *args, **fixed))

    call = one.takes(native, enter)
    if how == "prepare":
        call = _with_hints(native, call)
    setattr(kind, name, named_like(native, call))


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


def _make() -> None:
    for kind, collectives in _WITH_BUFFERS.items():
        for one in collectives:
            _add(kind, one.name, one, "run")
            _add(kind, f"I{one.name.lower()}", one, "begin")
            _add(kind, f"{one.name}_init", one, "prepare")
    for kind, collectives in _WITH_OBJECTS.items():
        for one in collectives:
            _add(kind, one.name, one, "result")
    _add(Collectives, "barrier", _WITH_BUFFERS[Collectives][0], "run")


_make()
