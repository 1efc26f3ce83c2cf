"""Pipes of ranks on this host, past `mpiexec`: their output, their standard input, their ends.

So nothing cuts, mixes or loses their lines, and no process has to stand between them; MPICH's
`mpiexec` ends the whole job when a rank does not read as fast as input comes.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from functools import partial

from runtime.launchers.base import OutputStream
from runtime.launchers.lines import BlockCutter
from runtime.launchers.ranks import ENDS, pipe_of
from runtime.processes.front_end.output_credit import OutputCredit
from runtime.transport.reactor import READ, WRITE, Reactor

MOST_RANKS = 64
"""With more ranks on one host, a front-end would need more descriptors than systems allow."""

AT_ONCE = 1 << 18
"""Bytes that are read at once, that a rank gets at a time, and that a pipe holds if it may."""

PLENTY = AT_ONCE // 4
PACE = 0.005
"""Seconds before a pipe that had little is read again: many small writes make few messages."""

PROMPT = 0.1
"""Seconds after which a line without its end is taken for a prompt, where somebody types."""

Block = tuple[int, OutputStream, bytes]
Say = Callable[[list[Block]], None]


class RankPipes:
    """The pipes of the ranks of one job. `say` gets whole lines, on the reactor's thread.

    They are not read while there is no credit for output: then the ranks wait.
    """

    def __init__(
        self, reactor: Reactor, folder: str, ranks: int, say: Say, credit: OutputCredit
    ) -> None:
        """Make them; raises OSError. They are there before any rank is."""
        self._reactor = reactor
        self._say = say
        self._credit = credit
        self._pipes: list[_Pipe] = []
        self._heard: list[tuple[_Pipe, int]] = []
        self._blocks: list[Block] = []
        self._prompts: set[int] = set()
        self._paths: list[str] = []
        for rank in range(ranks):
            for stream in OutputStream:
                path = pipe_of(folder, rank, stream)
                os.mkfifo(path, 0o600)
                self._paths.append(path)
                self._pipes.append(_Pipe(path, rank, stream))
        reactor.soon(lambda: self._watch(self._pipes))

    def read_now(self) -> None:
        """Say what has been written until now; on the reactor's thread."""
        for pipe in self._pipes:
            self._read(pipe)
            self._keep(pipe, pipe.cutter.finish())
        self._flush_all()

    def read_errors(self, ranks: Container[int]) -> None:
        """Say the whole lines that ranks have on stderr until now; on the reactor's thread."""
        for pipe in self._pipes:
            if pipe.stream == OutputStream.ERROR and pipe.rank in ranks:
                self._read(pipe)
        self._flush_all()

    def finish(self) -> None:
        """Say what is left, and remove the pipes, once nobody writes any more; on the reactor's."""
        pipes, self._pipes = self._pipes, []
        for pipe in pipes:
            while self._read(pipe):
                pass
            self._keep(pipe, pipe.cutter.finish())
            self._flush_all()
            self._forget(pipe)
            os.close(pipe.descriptor)
        for path in self._paths:
            with suppress(OSError):
                os.unlink(path)

    def show_prompts(self) -> None:
        """Say what rank 0 writes also without a newline, if it stays without; on the reactor's."""
        self._prompts = {pipe.descriptor for pipe in self._pipes if pipe.rank == 0}
        for pipe in self._pipes:
            self._await_prompt(pipe)

    def _await_prompt(self, pipe: _Pipe) -> None:
        if pipe.descriptor in self._prompts and pipe.cutter.has_begun:
            self._reactor.later(PROMPT, partial(self._flush_prompt, pipe, pipe.heard))

    def _flush_prompt(self, pipe: _Pipe, heard: int) -> None:
        if pipe in self._pipes and pipe.heard == heard:
            self._keep(pipe, pipe.cutter.finish())
            self._flush_all()

    def _watch(self, pipes: Iterable[_Pipe]) -> None:
        for pipe in pipes:
            if pipe in self._pipes:  # else it has come to its end meanwhile
                self._reactor.watch(pipe.descriptor, READ, partial(self._ready, pipe))

    def _ready(self, pipe: _Pipe, _events: int) -> None:
        """Read it, and then let it be for a while."""
        self._forget(pipe)
        if not self._credit.is_there:
            self._credit.when_there(lambda: self._watch([pipe]))
            return
        count = self._read(pipe)
        self._heard.append((pipe, count))
        if len(self._heard) == 1:  # others may be ready as well
            self._reactor.soon(self._pass_on)

    def _pass_on(self) -> None:
        heard, self._heard = self._heard, []
        self._flush_all()
        self._watch(pipe for pipe, count in heard if count >= PLENTY)
        slow = [pipe for pipe, count in heard if count < PLENTY]
        self._reactor.later(PACE, lambda: self._watch(slow))

    def _flush_all(self) -> None:
        blocks, self._blocks = self._blocks, []
        if blocks:
            self._say(blocks)

    def _read(self, pipe: _Pipe) -> int:
        """Read, and keep what is to be said; return how many bytes there were."""
        try:
            data = os.read(pipe.descriptor, AT_ONCE)
        except BlockingIOError:
            return 0
        pipe.heard += len(data)
        self._keep(pipe, pipe.cutter.feed(data))
        self._await_prompt(pipe)
        return len(data)

    def _forget(self, pipe: _Pipe) -> None:
        self._reactor.watch(pipe.descriptor, 0, lambda _: None)

    def _keep(self, pipe: _Pipe, block: bytes) -> None:
        if block:
            self._blocks.append((pipe.rank, pipe.stream, block))


class _Pipe:
    """One stream of one rank."""

    __slots__ = ("cutter", "descriptor", "heard", "rank", "stream")

    def __init__(self, path: str, rank: int, stream: OutputStream) -> None:
        # Open for writing too, so that it is not at its end before a rank has come.
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        with suppress(OSError):  # it may hold less, then
            fcntl.fcntl(self.descriptor, fcntl.F_SETPIPE_SZ, AT_ONCE)
        self.rank = rank
        self.stream = stream
        self.cutter = BlockCutter()
        self.heard = 0


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


Saw = Callable[[int, int, float, int], None]

_CHUNK = 4096


class EndPipe:
    """The pipe of one job. `saw` gets rank, wait status, time and incarnation, as they end."""

    def __init__(self, reactor: Reactor, directory: str, saw: Saw) -> None:
        """Make it; raises OSError. It is there before any rank is."""
        self._reactor = reactor
        self._saw = saw
        self._path = os.path.join(directory, ENDS)
        os.mkfifo(self._path, 0o600)
        # Open for writing too, so that it is not at its end before anybody has come.
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
        self._rest = b""
        reactor.soon(self._watch)

    def read(self) -> None:
        """Pass on what has been told until now; on the reactor's thread."""
        while self._is_open():
            try:
                data = os.read(self._descriptor, _CHUNK)
            except BlockingIOError:
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                with suppress(ValueError):  # the writer was no parent of a rank
                    rank, status, at, incarnation = line.split()
                    self._saw(int(rank), int(status), float(at), int(incarnation))

    def close(self) -> None:
        """Listen no more, and remove it; twice is once. On the reactor's thread."""
        if self._is_open():
            self._reactor.watch(self._descriptor, 0, lambda _: None)
            os.close(self._descriptor)
            self._descriptor = -1
            with suppress(OSError):
                os.unlink(self._path)

    def _watch(self) -> None:
        if self._is_open():
            self._reactor.watch(self._descriptor, READ, self._ready)

    def _is_open(self) -> bool:
        return self._descriptor >= 0

    def _ready(self, _events: int) -> None:
        self.read()
