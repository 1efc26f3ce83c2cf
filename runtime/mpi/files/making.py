"""Opens files over several clusters, and gives their class the methods of such files."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn

from mpi4py import MPI

from runtime.files.faults import FileFault
from runtime.files.modes import OpenMode, check_mode
from runtime.mpi.errors import GridMPIError, NotOnTheGrid, tell
from runtime.mpi.files.access import as_mpi_error
from runtime.mpi.files.agreeing import agree
from runtime.mpi.files.face import File, native_handle
from runtime.mpi.files.file import GridFile
from runtime.mpi.process.options import handle_as_asked
from runtime.mpi.process.place import here
from runtime.mpi.progress.latest_calls import write_down
from runtime.mpi.values import two_ways
from runtime.mpi.values.faults import WrongArgument, check_kind
from runtime.mpi.values.handles import named_like
from runtime.mpi.values.numbers import integer

_HOME = "home"
"""The user's own machine, by its name in paths and hints."""


def make(cls: type[File], comm: Any, filename: Any, amode: Any, info: Any) -> File:
    """Open a file for a communicator over several clusters; its errors are those of FILE_NULL."""
    try:
        made = opened(cls, comm, filename, amode, info)
    except MPI.Exception as error:
        tell(MPI.FILE_NULL, error)
        raise
    return handle_as_asked(made, MPI.ERRORS_RETURN)


def opened(cls: type[File], comm: Any, filename: Any, amode: Any, info: Any) -> File:
    """Return a file for a communicator over several clusters. Raises MPI.Exception."""
    if here().has_replicas:
        raise NotOnTheGrid(
            "File.Open is not possible where ranks have replicas",
            cause="each replica of a rank would write to the file",
            cure="Use messages and collectives there, and write at a rank of one cluster",
        )
    check_kind(comm, MPI.Intracomm, "comm")
    give_methods()
    write_down("File.Open", comm)
    own = comm.Dup()
    try:
        with _failing_with(comm, own):
            grid = _opened(own, comm, filename, amode, info)
    except FileFault as fault:
        error = as_mpi_error(fault)
        error.__suppress_context__ = True  # it says the same
        raise error from None
    made = MPI.File.__new__(cls, grid.native)
    made._grid = grid
    grid.faces[id(made)] = made
    return made


