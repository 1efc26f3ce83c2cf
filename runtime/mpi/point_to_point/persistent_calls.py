"""Persistent and partitioned communication between two ranks of communicators of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.errors import NotOnTheGrid
from runtime.mpi.point_to_point.sends import checked_source, receive_spec
from runtime.mpi.process.place import here
from runtime.mpi.requests.requests import (
    Prequest,
    near_persistent,
    persistent_request,
    started_in_cluster,
)
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.specs import read

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.mpi.progress.membership import CommunicatorMembers


_partitioned: Any = LazyModule("runtime.mpi.point_to_point.partitioned")


def _in_parts(
    m: CommunicatorMembers,
    rank: int,
    partitions: int,
    near: Callable[[int], MPI.Prequest],
    far: Callable[[int], MPI.Prequest],
) -> MPI.Prequest:
    """Return the request in parts for a rank: nobody, one of this cluster, or one of another."""
    place = m.near_to(rank)
    if place is None:
        return far(integer(partitions))
    made: MPI.Prequest
    if place == MPI.PROC_NULL:
        made = _partitioned.no_parts(m, integer(partitions))
    else:
        made = _partitioned.near_parts(m, near(place))
    return made


class PersistentCalls(MPI.Comm):
    """The calls that make the persistent requests of receives, and of messages in parts."""

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

    def Psend_init(
        self, buf: Any, partitions: int, dest: int, tag: int = 0, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Prequest:
        """Make the request of a send in parts; none of the hints means anything here."""
        _refuse_replicas("Psend_init")
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            return started_in_cluster(
                MPI.Comm.Psend_init(self, buf, partitions, dest, tag, info), self
            )
        return _in_parts(
            m, dest, partitions,
            lambda near: m.native.Psend_init(buf, partitions, near, tag, info),
            lambda count: _partitioned.send_parts(m, buf, count, dest, tag),
        )  # fmt: skip

    def Precv_init(
        self,
        buf: Any,
        partitions: int,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        info: MPI.Info = MPI.INFO_NULL,
    ) -> MPI.Prequest:
        """Make the request of a receive in parts; MPI has no wildcards there."""
        _refuse_replicas("Precv_init")
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            return started_in_cluster(
                MPI.Comm.Precv_init(self, buf, partitions, source, tag, info), self
            )
        return _in_parts(
            m, source, partitions,
            lambda near: m.native.Precv_init(buf, partitions, near, tag, info),
            lambda count: _partitioned.receive_parts(m, buf, count, source, tag),
        )  # fmt: skip


def _refuse_replicas(call: str) -> None:
    if here().has_replicas:
        raise NotOnTheGrid(
            f"{call} is not possible where ranks have replicas",
            cure="Use messages and collectives there",
        )
