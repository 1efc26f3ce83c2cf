"""The collective operations of MPI, a row for each: the one list of their names.

Everything that knows collectives by name reads it: the calls of communicators, which add arguments
and plans; the numbers in the tags of messages, by which ranks notice that they are in different
calls; the calls on communicators with gaps; and the report of what a rank waits for. It imports no
MPI, because ranks without MPI report too.
"""

from __future__ import annotations

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class CollectiveRow:
    """A collective as mpi4py names its blocking call: upper case for buffers, lower for objects."""

    name: str
    sized: str = ""
    """The argument with the data where all members contribute equal sizes; empty elsewhere."""
    rooted: bool = False
    """Whether its last argument is the rank of a member; read on communicators with gaps only."""
    alike: bool = False
    """Whether it has no data for each rank, so that it does not matter which ranks exist."""
    gathers: bool = False
    """Whether it returns a list with an object for each rank, None for gaps."""
    spreads: bool = False
    """Whether its first argument is a list with an object for each rank."""

    @property
    def works_over_gaps(self) -> bool:
        """Whether members can call it where ranks of the communicator are empty."""
        return self.alike or self.gathers or self.spreads


WITH_BUFFERS = (
    CollectiveRow("Barrier", alike=True),
    CollectiveRow("Bcast", sized="buf", rooted=True, alike=True),
    CollectiveRow("Gather", sized="sendbuf"),
    CollectiveRow("Gatherv"),
    CollectiveRow("Scatter", sized="recvbuf"),
    CollectiveRow("Scatterv"),
    CollectiveRow("Allgather", sized="sendbuf"),
    CollectiveRow("Allgatherv"),
    CollectiveRow("Alltoall", sized="sendbuf"),
    CollectiveRow("Alltoallv"),
    CollectiveRow("Alltoallw"),
    CollectiveRow("Reduce", sized="sendbuf", rooted=True, alike=True),
    CollectiveRow("Allreduce", sized="sendbuf", alike=True),
    CollectiveRow("Reduce_scatter_block", sized="sendbuf"),
    CollectiveRow("Reduce_scatter"),
    CollectiveRow("Scan", sized="sendbuf", alike=True),
    CollectiveRow("Exscan", sized="sendbuf", alike=True),
    CollectiveRow("Neighbor_allgather"),
    CollectiveRow("Neighbor_allgatherv"),
    CollectiveRow("Neighbor_alltoall"),
    CollectiveRow("Neighbor_alltoallv"),
    CollectiveRow("Neighbor_alltoallw"),
)
"""Each stands for three calls: `Bcast`, `Ibcast` and `Bcast_init`."""

WITH_OBJECTS = (
    CollectiveRow("bcast", rooted=True, alike=True),
    CollectiveRow("gather", rooted=True, gathers=True),
    CollectiveRow("scatter", rooted=True, spreads=True),
    CollectiveRow("allgather", gathers=True),
    CollectiveRow("alltoall", gathers=True, spreads=True),
    CollectiveRow("reduce", rooted=True, alike=True),
    CollectiveRow("allreduce", alike=True),
    CollectiveRow("scan", alike=True),
    CollectiveRow("exscan", alike=True),
    CollectiveRow("neighbor_allgather"),
    CollectiveRow("neighbor_alltoall"),
)
"""Each is a blocking call, which returns the received object."""

ROWS = {row.name: row for row in (*WITH_BUFFERS, *WITH_OBJECTS)}
"""The rows by name. Their order is that of the numbers in tags, which all ranks of a run share."""
