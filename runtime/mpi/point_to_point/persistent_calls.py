"""Persistent point-to-point communication on communicators of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.point_to_point.sends import checked, checked_source, receive_spec, send_data
from runtime.mpi.requests.requests import Prequest, persistent_request
from runtime.mpi.values.specs import read

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Operation


class PersistentCalls(MPI.Comm):
    """Calls that make persistent requests."""

    __slots__ = ()

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> MPI.Prequest:
        """Make the request of a send."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            return MPI.Comm.Send_init(self, buf, dest, tag)
        near = m.near_to(dest)
        if near is not None:
            return _near(m, m.native.Send_init(buf, near, tag))
        return _far(m, buf, dest, tag)

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> MPI.Request:
        """Make the request of a send that is done when the message is received."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            return MPI.Comm.Ssend_init(self, buf, dest, tag)
        near = m.near_to(dest)
        if near is not None:
            return _near(m, m.native.Ssend_init(buf, near, tag))
        return _far(m, buf, dest, tag, sync=True)

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> MPI.Request:
        """Make the request of a send of a copy."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            return MPI.Comm.Bsend_init(self, buf, dest, tag)
        near = m.near_to(dest)
        if near is not None:
            return _near(m, m.native.Bsend_init(buf, near, tag))
        return _far(m, buf, dest, tag, copy=True)

    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> MPI.Prequest:
        """Make the request of a send to a receiver that is ready."""
        return PersistentCalls.Send_init(self, buf, dest, tag)

    def Recv_init(
        self, buf: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG
    ) -> MPI.Prequest:
        """Make the request of a receive."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            return MPI.Comm.Recv_init(self, buf, source, tag)
        if m.near_to(source) == MPI.PROC_NULL:
            return _near(m, m.native.Recv_init(buf, source, tag))
        there = checked_source(m, source, tag)
        if there is None:
            return Prequest()
        read(buf, readonly=False)
        return persistent_request(m, lambda: receive_spec(m, buf, *there))


def _near(m: CommunicatorMembers, native: MPI.Request) -> Prequest:
    request = Prequest(native)
    request._members = m
    return request


def _far(
    m: CommunicatorMembers, buf: Any, dest: int, tag: int, *, sync: bool = False, copy: bool = False
) -> Prequest:
    there = checked(m, dest, tag)
    if there is None:
        return Prequest()
    spec = read(buf, readonly=True)

    def begin() -> Operation:
        data = spec.pack()
        return send_data(m, bytes(data) if copy else data, there, sync=sync)

    return persistent_request(m, begin)
