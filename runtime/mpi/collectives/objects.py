"""Collectives on Python objects, which are pickled."""

from __future__ import annotations

from mpi4py import MPI

from runtime.later import Later
from runtime.mpi.collectives.entry import call_on
from runtime.mpi.collectives.reductions import Average

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from runtime.mpi.collectives import object_plans as plans
    from runtime.mpi.collectives import plans as buffer_plans
    from runtime.mpi.progress.membership import Membership
else:
    plans = Later("runtime.mpi.collectives.object_plans")
    buffer_plans = Later("runtime.mpi.collectives.plans")

Op: TypeAlias = "MPI.Op | Callable[[Any, Any], Any]"


class ObjectCollectives(MPI.Comm):
    """The part of a communicator that moves and combines objects."""

    __slots__ = ()
    _members: Membership | None

    def barrier(self) -> None:
        """Wait until every member has come."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.barrier(self)
        return call.run(buffer_plans.barrier(call))

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Return the root's object at every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.bcast(self, obj, root)
        return call.result(plans.bcast(call, obj, root))

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Return everybody's objects at the root, None elsewhere."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.gather(self, sendobj, root)
        found: list[Any] | None = call.result(plans.gather(call, sendobj, root))
        return found

    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Return to every member its object of the root's."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.scatter(self, sendobj, root)
        return call.result(plans.scatter(call, sendobj, root))

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return everybody's objects."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.allgather(self, sendobj)
        return call.result(plans.allgather(call, sendobj))

    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Return from every member its object for this one."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.alltoall(self, sendobj)
        return call.result(plans.alltoall(call, sendobj))

    def reduce(self, sendobj: Any, op: Op = MPI.SUM, root: int = 0) -> Any | None:
        """Return everybody's objects, combined in rank order, at the root."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                total = MPI.Comm.reduce(self, sendobj, MPI.SUM, root)
                return None if total is None else total / _members_of(self)
            return MPI.Comm.reduce(self, sendobj, op, root)
        return call.result(plans.reduce(call, sendobj, op, root))

    def allreduce(self, sendobj: Any, op: Op = MPI.SUM) -> Any:
        """Return everybody's objects, combined in rank order."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return MPI.Comm.allreduce(self, sendobj, MPI.SUM) / _members_of(self)
            return MPI.Comm.allreduce(self, sendobj, op)
        return call.result(plans.allreduce(call, sendobj, op))


def _members_of(comm: MPI.Comm) -> int:
    """Return how many contribute to a reduction."""
    return comm.Get_remote_size() if isinstance(comm, MPI.Intercomm) else comm.Get_size()


class ObjectScans(MPI.Intracomm):
    """The part of a communicator of one group that scans objects."""

    __slots__ = ()
    _members: Membership | None

    def scan(self, sendobj: Any, op: Op = MPI.SUM) -> Any:
        """Return the objects of the ranks up to this one, combined in rank order."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return MPI.Intracomm.scan(self, sendobj, MPI.SUM) / (self.Get_rank() + 1)
            return MPI.Intracomm.scan(self, sendobj, op)
        return call.result(plans.scan(call, sendobj, op, exclusive=False))

    def exscan(self, sendobj: Any, op: Op = MPI.SUM) -> Any:
        """Return the objects of the ranks before this one, combined; None at rank 0."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                total = MPI.Intracomm.exscan(self, sendobj, MPI.SUM)
                return None if total is None else total / self.Get_rank()
            return MPI.Intracomm.exscan(self, sendobj, op)
        return call.result(plans.scan(call, sendobj, op, exclusive=True))


class ObjectNeighbours(MPI.Topocomm):
    """The part of a communicator that exchanges objects with neighbours."""

    __slots__ = ()
    _members: Membership | None

    def neighbor_allgather(self, sendobj: Any) -> list[Any]:
        """Return an object of every neighbour; None for a neighbour that is nobody."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.neighbor_allgather(self, sendobj)
        return call.result(plans.neighbour_allgather(call, sendobj))

    def neighbor_alltoall(self, sendobj: list[Any]) -> list[Any]:
        """Return from every neighbour its object for this one."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.neighbor_alltoall(self, sendobj)
        return call.result(plans.neighbour_alltoall(call, sendobj))
