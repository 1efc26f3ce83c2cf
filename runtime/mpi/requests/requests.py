"""Requests of communicators of the grid, which wait without busy-polling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from mpi4py import MPI

from runtime.mpi.progress.latest_calls import begun, latest_of_thread, sole
from runtime.mpi.progress.native_waits import settle
from runtime.mpi.requests.parts import (
    correct,
    corrected,
    describe,
    engine_of,
    finish,
    finish_object,
    identity,
    is_done,
    is_ours,
    operation_of,
    wait_for,
)
from runtime.mpi.requests.several_calls import SeveralCalls
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.substitute_type import SubstituteType

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Operation


class Request(SeveralCalls, metaclass=SubstituteType):
    """A request: one of native MPI, whose handle it owns, or an operation of the grid.

    For a native one `_source` is the source to put into a status, if native MPI would give another.
    An operation that is not done is in `_operation`; `_load` makes the received object, if it is
    for one.
    """

    _stands_for: ClassVar[type[MPI.Request]] = MPI.Request
    _members: CommunicatorMembers | None = None
    _operation: Operation | None = None
    _source: int | None = None
    _load: Callable[[Operation], Any] | None = None
    _begin: Callable[[], Operation] | None = None
    _parts: PartsOfMessage | None = None

    def __new__(cls, request: MPI.Request | None = None) -> Self:
        """Return a copy of another request, or a null one."""
        self = MPI.Request.__new__(cls, request)
        if hasattr(type(request), "_operation"):  # `isinstance` accepts those of mpi4py too
            vars(self).update(vars(request))
        return self

    @classmethod
    def of(
        cls,
        operation: Operation,
        comm: MPI.Comm,
        load: Callable[[Operation], Any] | None = None,
    ) -> Request:
        """Return the request for an operation on a communicator of the grid.

        `load` makes the received object, if it is for one, from the completed operation.
        """
        return new_request(members_of(comm), operation, load)

    def __bool__(self) -> bool:
        """Return whether there is something to wait for, or to start again."""
        return is_ours(self) or MPI.Request.__bool__(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MPI.Request):
            return NotImplemented
        if is_ours(self) or is_ours(other):
            return identity(self) is identity(other)
        return MPI.Request.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other if isinstance(other, MPI.Request) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as mpi4py's

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Refuse to be pickled unless it is null."""
        if is_ours(self):
            raise ValueError(f"cannot serialize '{type(self).__module__}.{type(self).__name__}'")
        return super().__reduce__()

    # ------------------------------------------------------------------------------ one of them

    def Wait(self, status: MPI.Status | None = None) -> Literal[True]:
        """Wait until it is done."""
        (sole.latest or latest_of_thread()).call = "Wait", self
        if is_ours(self):
            wait_for(self)
            return finish(self, status)
        engine = engine_of(self)
        if engine is None:
            MPI.Request.Wait(self, status)
        elif not MPI.Request.Test(self, status):
            settle(engine, lambda: MPI.Request.Test(self, status))
        if status is not None:
            correct(self, status)
        return True

    def Test(self, status: MPI.Status | None = None) -> bool:
        """Return whether it is done, and if so make it null."""
        if not is_ours(self):
            return MPI.Request.Test(self, status) and finish(self, status)
        return is_done(self) and finish(self, status)

    def Get_status(self, status: MPI.Status | None = None) -> bool:
        """Return whether it is done, and leave it as it is."""
        if not is_ours(self):
            done = MPI.Request.Get_status(self, status)
            correct(self, status)
            return done
        if not is_done(self):
            return False
        describe(self, status)
        return True

    get_status = Get_status

    def wait(self, status: MPI.Status | None = None) -> Any:
        """Wait until it is done, and return the object it has received."""
        (sole.latest or latest_of_thread()).call = "wait", self
        if is_ours(self):
            wait_for(self)
            return finish_object(self, status)
        engine = engine_of(self)
        if engine is None:
            return MPI.Request.wait(self, status)
        found: tuple[bool, Any] = (False, None)

        def test() -> bool:
            nonlocal found
            found = MPI.Request.test(self, status)
            return found[0]

        settle(engine, test)
        return corrected(self, status, found[1])

    def test(self, status: MPI.Status | None = None) -> tuple[bool, Any | None]:
        """Return whether it is done, with the object it has received."""
        if not is_ours(self):
            done, found = MPI.Request.test(self, status)
            return done, corrected(self, status, found)
        return (True, finish_object(self, status)) if is_done(self) else (False, None)

    def Cancel(self) -> None:
        """Cancel it; it still has to be waited for."""
        operation = operation_of(self)
        if operation is None:
            MPI.Request.Cancel(self)
        elif self._members is not None:
            engine = self._members.engine
            if engine.decisions is not None:
                engine.decisions.cancel(operation)
                return
            with engine.lock:
                operation.cancel()

    cancel = Cancel

    def Free(self) -> None:
        """Let it complete by itself."""
        if not is_ours(self):
            MPI.Request.Free(self)
            return
        operation, m = self._operation, self._members
        if operation is not None and not operation.done and m is not None:
            m.engine.leave_alone(operation)
        self._operation = self._begin = None

    def free(self) -> None:
        """Free it if there is something to free."""
        if is_ours(self):
            self.Free()
        else:
            MPI.Request.free(self)

    @classmethod
    def fromhandle(cls, handle: int) -> Self:
        """Return the request with a handle of native MPI."""
        return cls(_native_class(cls).fromhandle(handle))

    @classmethod
    def fromint(cls, arg: int, /) -> Self:
        """Return the request with a number of native MPI."""
        return cls(_native_class(cls).fromint(arg))

    @classmethod
    def f2py(cls, arg: int) -> Self:
        """Return the request with a Fortran handle."""
        return cls(_native_class(cls).f2py(arg))


