"""What ranks on this host write comes through pipes of their own in the room, past `mpiexec`.

So nothing cuts, mixes or loses their lines, and no process has to stand between them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from runtime.launchers import wire
from runtime.launchers.base import Stream
from runtime.launchers.lines import LineSplitter
from runtime.launchers.ranks import pipe_of
from runtime.transport.reactor import READ, Reactor

MOST_RANKS = 64
"""With more ranks on one host, a front-end would need more descriptors than systems allow."""

Say = Callable[[int, Stream, list[str]], None]


class RankPipes:
    """The pipes of the ranks of one job. `say` gets complete lines, on the reactor's thread."""

    def __init__(self, reactor: Reactor, room: str, ranks: int, say: Say) -> None:
        """Make them; raises OSError. They are there before any rank is."""
        self._reactor = reactor
        self._say = say
        self._pipes: list[_Pipe] = []
        self._paths: list[str] = []
        for rank in range(ranks):
            for stream in Stream:
                path = pipe_of(room, rank, stream)
                os.mkfifo(path, 0o600)
                self._paths.append(path)
                self._pipes.append(_Pipe(path, rank, stream))
        reactor.soon(self._watch)

    def finish(self, then: Callable[[], None]) -> None:
        """Say what is left once nobody writes any more, and call `then`; returns at once."""
        self._reactor.soon(lambda: self._finish(then))

    def _watch(self) -> None:
        for pipe in self._pipes:
            self._reactor.watch(pipe.descriptor, READ, partial(self._ready, pipe))

    def _ready(self, pipe: _Pipe, _events: int) -> None:
        self._hear(pipe)

    def _hear(self, pipe: _Pipe) -> int:
        """Read and say; return how many bytes there were."""
        try:
            data = os.read(pipe.descriptor, wire.CHUNK)
        except BlockingIOError:
            return 0
        self._pass_on(pipe, pipe.lines.feed(data))
        return len(data)

    def _finish(self, then: Callable[[], None]) -> None:
        pipes, self._pipes = self._pipes, []
        for pipe in pipes:
            while self._hear(pipe):
                pass
            self._pass_on(pipe, pipe.lines.finish())
            self._reactor.watch(pipe.descriptor, 0, lambda _: None)
            os.close(pipe.descriptor)
        for path in self._paths:
            with suppress(OSError):
                os.unlink(path)
        then()

    def _pass_on(self, pipe: _Pipe, lines: list[str]) -> None:
        if lines:
            self._say(pipe.rank, pipe.stream, lines)


class _Pipe:
    """One stream of one rank."""

    __slots__ = ("descriptor", "lines", "rank", "stream")

    def __init__(self, path: str, rank: int, stream: Stream) -> None:
        # Open for writing too, so that it is not at its end before a rank has come.
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.rank = rank
        self.stream = stream
        self.lines = LineSplitter()
