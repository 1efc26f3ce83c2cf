"""Collectives on buffers that are prepared once and started many times."""

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


class PersistentCollectives(MPI.Comm):
    """The part of a communicator that prepares to move and combine buffers."""

    __slots__ = ()
    _members: Membership | None

    def Barrier_init(self, info: MPI.Info = MPI.INFO_NULL) -> MPI.Prequest:
        """Prepare to wait until every member has come."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Barrier_init(self, info)
        return call.prepare(plans.barrier(call))

    def Bcast_init(self, buf: Any, root: int = 0, info: MPI.Info = MPI.INFO_NULL) -> MPI.Prequest:
        """Prepare to give the root's data to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Bcast_init(self, buf, root, info)
        return call.prepare(plans.bcast(call, buf, root))

    def Gather_init(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring a block of every member to the root."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Gather_init(self, sendbuf, recvbuf, root, info)
        return call.prepare(plans.gather(call, sendbuf, recvbuf, root, vector=False))

    def Gatherv_init(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring blocks of any size to the root."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Gatherv_init(self, sendbuf, recvbuf, root, info)
        return call.prepare(plans.gather(call, sendbuf, recvbuf, root, vector=True))

    def Scatter_init(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring a block of the root's to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Scatter_init(self, sendbuf, recvbuf, root, info)
        return call.prepare(plans.scatter(call, sendbuf, recvbuf, root, vector=False))

    def Scatterv_init(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring blocks of any size from the root to the members."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Scatterv_init(self, sendbuf, recvbuf, root, info)
        return call.prepare(plans.scatter(call, sendbuf, recvbuf, root, vector=True))

    def Allgather_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring a block of every member to all."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Allgather_init(self, sendbuf, recvbuf, info)
        return call.prepare(plans.allgather(call, sendbuf, recvbuf, vector=False))

    def Allgatherv_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring blocks of any size to all."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Allgatherv_init(self, sendbuf, recvbuf, info)
        return call.prepare(plans.allgather(call, sendbuf, recvbuf, vector=True))

    def Alltoall_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring a block of every member to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Alltoall_init(self, sendbuf, recvbuf, info)
        return call.prepare(plans.alltoall(call, sendbuf, recvbuf, vector=False))

    def Alltoallv_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring blocks of any size from every member to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Alltoallv_init(self, sendbuf, recvbuf, info)
        return call.prepare(plans.alltoall(call, sendbuf, recvbuf, vector=True))

    def Alltoallw_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring blocks of any size and datatype from every member to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Alltoallw_init(self, sendbuf, recvbuf, info)
        return call.prepare(plans.alltoallw(call, sendbuf, recvbuf))

    def Reduce_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: MPI.Op = MPI.SUM,
        root: int = 0,
        info: MPI.Info = MPI.INFO_NULL,
    ) -> MPI.Prequest:
        """Prepare to combine everybody's values at the root."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.prepared(
                    self, lambda: averaged.reduce(self, sendbuf, recvbuf, root)
                )
            return MPI.Comm.Reduce_init(self, sendbuf, recvbuf, op, root, info)
        return call.prepare(reductions.reduce(call, sendbuf, recvbuf, op, root))

    def Allreduce_init(
        self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to combine everybody's values; everybody gets the result."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.prepared(self, lambda: averaged.allreduce(self, sendbuf, recvbuf))
            return MPI.Comm.Allreduce_init(self, sendbuf, recvbuf, op, info)
        return call.prepare(reductions.allreduce(call, sendbuf, recvbuf, op))

    def Reduce_scatter_block_init(
        self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to combine everybody's values; everybody gets an equal block of the result."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.prepared(
                    self, lambda: averaged.reduce_scatter_block(self, sendbuf, recvbuf)
                )
            return MPI.Comm.Reduce_scatter_block_init(self, sendbuf, recvbuf, op, info)
        return call.prepare(reductions.reduce_scatter_block(call, sendbuf, recvbuf, op))

    def Reduce_scatter_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        recvcounts: Sequence[int] | None = None,
        op: MPI.Op = MPI.SUM,
        info: MPI.Info = MPI.INFO_NULL,
    ) -> MPI.Prequest:
        """Prepare to combine everybody's values; everybody gets a block of the result."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.prepared(
                    self, lambda: averaged.reduce_scatter(self, sendbuf, recvbuf, recvcounts)
                )
            return MPI.Comm.Reduce_scatter_init(self, sendbuf, recvbuf, recvcounts, op, info)
        return call.prepare(reductions.reduce_scatter(call, sendbuf, recvbuf, recvcounts, op))


class PersistentScans(MPI.Intracomm):
    """The part of a communicator of one group that prepares scans."""

    __slots__ = ()
    _members: Membership | None

    def Scan_init(
        self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to combine the values of the ranks up to this one."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.prepared(self, lambda: averaged.scan(self, sendbuf, recvbuf))
            return MPI.Intracomm.Scan_init(self, sendbuf, recvbuf, op, info)
        return call.prepare(reductions.scan(call, sendbuf, recvbuf, op, exclusive=False))

    def Exscan_init(
        self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to combine the values of the ranks before this one."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.prepared(self, lambda: averaged.exscan(self, sendbuf, recvbuf))
            return MPI.Intracomm.Exscan_init(self, sendbuf, recvbuf, op, info)
        return call.prepare(reductions.scan(call, sendbuf, recvbuf, op, exclusive=True))