@contextmanager
def _failing_with(comm: Any, own: Any) -> Iterator[None]:
    """Let what waits in the duplicate of a new file fail with its communicator, until its `Close`.

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


def _opened(own: Any, comm: Any, filename: Any, amode: Any, info: Any) -> GridFile:
    """Return the file that all ranks open. Raises FileFault, and what keeps any rank from it."""
    problem: Exception | None = None
    asked: tuple[int, str, int] = (0, "", 0)
    native: MPI.File | None = None
    hints: dict[str, str] = {}
    try:
        check_kind(info, MPI.Info, "info")
        hints = dict(info.items()) if info != MPI.INFO_NULL else {}
        home, path = _home_of(own, os.fsdecode(os.fspath(filename)), hints.get("gcm_home", ""))
        mode = _mode_of(integer(amode))
        check_mode(mode)
        MPI.FILE_NULL.Get_errhandler()  # MPICH counts no use by a file, and frees it with that
        native = MPI.File.Open(MPI.COMM_SELF, os.devnull, MPI.MODE_RDWR)  # for a handle
        asked = home, path, mode.value
    except Exception as error:
        problem = error
    try:
        told = agree(own, problem, (asked[0], asked[2]))
        if len({mode for _, mode in told}) > 1:
            raise FileFault("ERR_NOT_SAME", "the ranks open the file with different modes")
        if len({home for home, _ in told}) > 1:
            raise FileFault("ERR_NOT_SAME", "the ranks name different homes of the file")
        assert native is not None, "there is no problem"
        home, path, number = asked
        hints["gcm_home"] = _place_of(own, home)
        grid = GridFile(
            own, comm._members, native,
            home=home, path=path, mode=OpenMode(number), amode=integer(amode), info=hints,
        )  # fmt: skip
        _open_at_home(grid, own, home)
    except BaseException:
        if native is not None:
            native.Close()
        raise
    return grid


def _open_at_home(grid: GridFile, own: Any, home: int) -> None:
    """Let the home open a file, and all of them serve it. Raises FileFault."""
    fault: FileFault | None = None
    try:
        if home == own.rank:
            grid.open_here()
    except Exception as found:  # the others wait for this process
        is_name = isinstance(found, ValueError)  # such as one with a null byte
        name = "ERR_BAD_FILE" if is_name else getattr(found, "name", None) or "ERR_IO"
        text = f"{grid.path} at {grid.home_in_words}, the home of the file: {found}"
        fault = FileFault(name, text)
    try:
        grid.serve()
        wrong = None if fault is None else (fault.name, str(fault))
        wrong, grid.path = own.bcast((wrong, grid.path), home)
        if wrong is not None:
            raise FileFault(*wrong)
        if grid.appends:
            grid.begin_at_end()
    except BaseException:
        grid.abandon()
        raise


def _home_of(own: Any, given: str, hint: str) -> tuple[int, str]:
    """Return the rank that is to have a file, and its path there. Raises FileFault."""
    prefix, has_prefix, path = given.partition(":")
    clusters = _clusters()
    if has_prefix and (prefix in clusters or prefix == _HOME):
        named = prefix
    else:
        named, path = hint, given
    if named in (_HOME, "each"):
        raise FileFault(
            "ERR_UNSUPPORTED_OPERATION",
            f"a file cannot have the home {named} yet: name a cluster, or none for that of rank 0,"
            " and let the descriptor bring the file there or back",
        )
    ranks = [_place_of(own, rank) for rank in range(own.size)]
    if not named:
        named = ranks[0]
    if named not in clusters:
        text = f"there is no cluster {named}, but {', '.join(clusters)}"
        raise FileFault("ERR_ARG", text)
    if named not in ranks:
        raise FileFault("ERR_ARG", f"the communicator has no rank in {named}, to be the home")
    return ranks.index(named), path


def _clusters() -> list[str]:
    grid = here().grid
    return [f"{grid.sites[site].name}/{one.name}" for site, _, one in grid.clusters()]


def _place_of(own: Any, rank: int) -> str:
    """Return the name of the cluster of a rank, such as `south/cedar`."""
    place = here()
    one = place.everybody[own._members.peers[rank]]
    site = place.grid.sites[one.site]
    return f"{site.name}/{site.clusters[one.number].name}"


def _mode_of(amode: int) -> OpenMode:
    """Return the modes that a number of MPI stands for. Raises FileFault."""
    found, left = OpenMode(0), amode
    for one in OpenMode:
        number: int = getattr(MPI, f"MODE_{one.name}")
        if amode & number:
            found |= one
            left &= ~number
    if left:
        raise FileFault("ERR_AMODE", f"{left} in {amode} is no mode of files")
    return found


@cache
def give_methods() -> None:
    """Give the class of files its methods for files over several clusters, once."""
    two_ways.give_methods(File, _InTheirWay, _either)


def _either(name: str, is_told: bool) -> Callable[..., Any]:
    """Return the method that is native MPI's for a file of one cluster."""
    native, ours = getattr(MPI.File, name), getattr(GridFile, name)

    def call(self: File, *args: Any, **kwargs: Any) -> Any:
        grid = self._grid
        if grid is None:
            return native(self, *args, **kwargs)
        if is_told:
            write_down(f"File.{name}", grid.comm)
        try:
            return ours(grid, *args, **kwargs)
        except (FileFault, WrongArgument, MPI.Exception, GridMPIError) as fault:
            _fail(self, name, fault)

    return named_like(native, call)


def _fail(file: File, name: str, fault: Exception) -> None:
    """Call the error handler of a file; raises, unless that returns."""
    tell(file, error_of(name, fault) if isinstance(fault, FileFault | WrongArgument) else fault)


def error_of(name: str, fault: FileFault | WrongArgument) -> MPI.Exception:
    """Return MPI's error for what is wrong in a call."""
    kind = fault.name if isinstance(fault, FileFault) else fault.wrong
    error = as_mpi_error(FileFault(kind, f"File.{name}: {fault}"))
    error.__suppress_context__ = True  # it says the same
    return error


def close(file: File, fail: Callable[[File, str, Exception], None] = _fail) -> None:
    """Close a file over several clusters; `fail` is told what has failed."""
    grid = file._grid
    assert grid is not None, "it has members in several clusters"
    write_down("File.Close", grid.comm)
    try:
        grid.Close()
    except (FileFault, MPI.Exception, GridMPIError) as fault:
        fail(file, "Close", fault)
    finally:
        MPI.File.Close(file)
        for copy in grid.faces.values():
            # with the handle of a closed one MPI finds memory of others
            ctypes.memmove(MPI._addressof(copy), MPI._addressof(file), MPI._sizeof(MPI.File))
            copy._grid = None  # type: ignore[attr-defined]  # it is a File


def _refuse_handle(file: File) -> None:
    if file._grid is not None:
        _refuse()


def _refuse() -> NoReturn:
    raise NotOnTheGrid(
        "The file was opened by several clusters: there is no handle of it, and native code that"
        " was given one would see this process alone",
        cure="Access it in Python, or open one with MPI.COMM_CLUSTER for native code",
    )


class _InTheirWay(File):
    """Methods of all files that are no calls of `GridFile`."""

    @property
    def handle(self) -> int:  # type: ignore[override]  # as in mpi4py, which sets none
        """MPI handle."""
        _refuse_handle(self)
        return int(native_handle(self))

    def toint(self) -> int:
        """Return the handle as a number."""
        _refuse_handle(self)
        return MPI.File.toint(self)

    def py2f(self) -> int:
        """Return the handle of Fortran."""
        _refuse_handle(self)
        return MPI.File.py2f(self)
