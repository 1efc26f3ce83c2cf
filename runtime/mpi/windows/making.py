"""Makes windows over several clusters, and gives their class the methods of such windows."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, NoReturn

from mpi4py import MPI

from gcm.records import dataclass
from runtime.calls import of_kind
from runtime.mpi.errors import GridMPIError, NotOnTheGrid, tell
from runtime.mpi.process.options import handle_as_asked
from runtime.mpi.process.place import here
from runtime.mpi.progress.latest_calls import write_down
from runtime.mpi.values import two_ways
from runtime.mpi.values.faults import Wrong, WrongArgument, as_mpi, check_kind
from runtime.mpi.values.handles import named_like
from runtime.mpi.values.numbers import count as as_count
from runtime.mpi.values.raised_errors import errors_raised
from runtime.mpi.windows.face import Win, native_handle
from runtime.mpi.windows.shared_memory import SharedMemory, share
from runtime.mpi.windows.window import GridWindow
from runtime.windows.epochs import WrongEpoch

_windows: dict[int, Win] = {}
"""Those that the program has, by their handles: callbacks of MPI know no more."""


def make(cls: type[Win], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Win:
    """Make a window of a communicator over several clusters, as the call `name` is to make it."""
    if here().has_replicas:
        raise NotOnTheGrid(
            f"Win.{name} is not possible where ranks have replicas",
            cause="replicas of a rank would each change the memory of its targets",
            cure="Use messages and collectives there",
        )
    given = of_kind("window", of=("Win",))[name].named(args, kwargs)
    comm = given.pop("comm")
    check_kind(comm, MPI.Intracomm, "comm")
    give_methods()
    write_down(name, comm)
    own = comm.Dup()
    with _failing_with(comm, own):
        grid, part = _made(own, comm, name, given)
    flavor = name.rpartition("_")[2].upper()  # such as SHARED of Allocate_shared
    grid.shared, grid.flavor = part.shared, getattr(MPI, f"WIN_FLAVOR_{flavor}")
    made = MPI.Win.__new__(cls, part.native)
    made._grid = grid
    grid.faces[id(made)] = made
    _windows[part.native.handle] = made
    return handle_as_asked(made, MPI.ERRORS_ARE_FATAL)


@contextmanager
def _failing_with(comm: Any, own: Any) -> Iterator[None]:
    """Let what waits in the duplicate of a new window fail with its communicator, until its `Free`.

    Others may revoke that, or be lost, while this process still waits for them.
    """
    parent, made = comm._members.recovery, own._members
    with made.engine.lock:
        parent.close_with_it(made.recovery)
    try:
        yield
    except BaseException:
        with made.engine.lock:
            made.engine.services().close(made.context)
            parent.closed_with_it.remove(made.recovery)
        own.Free()
        raise


def _made(own: Any, comm: Any, name: str, given: dict[str, Any]) -> tuple[GridWindow, _Part]:
    """Return a window, and what this process has of it; raises what keeps any rank from it."""
    problem: Exception | None = None
    part: _Part | None = None
    try:
        with as_mpi(comm):
            part = _part_of(own, name, given)
    except Exception as error:
        problem = error
    try:
        _agree(own, problem)
        assert part is not None, "there is no problem"
        return GridWindow(own, comm._members, part.native, part.memory), part
    except BaseException:
        if part is not None:
            part.native.Free()
        raise


@dataclass(slots=True)
class _Part:
    """What one process has of a window: one of native MPI that it has alone, and its memory.

    The memory lives as long as somebody has a view of it. Where a window is broken, what others
    have put may come in when it is freed already.
    """

    native: MPI.Win
    memory: memoryview | None
    shared: SharedMemory | None = None


def _part_of(own: Any, name: str, given: dict[str, Any]) -> _Part:
    """Return what this process has of a window that a call is to make."""
    if name == "Create_dynamic":
        with errors_raised():
            return _Part(MPI.Win.Create_dynamic(**given, comm=MPI.COMM_SELF), None)
    if name == "Create":
        with errors_raised():
            native = MPI.Win.Create(**given, comm=MPI.COMM_SELF)
        has_some = len(native.tomemory()) > 0  # there may be none, or BOTTOM
        memory: Any = given["memory"] if has_some else bytearray()
        bytes_of_it: Any = MPI.buffer.frombuffer(memory, readonly=False)
        return _Part(native, memoryview(bytes_of_it))
    size, shared = given.pop("size", None), None
    if name == "Allocate_shared":
        shared = share(own, _agreed_size(own, size))
        memory = shared.part(own.rank)
    else:
        memory = _allocated(as_count(size))
    with errors_raised():
        return _Part(MPI.Win.Create(memory, **given, comm=MPI.COMM_SELF), memory, shared)


def _agreed_size(own: Any, size: Any) -> int:
    """Return the size that this process asks for, once all have given one.

    Who raised for its own alone would leave the others waiting for its part of the memory.
    """
    problem: Exception | None = None
    found = 0
    try:
        found = as_count(size)
    except Exception as error:
        problem = error
    _agree(own, problem)
    return found


def _allocated(size: int) -> memoryview:
    """Return memory of zeros. Raises WrongArgument."""
    if size < 0:
        raise WrongArgument(Wrong.SIZE, f"memory of {size} bytes was asked for")
    try:
        whole = mmap(-1, max(size, 1), flags=MAP_PRIVATE | MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        text = f"there are no {size} bytes of memory: {error}"
        raise WrongArgument(Wrong.MEMORY, text) from None
    return memoryview(whole)[:size]


def _agree(own: Any, problem: Exception | None) -> None:
    """Raise the problem of this process, or tell of that of another one: nobody waits for it."""
    mine = None if problem is None else (_kind_of(problem), _text_of(problem))
    try:
        told = own.allgather(mine)
    except MPI.Exception:
        if problem is None:
            raise
        told = []
    if problem is not None:
        raise problem
    for rank, one in enumerate(told):
        if one is not None:
            error = MPI.Exception(getattr(MPI, one[0]))
            error.add_note(f"rank {rank} could not make its part of the window: {one[1]}")
            raise error


def _kind_of(problem: Exception) -> str:
    """Return the name of MPI's class of an error: its number is another one in other MPIs."""
    number = problem.Get_error_class() if isinstance(problem, MPI.Exception) else MPI.ERR_OTHER
    names = (one for one in dir(MPI) if one.startswith("ERR_"))
    return next((one for one in names if getattr(MPI, one) == number), "ERR_OTHER")


