"""A connection whose ends have proved themselves, until the other one says that it is used."""

from __future__ import annotations

import socket

from runtime.wire.stream.frames import BYE, GO, HEAD_SIZE, ResumePoint, unpack_from


def read_head(connected: socket.socket, received: bytes) -> bytes:
    """Return what was received with what has come of a frame's head, and no byte more.

    Raises:
        OSError, EOFError: no more will come.
    """
    while len(received) < HEAD_SIZE:
        try:
            more = connected.recv(HEAD_SIZE - len(received))
        except BlockingIOError:
            break
        if not more:
            raise EOFError("the connection ended before it was used")
        received += more
    return received


def write_head(connected: socket.socket, head: bytes) -> None:
    """Write a frame's head, the first thing that this end says: all of it, or the connection fails.

    Raises:
        OSError: it cannot be written, or the system has taken a part of it only.
    """
    taken = connected.send(head)
    if taken < len(head):
        raise ConnectionError(f"the system has taken {taken} of the first {len(head)} bytes")


class PendingConnection:
    """One connection; `is_dialled` says that this end has opened it."""

    def __init__(
        self, connected: socket.socket, received: bytes, deadline: float, *, is_dialled: bool
    ) -> None:
        self.socket = connected
        self.deadline = deadline
        self.is_dialled = is_dialled
        self._received = received

    def receive(self, now: float) -> ResumePoint | None:
        """Return what the other end says, or None if that has not come yet.

        Raises:
            ConnectionRefusedError: the other end wants nothing more of this one.
            OSError, EOFError: it does not come.
        """
        said = read_head(self.socket, self._received)
        self._received = said
        if len(said) < HEAD_SIZE:
            if now >= self.deadline:
                raise TimeoutError("it does not say whether it uses the connection")
            return None
        kind, flags, _, position, written = unpack_from(self._received)
        if kind == BYE:
            raise ConnectionRefusedError("it has ended, or has given this rank up")
        if kind != GO:
            raise ConnectionError("it does not speak the protocol of ranks")
        return ResumePoint(flags, position, written, self._received[HEAD_SIZE:])
