"""Messages found by a matched probe, natively or from another cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from mpi4py import MPI

from runtime.mpi.progress.landings import Fresh, InSpec
from runtime.mpi.progress.native_waits import current, settle
from runtime.mpi.requests.requests import Request, native_request, new_request
from runtime.mpi.values.specs import read
from runtime.mpi.values.substitute_type import SubstituteType

if TYPE_CHECKING:
    from runtime.matching import Envelope
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Operation
    from runtime.wire import Incoming


class Found:
    """A matched message of another cluster, reserved for the caller that probed it."""

    __slots__ = ("envelope", "incoming", "members")

    def __init__(
        self, members: CommunicatorMembers, envelope: Envelope, incoming: Incoming
    ) -> None:
        self.members = members
        self.envelope = envelope
        self.incoming = incoming


class Message(MPI.Message, metaclass=SubstituteType):
    """A matched message: one of native MPI, whose handle it owns, or one that was `_found`.

    For a native one `_source` is the source to put into a status, if native MPI would give another.
    """

    _stands_for: ClassVar[type[MPI.Message]] = MPI.Message
    _members: CommunicatorMembers | None = None
    _source: int | None = None
    _found: Found | None = None

    def __new__(cls, message: MPI.Message | None = None) -> Self:
        """Return a copy of another message, or of none."""
        self = super().__new__(cls, message)
        if message is not None:
            vars(self).update(getattr(message, "__dict__", {}))
        return self

    def __bool__(self) -> bool:
        return self._found is not None or MPI.Message.__bool__(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MPI.Message):
            return NotImplemented
        if self._found is not None or getattr(other, "_found", None) is not None:
            return self._found is getattr(other, "_found", None)
        return MPI.Message.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other if isinstance(other, MPI.Message) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as mpi4py's

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Refuse to be pickled unless it is predefined."""
        if self._found is not None:
            raise ValueError(f"cannot serialize '{type(self).__module__}.{type(self).__name__}'")
        return super().__reduce__()

    def Recv(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Receive it into memory."""
        if getattr(self, "_found", None) is not None:
            Message.Irecv(self, buf).Wait(status)
            return
        engine = current()
        if engine is None:
            MPI.Message.Recv(self, buf, status)
        else:
            request = MPI.Message.Irecv(self, buf)
            settle(engine, lambda: request.Test(status), buf)
        _correct(self, status)

    def Irecv(self, buf: Any) -> MPI.Request:
        """Begin to receive it into memory."""
        found: Found | None = getattr(self, "_found", None)
        if found is None:
            return _wrapped(self, MPI.Message.Irecv(self, buf))
        landing = InSpec(read(buf, readonly=False))
        self._found = None
        m = found.members
        return new_request(m, m.engine.receive_found(m, found.envelope, found.incoming, landing))

    def recv(self, status: MPI.Status | None = None) -> Any:
        """Receive it as an object."""
        if getattr(self, "_found", None) is not None:
            return Message.irecv(self).wait(status)
        received = MPI.Message.recv(self, status)
        _correct(self, status)
        return received

    def irecv(self) -> MPI.Request:
        """Begin to receive it as an object."""
        found: Found | None = getattr(self, "_found", None)
        if found is None:
            return _wrapped(self, MPI.Message.irecv(self))
        self._found = None
        m, engine = found.members, found.members.engine
        operation = engine.receive_found(m, found.envelope, found.incoming, Fresh())
        return new_request(m, operation, load_object)

    @classmethod
    def Probe(
        cls,
        comm: MPI.Comm,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> Self:
        """Wait for a message and match it."""
        return cls(type(comm).Mprobe(comm, source, tag, status))

    @classmethod
    def Iprobe(
        cls,
        comm: MPI.Comm,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> Self | None:
        """Match a message if there is one."""
        found = type(comm).Improbe(comm, source, tag, status)
        return None if found is None else cls(found)

    @classmethod
    def probe(
        cls,
        comm: MPI.Comm,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> Self:
        """Wait for a message with an object and match it."""
        return cls(type(comm).mprobe(comm, source, tag, status))

    @classmethod
    def iprobe(
        cls,
        comm: MPI.Comm,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> Self | None:
        """Match a message with an object if there is one."""
        found = type(comm).improbe(comm, source, tag, status)
        return None if found is None else cls(found)

    @classmethod
    def fromhandle(cls, handle: int) -> Self:
        """Return the message with a handle of native MPI."""
        return cls(MPI.Message.fromhandle(handle))

    @classmethod
    def fromint(cls, arg: int, /) -> Self:
        """Return the message with a number of native MPI."""
        return cls(MPI.Message.fromint(arg))

    @classmethod
    def f2py(cls, arg: int) -> Self:
        """Return the message with a Fortran handle."""
        return cls(MPI.Message.f2py(arg))


def native_message(m: CommunicatorMembers, native: MPI.Message, source: int) -> Message:
    """Return the message that owns a native one; `source` is what its status is to say."""
    message = Message(native)
    message._members, message._source = m, source
    return message


def found_message(m: CommunicatorMembers, envelope: Envelope, incoming: Incoming) -> Message:
    """Return the message for one of another cluster that is reserved for the caller."""
    message = Message()
    message._found = Found(m, envelope, incoming)
    return message


def load_object(operation: Operation) -> Any:
    """Return the object whose pickle was received; None for an empty message."""
    return MPI.pickle.loads(operation.data) if operation.data else None


def _wrapped(message: MPI.Message, request: MPI.Request) -> MPI.Request:
    m: CommunicatorMembers | None = getattr(message, "_members", None)
    if m is None:
        return Request(request)
    return native_request(m, request, getattr(message, "_source", None))


def _correct(message: MPI.Message, status: MPI.Status | None) -> None:
    source = getattr(message, "_source", None)
    if source is not None and status is not None:
        status.source = source
