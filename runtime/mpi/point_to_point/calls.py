"""Point-to-point calls with buffers, on communicators of the grid.

Every method does what mpi4py's of the same name does, and without `_members` is mpi4py's. For peers
in the same cluster it is a native call that waits without busy-polling, after one dictionary
lookup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.point_to_point.object_calls import ObjectCalls
from runtime.mpi.point_to_point.persistent_calls import PersistentCalls
from runtime.mpi.point_to_point.probe_calls import ProbeCalls
from runtime.mpi.point_to_point.send_calls import SendCalls
from runtime.mpi.point_to_point.sends import (
    checked,
    checked_source,
    complete,
    receive_spec,
    refused,
    send_data,
    send_spec,
)
from runtime.mpi.progress.latest_calls import begun, entered, mine, sole
from runtime.mpi.progress.native_waits import settle
from runtime.mpi.progress.operations import Both, NativeOperation, Operation
from runtime.mpi.requests.requests import native_request, new_request
from runtime.mpi.values.faults import check_status
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.specs import read

if TYPE_CHECKING:
    from runtime.mpi.point_to_point.sends import End
    from runtime.mpi.progress.membership import CommunicatorMembers

_truncation: Any = LazyModule("runtime.mpi.values.truncation")
_recv, _irecv = MPI.Comm.Recv, MPI.Comm.Irecv


class BufferCalls(MPI.Comm):
    """Calls that receive buffers."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def Recv(
        self,
        buf: Any,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> None:
        """Receive."""
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        if m is None:
            latest.call = "Recv", self, source, tag
            try:
                _recv(self, buf, source, tag, status)
            except MPI.Exception as error:
                _truncation.note_sizes(error, buf)
                raise
            return
        if status is not None:
            check_status(status)
        near = m.near.get(source) if type(source) is int else m.near_to(source)
        if near is None or m.sought:
            latest.call = "Recv", self, source, tag
            complete(m, receive_spec(m, buf, source, tag), status)
            return
        request = m.native.Irecv(buf, near, tag)
        try:
            if not request.Test(status):
                latest.call = "Recv", self, source, tag
                settle(m.engine, lambda: request.Test(status), buf)
        except MPI.Exception as error:
            _truncation.note_sizes(error, buf)
            raise
        if status is not None:
            status.source = source

    def Irecv(self, buf: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG) -> MPI.Request:
        """Begin to receive."""
        try:
            m = self._members
        except AttributeError:  # of mpi4py's own
            m = None
        if m is None:
            begun.comm = self
            return _irecv(self, buf, source, tag)
        near = m.near.get(source) if type(source) is int else m.near_to(source)
        if near is not None and not m.sought:
            return native_request(m, m.native.Irecv(buf, near, tag), source)
        return new_request(m, receive_spec(m, buf, source, tag))


class ExchangeCalls(MPI.Comm):
    """Calls that send and receive at the same time."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def Sendrecv(  # noqa: PLR0917 - as in mpi4py
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = MPI.ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> None:
        """Send one message and receive another."""
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call = "Sendrecv", self, source, recvtag, dest, sendtag
        if m is None:
            MPI.Comm.Sendrecv(self, sendbuf, dest, sendtag, recvbuf, source, recvtag, status)
        else:
            check_status(status)
            both = _both(m, (sendbuf, dest, sendtag), (recvbuf, source, recvtag))
            complete(m, both, status)

    def Isendrecv(  # noqa: PLR0917 - as in mpi4py
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = MPI.ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
    ) -> MPI.Request:
        """Begin to send one message and receive another."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            begun.comm = self
            return MPI.Comm.Isendrecv(self, sendbuf, dest, sendtag, recvbuf, source, recvtag)
        return new_request(m, _both(m, (sendbuf, dest, sendtag), (recvbuf, source, recvtag)))

    def Sendrecv_replace(  # noqa: PLR0917 - as in mpi4py
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = MPI.ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> None:
        """Send a message and receive another in the same memory."""
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        latest.call = "Sendrecv_replace", self, source, recvtag, dest, sendtag
        if m is None:
            MPI.Comm.Sendrecv_replace(self, buf, dest, sendtag, source, recvtag, status)
        else:
            check_status(status)
            complete(m, _replacing(m, buf, (dest, sendtag), (source, recvtag)), status)

    def Isendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = MPI.ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
    ) -> MPI.Request:
        """Begin to send a message and receive another in the same memory."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            begun.comm = self
            return MPI.Comm.Isendrecv_replace(self, buf, dest, sendtag, source, recvtag)
        return new_request(m, _replacing(m, buf, (dest, sendtag), (source, recvtag)))


class PointToPoint(SendCalls, BufferCalls, ExchangeCalls, ObjectCalls, ProbeCalls, PersistentCalls):
    """All point-to-point calls of a communicator."""

    __slots__ = ()


def _both(
    m: CommunicatorMembers, sent: tuple[Any, int, int], received: tuple[Any, int, int]
) -> Operation:
    """Begin to receive, then to send."""
    sendbuf, recvbuf = sent[0], received[0]
    ends = _ends(m, sent[1:], received[1:])
    if ends is None:
        return refused()
    (dest, sendtag), (source, recvtag) = ends
    if dest != MPI.PROC_NULL:  # a posted receive cannot be taken back
        read(sendbuf, readonly=True)
    receiving = receive_spec(m, recvbuf, source, recvtag)
    near = m.near.get(dest)
    if near is None:
        return Both(send_spec(m, sendbuf, dest, sendtag), receiving)
    request = m.native.Isend(sendbuf, near, sendtag)
    return Both(NativeOperation(request, None, f"a send to rank {dest}"), receiving)


def _replacing(
    m: CommunicatorMembers, buf: Any, sent: tuple[int, int], received: tuple[int, int]
) -> Operation:
    """Begin to send a copy of a message, and to receive another where it was."""
    # Not native MPI's call, even within a cluster: MPICH's leaves out tag and count.
    ends = _ends(m, sent, received)
    if ends is None:
        return refused()
    to, source = ends
    near = m.near.get(to[0])
    if near is None or near == MPI.PROC_NULL:
        packed = b"" if to[0] == MPI.PROC_NULL else bytes(read(buf, readonly=False).pack())
        receiving = receive_spec(m, buf, *source)
        return Both(send_data(m, packed, to), receiving)
    copy = read(buf, readonly=False).copied()
    receiving = receive_spec(m, buf, *source)
    request = m.native.Isend(copy.native(), near, to[1])
    return Both(NativeOperation(request, None, f"a send to rank {to[0]}"), receiving)


def _ends(
    m: CommunicatorMembers, sent: tuple[int, int], received: tuple[int, int]
) -> tuple[End, End] | None:
    """Return both ends of an exchange as numbers; None where MPI refuses one of them."""
    numbers = (integer(sent[0]), integer(sent[1])), (integer(received[0]), integer(received[1]))
    for end, accept in zip(numbers, (checked, checked_source), strict=True):
        if end[0] != MPI.PROC_NULL and accept(m, *end) is None:
            return None
    return numbers
