"""What the first rank of all reads comes through a pipe in the room, past `mpiexec`, when it reads.

MPICH's `mpiexec` ends the whole job when a rank does not read as fast as input comes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from runtime.launchers.ranks import pipe_of
from runtime.transport.reactor import WRITE, Reactor

FIRST_CLUSTER = "0:0"
"""The cluster whose rank 0 reads the standard input of the run."""

AT_ONCE = 1 << 18
"""How many bytes are asked for when there is nothing left for the rank."""


class RankInput:
    """The pipe of rank 0 of a job. `ask` asks for so many bytes, which `put` brings, b"" the end.

    All but the constructor is for the reactor's thread.
    """

    def __init__(self, reactor: Reactor, folder: str, ask: Callable[[int], None]) -> None:
        """Make it; raises OSError."""
        self._reactor = reactor
        self._ask = ask
        self._path = pipe_of(folder, 0, "stdin")
        os.mkfifo(self._path, 0o600)
        # Open for reading too: a rank that reads no more is no error, its end is told elsewhere.
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
        self._pending = memoryview(b"")
        self._has_begun = False
        self._is_open = True

    def begin(self) -> None:
        """Let the rank read, now that its program runs; twice is once."""
        if not self._has_begun:
            self._has_begun = True
            self._ask(AT_ONCE)

    def put(self, data: bytes) -> None:
        """Pass on what came, and ask for more once the rank, or its pipe, has taken it."""
        if not self._is_open:
            return
        if not data:
            self.close()
            return
        self._pending = memoryview(data)
        self._write()

    def close(self) -> None:
        """Let the rank find the end; twice is once."""
        if self._is_open:
            self._is_open = False
            self._reactor.watch(self._descriptor, 0, self._writable)
            os.close(self._descriptor)
            with suppress(OSError):
                os.unlink(self._path)

    def _writable(self, _events: int) -> None:
        self._write()

    def _write(self) -> None:
        try:
            while self._pending:
                self._pending = self._pending[os.write(self._descriptor, self._pending) :]
        except BlockingIOError:
            self._reactor.watch(self._descriptor, WRITE, self._writable)
            return
        self._reactor.watch(self._descriptor, 0, self._writable)
        self._ask(AT_ONCE)
