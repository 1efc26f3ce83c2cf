"""Bells: how a rank wakes another one of its machine for which native MPI has something.

Native MPI wakes nobody: who waits for it has to ask again and again. A rank that has sent something
natively rings where the receiver sleeps, so that nobody has to ask often. A ring says nothing else,
and may be lost; whoever relies on bells still asks from time to time.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import suppress

from runtime.wire.directory import UNIX, Directory

_SUFFIX = ".bell"


class Bells:
    """The bell of this rank, and those of others on its machine that it can ring."""

    def __init__(self, me: int, directory: Directory) -> None:
        self._places: dict[int, str] = {}
        self._socket: socket.socket | None = None
        self._own = _place(directory, me, me)
        if not self._own:
            return
        bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        bell.setblocking(False)
        try:
            with suppress(FileNotFoundError):
                os.unlink(self._own)  # of a rank that was here before
            bell.bind(self._own)
        except OSError:  # nobody can ring here, so native MPI is asked more often
            bell.close()
            return
        self._socket = bell
        found = {index: _place(directory, me, index) for index in range(len(directory))}
        self._places = {index: place for index, place in found.items() if place}

    def fileno(self) -> int:
        """Return what can be read once somebody has rung, or -1."""
        return -1 if self._socket is None else self._socket.fileno()

    def reach(self, indexes: Iterable[int]) -> bool:
        """Tell whether all of these can ring each other, and this rank."""
        return all(index in self._places for index in indexes)

    def ring(self, index: int) -> None:
        """Wake a rank, if that can be done."""
        place = self._places.get(index)
        if place is None or self._socket is None:
            return
        try:
            self._socket.sendto(b"", place)
        except BlockingIOError:
            return  # it has been rung often enough
        except OSError:
            del self._places[index]  # it has ended

    def heard(self, _events: int = 0) -> bool:
        """Forget the rings so far; return whether there was one."""
        was_rung = False
        while self._socket is not None:
            try:
                self._socket.recv(1)
            except BlockingIOError:
                break
            was_rung = True
        return was_rung

    def close(self) -> None:
        """Ring no more."""
        self._places.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            with suppress(OSError):
                os.unlink(self._own)


def _place(directory: Directory, me: int, index: int) -> str:
    """Return where the bell of a rank is, or nothing if it is on another machine."""
    for address in directory.ways(me, index):
        if address.startswith(UNIX):
            return address[len(UNIX) :] + _SUFFIX
    return ""
