"""Joins a connection to the pipes of a process: what comes from one goes to the other."""

from __future__ import annotations

import os
import select

from runtime.peers.connections.sockets import PeerSocket
from runtime.transport.decrypted import DECRYPTED

CHUNK = 1 << 16


class _Way:
    """One direction: a piece is read when the last one has been written."""

    def __init__(self) -> None:
        self.piece = memoryview(b"")
        self.is_over = False


def joined(taken: PeerSocket, stdin: int, stdout: int) -> None:
    """Carry bytes until either end hangs up.

    What the process has written before it ended is still sent.
    """
    taken.setblocking(False)
    for descriptor in (stdin, stdout):
        os.set_blocking(descriptor, False)
    there, back = _Way(), _Way()
    while not (there.is_over or back.is_over):
        poll = select.poll()
        if there.piece:
            poll.register(stdin, select.POLLOUT)
        if not back.piece:
            poll.register(stdout, select.POLLIN)
        wanted = (0 if there.piece else select.POLLIN) | (select.POLLOUT if back.piece else 0)
        poll.register(taken.fileno(), wanted)
        is_decrypted = taken.fileno() in DECRYPTED and not there.piece
        poll.poll(0 if is_decrypted else None)
        _from_socket(there, taken, stdin)
        _from_process(back, taken, stdout)


def _from_socket(way: _Way, taken: PeerSocket, stdin: int) -> None:
    """Bring what the user sends to the process; one that reads no more has something to say yet."""
    try:
        if not way.piece:
            way.piece = memoryview(taken.recv(CHUNK))
            way.is_over = not way.piece
    except BlockingIOError:
        return
    except OSError:
        way.is_over = True
        return
    try:
        way.piece = way.piece[os.write(stdin, way.piece) :]
    except BlockingIOError:
        return
    except OSError:
        way.piece = memoryview(b"")


def _from_process(way: _Way, taken: PeerSocket, stdout: int) -> None:
    """Bring what the process says to the user."""
    try:
        if not way.piece:
            way.piece = memoryview(os.read(stdout, CHUNK))
            way.is_over = not way.piece
        if way.piece:
            way.piece = way.piece[taken.send(way.piece) :]
    except BlockingIOError:
        return
    except OSError:
        way.is_over = True
