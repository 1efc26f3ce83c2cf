"""Errors on the grid beyond those that MPI defines, and MPI's errors as MPI raises them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import Any, NoReturn

from mpi4py import MPI

from runtime.errors import GridError
from runtime.membership.rank_link import current


class GridMPIError(GridError):
    """The root of the errors of MPI on the grid that MPI itself does not define."""


class FailureError(GridMPIError, MPI.Exception):
    """The root of the errors about lost processes: errors of MPI, with a class and a message.

    >>> try:                                                        # doctest: +SKIP
    ...     comm.Barrier()
    ... except MPI.Exception as error:
    ...     if error.Get_error_class() == MPI.ERR_PROC_FAILED: ...
    """

    error_name = "ERR_PROC_FAILED"

    def __new__(cls, *_args: object, **_parts: object) -> FailureError:
        """Make an exception of MPI that has the class of this error."""
        made: FailureError = MPI.Exception.__new__(cls, failure_classes()[cls.error_name])
        return made

    def __init__(self, what: str, *, place: str = "", cause: str = "", cure: str = "") -> None:
        MPI.Exception.__init__(self, failure_classes()[self.error_name])
        self.what, self.place, self.cause, self.cure = what, place, cause, cure

    def __repr__(self) -> str:
        """Return the name of the error and what has happened."""
        return f"{type(self).__name__}({self.what!r})"


class ProcessGone(FailureError):
    """A process that a call waits for has ended or cannot be reached any more."""

    process = ""
    """Its identifier, such as `0:1:3`, where this process has lost the connection to it."""


class ProcessGonePending(FailureError):
    """A process has ended that might have sent; the request is still pending."""

    process = ""
    """Its identifier."""

    error_name = "ERR_PROC_FAILED_PENDING"


class CommunicatorRevoked(FailureError):
    """A member has revoked the communicator: only `Shrink`, `Agree` and the like still work."""

    error_name = "ERR_REVOKED"


class OutOfStep(GridMPIError):
    """The members of a communicator make different collectives, or one failed in its call."""


class ComponentFault(GridMPIError):
    """The components of the machine have not carried out a collective, which fails everywhere."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "the components of the machine could not carry a collective out",
            cause=why,
            cure="Let fewer collectives wait for other ranks, or use other plans than `components`",
        )


class NotJoined(GridMPIError):
    """A process that was started again has called MPI before its first checkpoint."""

    def __init__(self) -> None:
        super().__init__(
            "this process was started again in place of a lost replica, and has not joined yet",
            cure="Call MPI.Checkpoint before anything else of MPI: it returns what the program had"
            " kept, or what it was given where there is nothing",
        )


class NotOnTheGrid(GridMPIError, NotImplementedError):
    """Something that native MPI can do within a cluster, but nobody can over several MPIs."""


_FAILURES = {
    "ERR_PROC_FAILED": "a process has failed",
    "ERR_PROC_FAILED_PENDING": "a process has failed that might have sent",
    "ERR_REVOKED": "the communicator was revoked",
}


_of_header: dict[str, int] = {}


def use_classes_of_header(classes: Sequence[int]) -> None:
    """Let failures have the error classes that a C program compares with; 0 where it has none.

    To be called before `failure_classes`.
    """
    _of_header.update(zip(_FAILURES, classes, strict=True))


@cache
def failure_classes() -> dict[str, int]:
    """Return the error classes of failures by their names in mpi4py; MPI has to be initialised.

    They are those of native MPI, or of its header, where these have them; otherwise they are added.
    """
    if all(_of_header.get(name) for name in _FAILURES):
        return dict(_of_header)
    known = {name: getattr(MPI, name) for name in _FAILURES}
    if len({*known.values(), MPI.ERR_UNKNOWN}) == len(known) + 1 and min(known.values()) > 0:
        return known
    added = {}
    for name, text in _FAILURES.items():
        added[name] = MPI.Add_error_class()
        MPI.Add_error_string(added[name], text)
        _added[added[name]] = text
    return added