def _text_of(problem: Exception) -> str:
    notes: list[str] = getattr(problem, "__notes__", [])
    return "; ".join((f"{type(problem).__name__}: {problem}", *notes))


@cache
def give_methods() -> None:
    """Give the class of windows its methods for windows over several clusters, once."""
    two_ways.give_methods(Win, _InTheirWay, _either)


def _either(name: str, is_told: bool) -> Callable[..., Any]:
    """Return the method that is native MPI's for a window of one cluster."""
    native, ours = getattr(MPI.Win, name), getattr(GridWindow, name)

    def call(self: Win, *args: Any, **kwargs: Any) -> Any:
        grid = self._grid
        if grid is None:
            return native(self, *args, **kwargs)
        _check_lives(grid)
        if is_told:
            write_down(f"Win.{name}", grid.comm)  # no name of a request's call
        try:
            return ours(grid, *args, **kwargs)
        except (WrongArgument, WrongEpoch, MPI.Exception, GridMPIError) as fault:
            _fail(self, name, fault)

    return named_like(native, call)


def _check_lives(grid: GridWindow) -> None:
    """Refuse a window that was freed: nobody may call the error handler of its handle."""
    if grid.is_freed:
        error = MPI.Exception(MPI.ERR_WIN)
        error.add_note("the window was freed already, by another handle of it")
        raise error


