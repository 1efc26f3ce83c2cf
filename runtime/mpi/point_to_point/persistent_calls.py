"""Persistent point-to-point communication on communicators of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.point_to_point.sends import checked_source, receive_spec
from runtime.mpi.requests.requests import (
    Prequest,
    near_persistent,
    persistent_request,
    started_in_cluster,
)
from runtime.mpi.values.specs import read

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers


class PersistentCalls(MPI.Comm):
    """The call that makes the persistent request of a receive."""

    __slots__ = ()

    def Recv_init(
        self, buf: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG
    ) -> MPI.Prequest:
        """Make the request of a receive."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            return started_in_cluster(MPI.Comm.Recv_init(self, buf, source, tag), self)
        if m.near_to(source) == MPI.PROC_NULL:
            return near_persistent(m, m.native.Recv_init(buf, source, tag))
        there = checked_source(m, source, tag)
        if there is None:
            return Prequest()
        read(buf, readonly=False)
        return persistent_request(m, lambda: receive_spec(m, buf, *there))