_added: dict[int, str] = {}
"""The texts of the error classes that were added to native MPI."""

_string_of_native = MPI.Get_error_string


def Get_error_string(errorcode: int) -> str:
    """Return the text of an error code or class.

    Native MPI is not asked for those that were added: MPICH crashes if it is finalised already.
    """
    return _added.get(errorcode) or _string_of_native(errorcode)


def keep_strings() -> None:
    """Let all errors of MPI find their texts after `MPI.Finalize`."""

    def string_of(error: MPI.Exception) -> str:
        return Get_error_string(error.error_code)

    kind: Any = MPI.Exception
    kind.Get_error_string = string_of


def refuse(comm: MPI.Comm, error_class: int) -> NoReturn:
    """Raise an error of MPI for a call that has a result; its error handler is called first."""
    report(comm, MPI.Exception(error_class))


def report(comm: MPI.Comm, error: BaseException) -> NoReturn:
    """Call the error handler of a communicator, then raise the error; see `tell`."""
    tell(comm, error)
    raise error


def tell(comm: MPI.Comm | MPI.Win | MPI.File, error: BaseException) -> None:
    """Call the error handler of a communicator, window or file with an error of MPI or the grid.

    It returns if the program's own handler returns: then so does the call of MPI. MPI's own
    handlers raise the error, or end the whole run where errors are fatal, not only the cluster. An
    error that MPI has no code for is `MPI.ERR_OTHER` to a handler. Such an error, and the loss of a
    process, is raised even if the handler returns.
    """
    if not isinstance(error, MPI.Exception | GridMPIError):
        raise error
    code = error.error_code if isinstance(error, MPI.Exception) else MPI.ERR_OTHER
    handler = comm.Get_errhandler()
    is_fatal = handler in (MPI.ERRORS_ARE_FATAL, MPI.ERRORS_ABORT)
    is_of_mpi = handler == MPI.ERRORS_RETURN
    handler.Free()
    if is_fatal:
        abort(MPI.Get_error_class(code), error)
    if is_fatal:
        abort_natively(lambda _: comm.Call_errhandler(code), MPI.Get_error_class(code))
    comm.Call_errhandler(code)
    if is_of_mpi or isinstance(error, GridMPIError):
        raise error


def abort(code: int, error: BaseException | None = None) -> None:
    """Tell the front-end that this process aborts the run, because of an error if one is given."""
    link = current()
    if link is not None:
        from runtime.membership.last_words import last_words_of_abort

        code = code & 0xFF or 1
        told = {"code": code, "why": f"called MPI.Abort({code})", **last_words_of_abort(error)}
        link.wrapper.health.aborted(link.name, told)


def abort_natively(end: Callable[[int], object], code: int) -> NoReturn:
    """Let the native MPI end its ranks by a call, then end this process; the front-end was told.

    What it writes names a rank of its own cluster, beside the line of the launcher that names that
    of the grid, so it is left out. An Open MPI 5 writes it by its `mpiexec`, out of reach: there
    the front-end alone ends the others.
    """
    if current() is None or not MPI.Get_library_version().startswith("Open MPI v5"):
        with without_words_of_the_library():
            end(code)
    leave(code)


@contextmanager
def without_words_of_the_library() -> Iterator[None]:
    """Leave out what the native MPI writes."""
    with ExitStack() as stack:
        with suppress(OSError, ValueError, AttributeError):  # closed, or no descriptor is free
            sys.stderr.flush()
            kept = os.dup(2)
            stack.callback(os.close, kept)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            stack.callback(os.close, nowhere)
            os.dup2(nowhere, 2)
            stack.callback(os.dup2, kept, 2)
        yield


def leave(code: int) -> NoReturn:
    """End this process, after MPI was asked to abort all: in MPICH such calls return.

    The program would catch an error, or work on, until mpiexec kills it.
    """
    os._exit(code & 0xFF or 1)
