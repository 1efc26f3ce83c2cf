"""The collectives of communicators, made from a table: each blocking, begun, and persistent.

Where native MPI serves a communicator, a call is mpi4py's own, but for `MPI.AVG`. On one over
several clusters it reads its arguments into a plan, and lets that be run, begun or prepared. Plans
take the arguments of mpi4py's blocking calls, by name and by place.
"""

from __future__ import annotations

from mpi4py import MPI

from runtime.later import Later
from runtime.mpi.collectives.reductions import Average
from runtime.mpi.values.handles import named_like

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import Any

_state: Any = Later("runtime.mpi.collectives.state")
_averaged: Any = Later("runtime.mpi.collectives.averaged")
_plans: Any = Later("runtime.mpi.collectives.plans")
_reductions: Any = Later("runtime.mpi.collectives.reduction_plans")
_neighbours: Any = Later("runtime.mpi.collectives.neighbour_plans")
_objects: Any = Later("runtime.mpi.collectives.object_plans")


class Collectives(MPI.Comm):
    """The collectives of every communicator."""

    __slots__ = ()


class Scans(MPI.Intracomm):
    """The collectives that only communicators of one group have."""

    __slots__ = ()


class NeighbourCollectives(MPI.Topocomm):
    """The collectives among neighbours."""

    __slots__ = ()


class _Collective:
    """A row of the table: a call of mpi4py's, and what plans it over several clusters.

    It has so many arguments, of which the one at `op` may be `MPI.AVG`. The rest is handed to the
    plan as it is.
    """

    __slots__ = ("count", "fixed", "name", "op", "plan", "plans")

    def __init__(
        self, name: str, plans: Any, plan: str, count: int, *, op: int | None = None, **fixed: bool
    ) -> None:
        self.name = name
        self.plans = plans
        self.plan = plan
        self.count = count
        self.op = op
        self.fixed = fixed


_WITH_BUFFERS = {
    Collectives: (
        _Collective("Barrier", _plans, "barrier", 0),
        _Collective("Bcast", _plans, "bcast", 2),
        _Collective("Gather", _plans, "gather", 3, vector=False),
        _Collective("Gatherv", _plans, "gather", 3, vector=True),
        _Collective("Scatter", _plans, "scatter", 3, vector=False),
        _Collective("Scatterv", _plans, "scatter", 3, vector=True),
        _Collective("Allgather", _plans, "allgather", 2, vector=False),
        _Collective("Allgatherv", _plans, "allgather", 2, vector=True),
        _Collective("Alltoall", _plans, "alltoall", 2, vector=False),
        _Collective("Alltoallv", _plans, "alltoall", 2, vector=True),
        _Collective("Alltoallw", _plans, "alltoallw", 2),
        _Collective("Reduce", _reductions, "reduce", 4, op=2),
        _Collective("Allreduce", _reductions, "allreduce", 3, op=2),
        _Collective("Reduce_scatter_block", _reductions, "reduce_scatter_block", 3, op=2),
        _Collective("Reduce_scatter", _reductions, "reduce_scatter", 4, op=3),
    ),
    Scans: (
        _Collective("Scan", _reductions, "scan", 3, op=2, exclusive=False),
        _Collective("Exscan", _reductions, "scan", 3, op=2, exclusive=True),
    ),
    NeighbourCollectives: (
        _Collective("Neighbor_allgather", _neighbours, "neighbour_allgather", 2, vector=False),
        _Collective("Neighbor_allgatherv", _neighbours, "neighbour_allgather", 2, vector=True),
        _Collective("Neighbor_alltoall", _neighbours, "neighbour_alltoall", 2, vector=False),
        _Collective("Neighbor_alltoallv", _neighbours, "neighbour_alltoall", 2, vector=True),
        _Collective("Neighbor_alltoallw", _neighbours, "neighbour_alltoallw", 2),
    ),
}
"""Each is three calls: `Bcast`, `Ibcast` and `Bcast_init`."""

_WITH_OBJECTS = {
    Collectives: (
        _Collective("bcast", _objects, "bcast", 2),
        _Collective("gather", _objects, "gather", 2),
        _Collective("scatter", _objects, "scatter", 2),
        _Collective("allgather", _objects, "allgather", 1),
        _Collective("alltoall", _objects, "alltoall", 1),
        _Collective("reduce", _objects, "reduce", 3, op=1),
        _Collective("allreduce", _objects, "allreduce", 2, op=1),
    ),
    Scans: (
        _Collective("scan", _objects, "scan", 2, op=1, exclusive=False),
        _Collective("exscan", _objects, "scan", 2, op=1, exclusive=True),
    ),
    NeighbourCollectives: (
        _Collective("neighbor_allgather", _objects, "neighbour_allgather", 1),
        _Collective("neighbor_alltoall", _objects, "neighbour_alltoall", 1),
    ),
}
"""Each returns what it has received."""


def _add(kind: type[MPI.Comm], name: str, one: _Collective, how: str) -> None:
    """Give a class the call `name`, which carries a collective out as `how` says."""
    native = getattr(kind, name)
    plans, plan, fixed, op_at = one.plans, one.plan, one.fixed, one.op

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        members = getattr(self, "_members", None)
        if members is None:
            if op_at is not None:
                op = args[op_at] if len(args) > op_at else kwargs.get("op")
                if isinstance(op, Average):
                    return _averaged.mean(self, one.name, how, args[: one.count], kwargs)
            return native(self, *args, **kwargs)
        if how == "prepare":  # hints are mpi4py's last argument
            kwargs.pop("info", None)
            args = args[: one.count]
        made = _state.Call(self, members.collecting or _state.state_of(members))
        return getattr(made, how)(getattr(plans, plan)(made, *args, **kwargs, **fixed))

    setattr(kind, name, named_like(native, call))


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
