"""Kernel pipes that move bytes between sockets without copying them to this process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress

SIZE = 1 << 20
"""The capacity of a pipe where the system allows it: 1 MiB, the default limit."""

MOST = 32
"""How many pipes exist at the same time: two of the front-end's descriptors each."""


class Pipe:
    """A non-blocking pipe that knows how many bytes are in it.

    Raises:
        OSError: there are too many open files.
    """

    def __init__(self, given_back: Callable[[Pipe], None]) -> None:
        self._out, self._in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):  # a smaller one will do; the total per user is limited
            fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, SIZE)
        self._given_back = given_back
        self.held = 0

    def fill(self, source: int) -> int:
        """Move what fits from a socket into the pipe; return how much, 0 at the end of input."""
        count = os.splice(source, self._in, SIZE)
        self.held += count
        return count

    def drain(self, sink: int) -> None:
        """Move to a socket what it takes of the content."""
        self.held -= os.splice(self._out, sink, self.held)

    def give_back(self) -> None:
        """Return the pipe to its lender."""
        self._given_back(self)

    def close(self) -> None:
        """Close the pipe and drop its content."""
        os.close(self._out)
        os.close(self._in)


class Pipes:
    """A pool of pipes, which are returned when empty, so that many flows need few of them.

    Not thread-safe.
    """

    def __init__(self, most: int = MOST) -> None:
        self._idle: list[Pipe] = []
        self._unmade = most
        self._is_closed = False

    def borrow(self) -> Pipe | None:
        """Return an empty pipe, or None if all are lent or no more can be made."""
        if self._idle:
            return self._idle.pop()
        if not self._unmade:
            return None
        try:
            made = Pipe(self._take_back)
        except OSError:
            return None
        self._unmade -= 1
        return made

    def close(self) -> None:
        """Close the pipes that are not lent now, and the others when they are returned."""
        self._unmade = 0
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def _take_back(self, pipe: Pipe) -> None:
        if not pipe.held and not self._is_closed:
            self._idle.append(pipe)
            return
        pipe.close()  # what is left in it must not reach another flow
        self._unmade += not self._is_closed
