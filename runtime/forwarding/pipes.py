"""Pipes that bytes go through from one socket to another without leaving the system."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress

SIZE = 1 << 20
"""How many bytes a pipe holds, where the system allows that: one MiB, as it does by default."""

MOST = 32
"""How many pipes are lent at the same time: two descriptors each, of those a front-end has."""


class Pipe:
    """One pipe, which does not wait. It knows how many bytes are in it.

    Raises:
        OSError: there are too many open files.
    """

    def __init__(self, given_back: Callable[[Pipe], None]) -> None:
        self._out, self._in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):  # a smaller one does too, and each user may have only so much
            fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, SIZE)
        self._given_back = given_back
        self.held = 0

    def fill(self, source: int) -> int:
        """Take what there is room for from a socket; return how much, 0 at its end."""
        count = os.splice(source, self._in, SIZE)
        self.held += count
        return count

    def drain(self, sink: int) -> None:
        """Give to a socket what it takes of what is held."""
        self.held -= os.splice(self._out, sink, self.held)

    def give_back(self) -> None:
        """Return it to who lent it."""
        self._given_back(self)

    def close(self) -> None:
        """Let go of it, and of what is in it."""
        os.close(self._out)
        os.close(self._in)


class Pipes:
    """Lends pipes, which come back when they are empty, so that many flows need few of them.

    All methods are for one thread.
    """

    def __init__(self, most: int = MOST) -> None:
        self._idle: list[Pipe] = []
        self._unmade = most
        self._is_closed = False

    def borrow(self) -> Pipe | None:
        """Return an empty pipe, or None if all are lent or there can be no more."""
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
        """Close those that are not lent now, and the others when they come back."""
        self._unmade = 0
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def _take_back(self, pipe: Pipe) -> None:
        if not pipe.held and not self._is_closed:
            self._idle.append(pipe)
            return
        pipe.close()  # what is left in it is for nobody else
        self._unmade += not self._is_closed
