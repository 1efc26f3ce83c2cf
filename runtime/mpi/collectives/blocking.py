"""Collectives on buffers that return when they are done."""

from __future__ import annotations

from mpi4py import MPI

from runtime.later import Later
from runtime.mpi.collectives.entry import call_on
from runtime.mpi.collectives.reductions import Average

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from runtime.mpi.collectives import averaged, plans
    from runtime.mpi.collectives import reduction_plans as reductions
    from runtime.mpi.progress.membership import Membership
else:
    averaged = Later("runtime.mpi.collectives.averaged")
    plans = Later("runtime.mpi.collectives.plans")
    reductions = Later("runtime.mpi.collectives.reduction_plans")


class BlockingCollectives(MPI.Comm):
    """The part of a communicator that moves and combines buffers."""

    __slots__ = ()
    _members: Membership | None

    def Barrier(self) -> None:
        """Wait until every member has come."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Barrier(self)
            return
        call.run(plans.barrier(call))

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Give the root's data to every member."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Bcast(self, buf, root)
            return
        call.run(plans.bcast(call, buf, root))

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Bring a block of every member to the root."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Gather(self, sendbuf, recvbuf, root)
            return
        call.run(plans.gather(call, sendbuf, recvbuf, root, vector=False))

    def Gatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Bring blocks of any size to the root."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Gatherv(self, sendbuf, recvbuf, root)
            return
        call.run(plans.gather(call, sendbuf, recvbuf, root, vector=True))

    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Bring a block of the root's to every member."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Scatter(self, sendbuf, recvbuf, root)
            return
        call.run(plans.scatter(call, sendbuf, recvbuf, root, vector=False))

    def Scatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Bring blocks of any size from the root to the members."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Scatterv(self, sendbuf, recvbuf, root)
            return
        call.run(plans.scatter(call, sendbuf, recvbuf, root, vector=True))

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Bring a block of every member to all."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Allgather(self, sendbuf, recvbuf)
            return
        call.run(plans.allgather(call, sendbuf, recvbuf, vector=False))

    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Bring blocks of any size to all."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Allgatherv(self, sendbuf, recvbuf)
            return
        call.run(plans.allgather(call, sendbuf, recvbuf, vector=True))

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Bring a block of every member to every member."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Alltoall(self, sendbuf, recvbuf)
            return
        call.run(plans.alltoall(call, sendbuf, recvbuf, vector=False))

    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Bring blocks of any size from every member to every member."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Alltoallv(self, sendbuf, recvbuf)
            return
        call.run(plans.alltoall(call, sendbuf, recvbuf, vector=True))

    def Alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """Bring blocks of any size and datatype from every member to every member."""
        call = call_on(self)
        if call is None:
            MPI.Comm.Alltoallw(self, sendbuf, recvbuf)
            return
        call.run(plans.alltoallw(call, sendbuf, recvbuf))

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, root: int = 0) -> None:
        """Combine everybody's values at the root."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                averaged.reduce(self, sendbuf, recvbuf, root).run()
                return
            MPI.Comm.Reduce(self, sendbuf, recvbuf, op, root)
            return
        call.run(reductions.reduce(call, sendbuf, recvbuf, op, root))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        """Combine everybody's values; everybody gets the result."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                averaged.allreduce(self, sendbuf, recvbuf).run()
                return
            MPI.Comm.Allreduce(self, sendbuf, recvbuf, op)
            return
        call.run(reductions.allreduce(call, sendbuf, recvbuf, op))

    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        """Combine everybody's values; everybody gets an equal block of the result."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                averaged.reduce_scatter_block(self, sendbuf, recvbuf).run()
                return
            MPI.Comm.Reduce_scatter_block(self, sendbuf, recvbuf, op)
            return
        call.run(reductions.reduce_scatter_block(call, sendbuf, recvbuf, op))

    def Reduce_scatter(
        self,
        sendbuf: Any,
        recvbuf: Any,
        recvcounts: Sequence[int] | None = None,
        op: MPI.Op = MPI.SUM,
    ) -> None:
        """Combine everybody's values; everybody gets a block of the result."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                averaged.reduce_scatter(self, sendbuf, recvbuf, recvcounts).run()
                return
            MPI.Comm.Reduce_scatter(self, sendbuf, recvbuf, recvcounts, op)
            return
        call.run(reductions.reduce_scatter(call, sendbuf, recvbuf, recvcounts, op))


class BlockingScans(MPI.Intracomm):
    """The part of a communicator of one group that scans."""

    __slots__ = ()
    _members: Membership | None

    def Scan(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        """Combine the values of the ranks up to this one."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                averaged.scan(self, sendbuf, recvbuf).run()
                return
            MPI.Intracomm.Scan(self, sendbuf, recvbuf, op)
            return
        call.run(reductions.scan(call, sendbuf, recvbuf, op, exclusive=False))

    def Exscan(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        """Combine the values of the ranks before this one."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                averaged.exscan(self, sendbuf, recvbuf).run()
                return
            MPI.Intracomm.Exscan(self, sendbuf, recvbuf, op)
            return
        call.run(reductions.scan(call, sendbuf, recvbuf, op, exclusive=True))
