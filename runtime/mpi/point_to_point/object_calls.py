"""Point-to-point communication of objects on communicators of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI, rc

from runtime.mpi.point_to_point.send_calls import SendCalls
from runtime.mpi.point_to_point.sends import (
    complete,
    receive_object,
    warn_of_buffer,
)
from runtime.mpi.progress.latest_calls import begun, entered, mine, note, sole
from runtime.mpi.progress.native_waits import settle
from runtime.mpi.requests.requests import native_request, new_request
from runtime.mpi.values.faults import check_status
from runtime.mpi.values.numbers import integer

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers


class ObjectCalls(MPI.Comm):
    """Calls that receive objects."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def recv(
        self,
        buf: Any = None,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> Any:
        """Receive an object."""
        try:
            m, latest = self._members, sole.latest or mine.latest
        except AttributeError:
            m, latest = entered(self)
        if m is None:
            latest.call = "recv", self, source, tag
            return MPI.Comm.recv(self, buf, source, tag, status)
        if status is not None:
            check_status(status)
        near = m.near.get(source) if type(source) is int else m.near_to(source)
        if near == MPI.PROC_NULL:
            return m.native.recv(buf, source, tag, status)
        if buf is not None:
            warn_of_buffer()
        if near is None or m.sought or buf is not None:
            operation, load = receive_object(m, buf, source, tag)
            latest.call = "recv", self, source, tag
            complete(m, operation, status)
            if operation.error is not None:
                raise operation.error  # the error handler has returned, but there is no object
            return load(operation)
        message = m.native.improbe(near, tag)
        if message is None:
            latest.call = "recv", self, source, tag
            message = _await_message(m, near, tag)
        received = message.recv(status)
        if status is not None:
            status.source = source
        return received

    def irecv(
        self, buf: Any = None, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG
    ) -> MPI.Request:
        """Begin to receive an object."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        if m is None:
            begun.comm, begun.objects = self, True
            return MPI.Comm.irecv(self, rc.irecv_bufsz if buf is None else buf, source, tag)
        near = m.near.get(source) if type(source) is int else m.near_to(source)
        if near is not None and (near == MPI.PROC_NULL or not m.sought):
            room = rc.irecv_bufsz if buf is None else buf  # mpi4py asks before the program does
            return native_request(m, m.native.irecv(room, near, tag), source)
        operation, load = receive_object(m, buf, source, tag)
        return new_request(m, operation, load)

    def sendrecv(  # noqa: PLR0917 - as in mpi4py
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = MPI.ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> Any:
        """Send an object and receive another."""
        m: CommunicatorMembers | None = getattr(self, "_members", None)
        note("sendrecv", self, source, recvtag, dest, sendtag)
        if m is None:
            return MPI.Comm.sendrecv(self, sendobj, dest, sendtag, recvbuf, source, recvtag, status)
        check_status(status)
        source, recvtag = integer(source), integer(recvtag)  # before anything is sent
        sending = SendCalls.isend(self, sendobj, dest, sendtag)
        received = ObjectCalls.recv(self, recvbuf, source, recvtag, status)
        sending.Wait()
        return received


def _await_message(m: CommunicatorMembers, near: int, tag: int) -> MPI.Message:
    found: list[MPI.Message] = []

    def look() -> bool:
        message = m.native.improbe(near, tag)
        if message is not None:
            found.append(message)
        return message is not None

    settle(m.engine, look)
    return found[0]
