"""Common parts of requests on communicators of the grid and of native MPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mpi4py import MPI

from runtime.mpi.errors import ProcessGone, ProcessGonePending, tell
from runtime.mpi.progress.mailboxes import PendingReceive, Receive
from runtime.mpi.progress.native_waits import current
from runtime.mpi.values.statuses import clear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Operation


def is_ours(request: MPI.Request) -> bool:
    """Return whether native MPI does not know a request."""
    return (
        getattr(request, "_operation", None) is not None
        or getattr(request, "_begin", None) is not None
    )


def identity(request: MPI.Request) -> object | None:
    """Return what two copies of a request have in common."""
    return getattr(request, "_begin", None) or getattr(request, "_operation", None)


def operation_of(request: MPI.Request) -> Operation | None:
    """Return the operation of a request, None if it is native."""
    operation: Operation | None = getattr(request, "_operation", None)
    return operation


def finish(request: MPI.Request, status: MPI.Status | None) -> Literal[True]:
    """End a request that is done: fill the status, raise its error."""
    if not is_ours(request):
        correct(request, status)
        return True
    operation = describe(request, status)
    if operation is not None:
        error = ended(request, operation)
        if error is not None:
            fail(request, error)
    return True


def finish_object(request: MPI.Request, status: MPI.Status | None) -> Any:
    """End a request that is done; return the object it has received."""
    operation, load = operation_of(request), getattr(request, "_load", None)
    finish(request, status)
    if operation is None or load is None:
        return None
    if operation.error is not None:
        raise operation.error  # the error handler has returned, but there is no object
    return load(operation)


def ended(request: MPI.Request, operation: Operation) -> BaseException | None:
    """Make a request null, since its operation is done; return the error, if any.

    A receive from any source stays, if a loss has ended it and others may still send: the next call
    posts it again.
    """
    request._operation = None  # type: ignore[attr-defined]  # it is ours
    failed = operation.receive if isinstance(operation, PendingReceive) else operation
    m: CommunicatorMembers | None = getattr(request, "_members", None)
    if m is None or not isinstance(failed, Receive) or not failed.may_go_on:
        return operation.error
    error = operation.error
    assert isinstance(error, ProcessGone), "a loss has ended it"
    request._operation = PendingReceive(  # type: ignore[attr-defined]  # as above
        lambda: m.engine.receive_again(m, failed)
    )
    pending = ProcessGonePending(
        f"{error.what}, and might have sent what is waited for",
        cause=error.cause,
        cure="Call Ack_failed, and wait again: the request is still there",
    )
    pending.process = error.process
    return pending


def describe(request: MPI.Request, status: MPI.Status | None) -> Operation | None:
    """Fill the status of a request that is done."""
    operation = operation_of(request)
    if operation is None:
        clear(status)
    else:
        operation.fill(status)
    return operation


def correct(request: MPI.Request, status: MPI.Status | None) -> None:
    """Put the rank on the grid into the status of a native request."""
    source = getattr(request, "_source", None)
    if source is not None and status is not None and status.source >= 0:
        status.source = source


def corrected(request: MPI.Request, status: MPI.Status | None, found: Any) -> Any:
    """Correct the status, and return the result of the call."""
    correct(request, status)
    return found


def fail(request: MPI.Request, error: BaseException) -> None:
    """Raise the error of a request as a call on its communicator does, or call its handler."""
    m = getattr(request, "_members", None)
    if m is None:
        raise error
    tell(m.native, error)


def engine_of(request: MPI.Request) -> Engine | None:
    """Return the engine to wait for a request with; None if native MPI is to wait itself."""
    m: CommunicatorMembers | None = getattr(request, "_members", None)
    return current() if m is None else m.engine


def is_done(request: MPI.Request) -> bool:
    """Return whether a request that is not native is done; makes progress."""
    operation, engine = operation_of(request), engine_of(request)
    if operation is None:
        return True
    if engine is None:
        return operation.test()
    if engine.decisions is not None:
        return engine.decisions.is_done(operation)
    with engine.lock:
        if not operation.test():
            engine.ask()
        return operation.test()


def wait_for(request: MPI.Request) -> None:
    """Wait for a request that is not native."""
    operation, engine = operation_of(request), engine_of(request)
    if operation is None:
        return
    if engine is not None:
        engine.waits.wait(operation.test, lambda: (operation,))
        return
    while not operation.test():  # as native MPI waits
        pass


def is_flagged(result: Any) -> bool:
    """Tell whether a test found a request complete; `test` returns the object, too."""
    return bool(result[0] if isinstance(result, tuple) else result)


def completed_places(name: str, result: Any, count: int) -> Sequence[int]:
    """Return the places of the requests that a call has completed, in the order of statuses."""
    kind = name[4:]
    first = result[0] if isinstance(result, tuple) else result
    if kind == "all":
        return range(count) if "ait" in name or first else ()
    if kind == "any":
        is_done = "ait" in name or result[1]
        return [first] if is_done and 0 <= first < count else ()
    return first or ()
