"""Wake-ups: how a rank wakes another one of its machine for which native MPI has something.

Native MPI wakes nobody: a rank that waits for it has to ask again and again. One that has sent
something natively wakes the receiver, so that nobody has to ask often. A wake-up says nothing else,
and may be lost; a rank that relies on them still asks from time to time.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import suppress

from runtime.transport.transports import UNIX
from runtime.wire.dialling.directory import RankDirectory

_SUFFIX = ".bell"


class WakeUps:
    """The socket at which this rank is woken, and those of others on its machine."""

    def __init__(self, me: int, directory: RankDirectory) -> None:
        self._places: dict[int, str] = {}
        self._socket: socket.socket | None = None
        self._own = _place(directory, me, me)
        if not self._own:
            return
        own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        own.setblocking(False)
        try:
            with suppress(FileNotFoundError):
                os.unlink(self._own)  # of a rank that was here before
            own.bind(self._own)
        except OSError:  # nobody can wake this rank, so native MPI is asked more often
            own.close()
            return
        self._socket = own
        found = {index: _place(directory, me, index) for index in range(len(directory))}
        self._places = {index: place for index, place in found.items() if place}

    def fileno(self) -> int:
        """Return what can be read once somebody has woken this rank, or -1."""
        return -1 if self._socket is None else self._socket.fileno()

    def reach(self, indexes: Iterable[int]) -> bool:
        """Tell whether all of these can wake each other, and this rank."""
        return all(index in self._places for index in indexes)

    def wake(self, index: int) -> None:
        """Wake a rank, if that can be done."""
        place = self._places.get(index)
        if place is None or self._socket is None:
            return
        try:
            self._socket.sendto(b"", place)
        except BlockingIOError:
            return  # it has been woken often enough
        except OSError:
            del self._places[index]  # it has ended

    def drain(self, _events: int = 0) -> bool:
        """Forget the wake-ups so far; return whether there was one."""
        was_woken = False
        while self._socket is not None:
            try:
                self._socket.recv(1)
            except BlockingIOError:
                break
            was_woken = True
        return was_woken

    def close(self) -> None:
        """Wake nobody any more."""
        self._places.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            with suppress(OSError):
                os.unlink(self._own)


def _place(directory: RankDirectory, me: int, index: int) -> str:
    """Return where a rank is woken, or nothing if it is on another machine."""
    for address in directory.ways(me, index):
        if address.startswith(f"{UNIX}/"):  # a host may have that name, too
            return address[len(UNIX) :] + _SUFFIX
    return ""