class PartsOfMessage(Protocol):
    """One end of a partitioned message; see `runtime.mpi.point_to_point.partitioned`."""

    def ready(self, parts: Iterable[int], /) -> None:
        """Send parts."""

    def has_arrived(self, part: int, /) -> bool:
        """Return whether a part is there; makes progress."""

    def close(self) -> None:
        """Forget the other end."""


class Prequest(Request, MPI.Prequest):
    """A persistent request; `_begin` starts the operation."""

    _stands_for: ClassVar[type[MPI.Request]] = MPI.Prequest

    def __new__(cls, request: MPI.Request | None = None) -> Self:
        """Return a copy of another request, or a null one."""
        if request and not isinstance(request, Prequest):
            raise TypeError(f"expecting a persistent request, got {type(request).__name__}")
        return super().__new__(cls, request)

    @classmethod
    def of(  # type: ignore[override]  # it begins the operation itself
        cls, begin: Callable[[], Operation], comm: MPI.Comm
    ) -> Prequest:
        """Return the request that begins an operation whenever it is started."""
        return persistent_request(members_of(comm), begin)

    def Start(self) -> None:
        """Begin."""
        begin = getattr(self, "_begin", None)
        if begin is None:
            _start_native(self)
            return
        if self._operation is not None:
            raise MPI.Exception(MPI.ERR_REQUEST)
        self._operation = begin()

    def Pready(self, partition: int) -> None:
        """Let a part of a message go."""
        if self._parts is None:
            MPI.Prequest.Pready(self, partition)
        else:
            self._parts.ready((partition,))

    def Pready_range(self, partition_low: int, partition_high: int) -> None:
        """Let parts of a message go, the last one, too."""
        if self._parts is None:
            MPI.Prequest.Pready_range(self, partition_low, partition_high)
        else:
            self._parts.ready(range(integer(partition_low), integer(partition_high) + 1))

    def Pready_list(self, partitions: Sequence[int]) -> None:
        """Let some parts of a message go."""
        if self._parts is None:
            MPI.Prequest.Pready_list(self, partitions)
        else:
            self._parts.ready(partitions)

    def Parrived(self, partition: int) -> bool:
        """Return whether a part of a message is there."""
        if self._parts is None:
            return MPI.Prequest.Parrived(self, partition)
        return self._parts.has_arrived(partition)

    def Free(self) -> None:
        """Let it complete by itself."""
        Request.Free(self)
        if self._parts is not None:
            self._parts.close()
            self._parts = None

    @classmethod
    def Startall(cls, requests: Sequence[MPI.Prequest]) -> None:
        """Begin all of them."""
        for request in requests:
            Prequest.Start(request)  # type: ignore[arg-type]  # one of native MPI will do


def new_request(
    m: CommunicatorMembers, operation: Operation, load: Callable[[Operation], Any] | None = None
) -> Request:
    """Return the request for an operation of the grid."""
    request = request_for(m, operation)
    request._load = load
    return request


def request_for(m: CommunicatorMembers | None, operation: Operation) -> Request:
    """Return the request for an operation, on a communicator of the grid or a native one."""
    request = Request()
    request._members, request._operation = m, operation
    return request


def native_request(
    m: CommunicatorMembers, native: MPI.Request, source: int | None = None
) -> Request:
    """Return the request that owns a native one; `source` is what its status is to say."""
    request = MPI.Request.__new__(Request, native)  # quicker than calling the class
    request._members = m
    if source is not None:
        request._source = source
    return request


def near_persistent(m: CommunicatorMembers, native: MPI.Request) -> Prequest:
    """Return the persistent request that owns a native one."""
    request = Prequest(native)
    request._members = m
    return request


class _StartedInCluster(MPI.Prequest):
    """One of native MPI, whose starts are seen by who looks whether this rank waits."""

    def Start(self) -> None:
        _start_native(self)


_StartedInCluster.__name__ = _StartedInCluster.__qualname__ = MPI.Prequest.__name__
_StartedInCluster.__module__ = MPI.Prequest.__module__


def _start_native(request: MPI.Prequest) -> None:
    begun.comm = begun.comm or True
    MPI.Prequest.Start(request)


def started_in_cluster(native: MPI.Request, comm: MPI.Comm) -> MPI.Prequest:
    """Return a persistent request of a communicator of one cluster."""
    begun.comm = comm
    return MPI.Prequest.__new__(_StartedInCluster, native)


def persistent_request(m: CommunicatorMembers | None, begin: Callable[[], Operation]) -> Prequest:
    """Return the request that begins an operation whenever it is started."""
    request = Prequest()
    request._members, request._begin = m, begin
    return request


def members_of(comm: MPI.Comm) -> CommunicatorMembers:
    """Return the members of a communicator of the grid."""
    m: CommunicatorMembers = comm._members  # type: ignore[attr-defined]  # it is one of the grid
    return m


def _native_class(cls: type[Request]) -> type[MPI.Request]:
    return MPI.Prequest if issubclass(cls, Prequest) else MPI.Request
