"""Becoming a rank in a copy of a process that has loaded what it needs."""

from __future__ import annotations

import _socket
import _weakref  # not `weakref`: an unforked rank does not have it either
import atexit
import ctypes
import fcntl
import gc
import marshal
import os
import signal
import sys
import threading
from _io import _IOBase  # also of files that are made in C
from contextlib import suppress

from runtime.launchers.ranks import rank_of
from runtime.mpi.process import native
from runtime.processes.rank.options import RankOptions
from runtime.processes.rank.proxy import HERE, MOST_DESCRIPTORS, NOT_HERE, STAYS, WORD

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet
    from typing import NoReturn

_READ_AT_START = (b"LD_", b"LANG", b"LC_", b"MALLOC_", b"GLIBC_", b"MPI4PY_", b"PYTHON", b"TZ")
"""How the names of settings begin that count when a program or a library is loaded."""


class ProxyRequest:
    """What a proxy wants to be: its words, and what `mpiexec` gave it."""

    __slots__ = ("cwd", "descriptors", "environment", "processors", "words")

    def __init__(self, data: bytes) -> None:
        """Read it."""
        self.words: list[str]
        self.environment: Mapping[bytes, bytes]
        self.cwd: bytes
        self.processors: list[int]
        self.descriptors: list[int]
        (
            self.words,
            self.environment,
            self.cwd,
            self.processors,
            self.descriptors,
        ) = marshal.loads(data)

    def fits(self, environment: Mapping[bytes, bytes], cwd: bytes) -> bool:
        """Tell whether a process that began with these has loaded what this one would load."""
        path = self.environment.get(b"PYTHONPATH", b"")
        if cwd != self.cwd and not all(one.startswith(b"/") for one in path.split(b":") if path):
            return False
        return _that_count(self.environment) == _that_count(environment)


def become(connection: _socket.socket, begins: int) -> ProxyRequest:
    """Take what a proxy hands over; return what it wants, or end this process if it cannot be.

    Its rank, and the private folder of its run, go into the pipe `begins` once it can.
    """
    request, descriptors = _received(connection)
    if not request.fits(os.environb, os.getcwdb()):
        connection.send(NOT_HERE)
        os._exit(0)
    os.setsid()
    options = RankOptions(request.words)
    rank = rank_of(b"=".join(one) for one in request.environment.items())
    os.write(begins, f"{rank} {options.run_directory}".encode())
    os.close(begins)
    connection.send((STAYS if options.stays else HERE) + os.getpid().to_bytes(WORD, sys.byteorder))
    connection.close()
    _place(descriptors, request.descriptors)
    os.environb.clear()
    os.environb.update(request.environment)
    os.chdir(request.cwd)
    os.sched_setaffinity(0, request.processors)
    return request


def end(code: int, shared: AbstractSet[str]) -> NoReturn:
    """End this process as Python does, but leave the modules alone that all ranks share.

    To take those apart would copy their memory first. What the program has made is given up, so
    that its files are written and its objects finalised; then MPI is, as mpi4py would do it.
    """
    if threading.active_count() > 1:  # only Python can hold the threads that a program leaves
        sys.exit(code)
    atexit._run_exitfuncs()  # what the last threads have left there
    for number in range(1, signal.NSIG):
        if callable(signal.getsignal(number)):  # all of the program is behind such a function
            signal.signal(number, signal.SIG_DFL)
    _flush_files()
    own = [sys.modules.pop(name) for name in (*sys.modules,) if _is_of_program(name, shared)]
    modules = [_weakref.ref(one) for one in reversed(own) if isinstance(one, type(sys))]
    own.clear()
    gc.collect()  # of a module and its functions each refers to the other
    for one in modules:
        if (kept := one()) is not None:
            vars(kept).clear()
    gc.collect()
    _flush_files()  # objects may have written at their end
    native.finalise()
    ctypes.PyDLL(None).exit(code)  # libraries in C have something to do at the end, too
    os._exit(code)


def _flush_files() -> None:
    """Write what is left in files of the program: the collector may close them before."""
    found = gc.get_objects()
    kinds = {id(kind): kind for kind in map(type, found)}  # some classes cannot be hashed
    files = {number for number, kind in kinds.items() if issubclass(kind, _IOBase)}
    for one in (*(one for one in found if id(type(one)) in files), sys.stdout, sys.stderr):
        with suppress(Exception):  # closed, or nobody reads it any more
            one.flush()


def _is_of_program(module: str, shared: AbstractSet[str]) -> bool:
    package = module.partition(".")[0]
    is_known = package in ("gcm", "runtime") or package in sys.stdlib_module_names
    return module == "__main__" or not (module in shared or is_known)


def _received(connection: _socket.socket) -> tuple[ProxyRequest, list[int]]:
    """Return what a proxy says, and its descriptors as they came."""
    space = _socket.CMSG_SPACE(MOST_DESCRIPTORS * WORD)
    data, ancillary, _, _ = connection.recvmsg(WORD, space)
    copies = b"".join(one for level, kind, one in ancillary)
    numbers = [
        int.from_bytes(copies[at : at + WORD], sys.byteorder) for at in range(0, len(copies), WORD)
    ]
    length = int.from_bytes(data, sys.byteorder)
    asked = b""
    while len(asked) < length:
        more = connection.recv(length - len(asked))
        if not more:
            os._exit(1)  # it was ended meanwhile
        asked += more
    return ProxyRequest(asked), numbers


def _place(came: list[int], wanted: list[int]) -> None:
    """Give descriptors the numbers they had; everything else is closed."""
    above = max([2, *wanted, *came]) + 1
    moved = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, above) for one in came]
    os.closerange(3, above)
    for one, number in zip(moved, wanted, strict=True):
        os.dup2(one, number)
        os.close(one)


def _that_count(environment: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    return {name: one for name, one in environment.items() if name.startswith(_READ_AT_START)}