def _fail(win: Win, name: str, fault: Exception) -> None:
    """Call the error handler of a window; raises, unless that returns."""
    if isinstance(fault, WrongArgument | WrongEpoch):
        fault = error_of(name, fault)
    tell(win, fault)


def error_of(name: str, fault: WrongArgument | WrongEpoch) -> MPI.Exception:
    """Return MPI's error for what is wrong in a call."""
    kind = fault.wrong if isinstance(fault, WrongArgument) else Wrong.EPOCH
    error = MPI.Exception(getattr(MPI, kind))
    error.add_note(f"Win.{name}: {fault}")
    error.__suppress_context__ = True  # it says the same
    return error


def free(win: Win, fail: Callable[[Win, str, Exception], None] = _fail) -> None:
    """Free a window over several clusters; `fail` is told what keeps it from that."""
    grid = win._grid
    assert grid is not None, "it has members in several clusters"
    _check_lives(grid)
    write_down("Win.Free", grid.comm)
    try:
        if not grid.is_broken:  # else calls that have failed may have left an epoch open
            grid.epochs.check_free()
    except WrongEpoch as fault:
        fail(win, "Free", fault)
        return
    handle = native_handle(win)
    try:
        grid.Free()
    except (MPI.Exception, GridMPIError) as fault:
        fail(win, "Free", fault)
    finally:
        MPI.Win.Free(win)
        _windows.pop(handle, None)
        win._grid = None
        grid.is_freed = True
        for copy in grid.faces.values():
            _make_null(copy)


def _make_null(win: MPI.Win) -> None:
    """Take the handle of a window away: with that of a freed one MPI finds memory of others."""
    ctypes.memmove(MPI._addressof(win), MPI._addressof(MPI.WIN_NULL), MPI._sizeof(MPI.Win))


def _check_handle(win: Win) -> None:
    if win._grid is not None:
        _refuse_handle()


def _refuse_handle() -> NoReturn:
    raise NotOnTheGrid(
        "The window has members in several clusters: there is no handle of it, and native code"
        " that was given one would see this process alone",
        cure="Access it in Python, or make a window of MPI.COMM_CLUSTER for native code",
    )


def _with_face(callback: Any) -> Any:
    """Return a function that gets the window of the program for one that MPI knows."""
    if not callable(callback):
        return callback

    @wraps(callback)
    def with_face(win: MPI.Win, *args: Any) -> Any:
        known = _windows.get(win.handle) if win else None
        return callback(Win(win) if known is None else known, *args)

    return with_face


class _InTheirWay(Win):
    """Methods of all windows that are no calls of `GridWindow`."""

    def Get_attr(self, keyval: int) -> Any:
        """Return an attribute."""
        grid = self._grid
        if keyval == MPI.WIN_CREATE_FLAVOR and grid is not None:
            return grid.flavor
        return MPI.Win.Get_attr(self, keyval)

    @property
    def flavor(self) -> int:  # type: ignore[override]  # as in mpi4py, which sets none
        """The way in which the window was made."""
        found: Any = self.Get_attr(MPI.WIN_CREATE_FLAVOR)
        return int(found)

    @property
    def handle(self) -> int:  # type: ignore[override]  # as above
        """MPI handle."""
        _check_handle(self)
        return native_handle(self)

    def toint(self) -> int:
        """Return the handle as a number."""
        _check_handle(self)
        return MPI.Win.toint(self)

    def py2f(self) -> int:
        """Return the handle of Fortran."""
        _check_handle(self)
        return MPI.Win.py2f(self)

    @classmethod
    def Create_keyval(
        cls, copy_fn: Any = None, delete_fn: Any = None, nopython: bool = False
    ) -> int:
        """Return a new attribute key."""
        return MPI.Win.Create_keyval(_with_face(copy_fn), _with_face(delete_fn), nopython)

    @classmethod
    def Create_errhandler(cls, errhandler_fn: Any) -> MPI.Errhandler:
        """Return a new error handler."""
        return MPI.Win.Create_errhandler(_with_face(errhandler_fn))
