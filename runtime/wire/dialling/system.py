"""What opening a connection asks of the system: sockets, numbers used once, sets of descriptors.

All that dials gets it as one value, so that a simulated world can stand in for the system.
"""

from __future__ import annotations

import os
import select
import socket
from typing import Any, Protocol

from runtime.transport.credentials import NONCE
from runtime.transport.transports import socket_for


class WatchedSet(Protocol):
    """One descriptor for several: it is readable when something happened on one of them."""

    @property
    def closed(self) -> bool:
        """Whether nothing is watched any more."""

    def fileno(self) -> int:
        """Return that descriptor."""

    def register(self, descriptor: int, events: int, /) -> None:
        """Watch one more."""

    def modify(self, descriptor: int, events: int, /) -> None:
        """Watch one for other events; raises FileNotFoundError if it is not watched."""

    def close(self) -> None:
        """Watch nothing any more."""


class SilentDescriptor(Protocol):
    """A descriptor on which nothing ever happens."""

    def fileno(self) -> int:
        """Return it, or -1 once it is closed."""

    def close(self) -> None:
        """Give it back; twice is once."""


class _SilentEvent:
    def __init__(self) -> None:
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC)

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class DiallingSystem:
    """The system of this process, for those that dial."""

    def socket_for(self, address: str) -> tuple[socket.socket, Any]:
        """Return an unconnected socket that does not block, and what to connect it to.

        Raises:
            Unreachable: it is no address of any transport, or the name of its host is not known.
        """
        bare, where = socket_for(address)
        made = socket.socket(fileno=bare.detach())
        made.setblocking(False)
        return made, where

    def random(self, size: int) -> bytes:
        """Return bytes that nobody can guess."""
        return os.urandom(size)

    def nonce(self) -> bytes:
        """Return a number that is used once."""
        return self.random(NONCE)

    def watched_set(self) -> WatchedSet:
        """Return one descriptor for several."""
        return select.epoll()

    def silent_descriptor(self) -> SilentDescriptor:
        """Return a descriptor on which nothing ever happens."""
        return _SilentEvent()


SYSTEM = DiallingSystem()
"""The one there is outside of a simulated world."""
