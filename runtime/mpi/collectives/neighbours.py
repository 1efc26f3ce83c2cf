"""Collectives among neighbours, in every form."""

from __future__ import annotations

from mpi4py import MPI

from runtime.later import Later
from runtime.mpi.collectives.entry import call_on

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import Any

    from runtime.mpi.collectives import neighbour_plans as neighbours
    from runtime.mpi.progress.membership import Membership
else:
    neighbours = Later("runtime.mpi.collectives.neighbour_plans")


class BlockingNeighbours(MPI.Topocomm):
    """The part of a communicator that exchanges buffers with neighbours."""

    __slots__ = ()
    _members: Membership | None

    def Neighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Bring a block of every neighbour to this one."""
        call = call_on(self)
        if call is None:
            MPI.Topocomm.Neighbor_allgather(self, sendbuf, recvbuf)
            return
        call.run(neighbours.neighbour_allgather(call, sendbuf, recvbuf, vector=False))

    def Neighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Bring a block of any size of every neighbour to this one."""
        call = call_on(self)
        if call is None:
            MPI.Topocomm.Neighbor_allgatherv(self, sendbuf, recvbuf)
            return
        call.run(neighbours.neighbour_allgather(call, sendbuf, recvbuf, vector=True))

    def Neighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Exchange a block with every neighbour."""
        call = call_on(self)
        if call is None:
            MPI.Topocomm.Neighbor_alltoall(self, sendbuf, recvbuf)
            return
        call.run(neighbours.neighbour_alltoall(call, sendbuf, recvbuf, vector=False))

    def Neighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Exchange blocks of any size with every neighbour."""
        call = call_on(self)
        if call is None:
            MPI.Topocomm.Neighbor_alltoallv(self, sendbuf, recvbuf)
            return
        call.run(neighbours.neighbour_alltoall(call, sendbuf, recvbuf, vector=True))

    def Neighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """Exchange blocks of any size and datatype with every neighbour."""
        call = call_on(self)
        if call is None:
            MPI.Topocomm.Neighbor_alltoallw(self, sendbuf, recvbuf)
            return
        call.run(neighbours.neighbour_alltoallw(call, sendbuf, recvbuf))


class NonblockingNeighbours(MPI.Topocomm):
    """The part of a communicator that begins to exchange buffers with neighbours."""

    __slots__ = ()
    _members: Membership | None

    def Ineighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to bring a block of every neighbour to this one."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Ineighbor_allgather(self, sendbuf, recvbuf)
        return call.begin(neighbours.neighbour_allgather(call, sendbuf, recvbuf, vector=False))

    def Ineighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to bring a block of any size of every neighbour to this one."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Ineighbor_allgatherv(self, sendbuf, recvbuf)
        return call.begin(neighbours.neighbour_allgather(call, sendbuf, recvbuf, vector=True))

    def Ineighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to exchange a block with every neighbour."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Ineighbor_alltoall(self, sendbuf, recvbuf)
        return call.begin(neighbours.neighbour_alltoall(call, sendbuf, recvbuf, vector=False))

    def Ineighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to exchange blocks of any size with every neighbour."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Ineighbor_alltoallv(self, sendbuf, recvbuf)
        return call.begin(neighbours.neighbour_alltoall(call, sendbuf, recvbuf, vector=True))

    def Ineighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to exchange blocks of any size and datatype with every neighbour."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Ineighbor_alltoallw(self, sendbuf, recvbuf)
        return call.begin(neighbours.neighbour_alltoallw(call, sendbuf, recvbuf))


class PersistentNeighbours(MPI.Topocomm):
    """The part of a communicator that prepares exchanges with neighbours."""

    __slots__ = ()
    _members: Membership | None

    def Neighbor_allgather_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring a block of every neighbour to this one."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Neighbor_allgather_init(self, sendbuf, recvbuf, info)
        return call.prepare(neighbours.neighbour_allgather(call, sendbuf, recvbuf, vector=False))

    def Neighbor_allgatherv_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to bring a block of any size of every neighbour to this one."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Neighbor_allgatherv_init(self, sendbuf, recvbuf, info)
        return call.prepare(neighbours.neighbour_allgather(call, sendbuf, recvbuf, vector=True))

    def Neighbor_alltoall_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to exchange a block with every neighbour."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Neighbor_alltoall_init(self, sendbuf, recvbuf, info)
        return call.prepare(neighbours.neighbour_alltoall(call, sendbuf, recvbuf, vector=False))

    def Neighbor_alltoallv_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to exchange blocks of any size with every neighbour."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Neighbor_alltoallv_init(self, sendbuf, recvbuf, info)
        return call.prepare(neighbours.neighbour_alltoall(call, sendbuf, recvbuf, vector=True))

    def Neighbor_alltoallw_init(
        self, sendbuf: Any, recvbuf: Any, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Prepare to exchange blocks of any size and datatype with every neighbour."""
        call = call_on(self)
        if call is None:
            return MPI.Topocomm.Neighbor_alltoallw_init(self, sendbuf, recvbuf, info)
        return call.prepare(neighbours.neighbour_alltoallw(call, sendbuf, recvbuf))
