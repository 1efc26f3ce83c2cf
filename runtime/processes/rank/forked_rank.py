"""Becoming a rank in a copy of a process that has loaded what it needs."""

from __future__ import annotations

import _socket
import atexit
import fcntl
import marshal
import os
import sys

from runtime.launchers.guard import MARK
from runtime.launchers.ranks import rank_of
from runtime.processes.rank.options import RankOptions
from runtime.processes.rank.proxy import HERE, MOST_DESCRIPTORS, NOT_HERE, STAYS, WORD

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping

_READ_AT_START = (b"LD_", b"LANG", b"LC_", b"MALLOC_", b"GLIBC_", b"MPI4PY_", b"PYTHON", b"TZ")
"""How the names of settings begin that count when a program or a library is loaded."""


_OURS = ("runtime.", "gcm.")


class ProxyRequest:
    """What a rank is to be: its words, and what its process manager or `mpiexec` gives it."""

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

    Its rank, what marks all of its job, and the private folder of its run go into the pipe `begins`
    once it can.
    """
    request, descriptors = _received(connection)
    if not request.fits(os.environb, _folder()):
        connection.send(NOT_HERE)
        os._exit(0)
    os.setsid()
    options = RankOptions(request.words)
    rank = rank_of(b"=".join(one) for one in request.environment.items())
    mark = os.fsdecode(request.environment.get(MARK.encode(), b"-"))
    os.write(begins, f"{rank} {mark} {options.run_directory}".encode())
    os.close(begins)
    connection.send((STAYS if options.stays else HERE) + os.getpid().to_bytes(WORD, sys.byteorder))
    connection.close()
    _place(descriptors, request.descriptors)
    os.environb.clear()
    os.environb.update(request.environment)
    os.chdir(request.cwd)
    os.sched_setaffinity(0, request.processors)
    return request


class OwnModules:
    """Our modules that a process has loaded before it is copied: the copies leave them as they are.

    To take a module apart, as Python does at its end, is to write to the memory that all ranks
    share, and so to copy that first. Those of the program and of Python are taken apart as ever.
    """

    def __init__(self) -> None:
        """Take note of what is loaded; to be made before `gc.freeze`, so that it is never freed."""
        self._loaded = [one for one in sys.modules.items() if one[0].startswith(_OURS)]
        self._itself = self

    def outlive_python(self) -> None:
        """Leave them as they are at the end of this process: the last thing that it does."""
        atexit.register(self._hide)

    def _hide(self) -> None:
        for name, module in self._loaded:
            if sys.modules.get(name) is module:
                del sys.modules[name]


def _folder() -> bytes:
    """Return where this process is, b"" if that folder has gone since: no rank begins there."""
    try:
        return os.getcwdb()
    except FileNotFoundError:
        return b""


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
