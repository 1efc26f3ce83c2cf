"""Open connections to a peer, read into an receiver and written from an sender."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from typing import Protocol

from runtime.transport.transports import tune
from runtime.wire.errors import BadFrame
from runtime.wire.stream.messages import SENT, Outgoing
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.replay import Piece, total
from runtime.wire.stream.sender import MessageSender

READ = select.EPOLLIN
WRITE = select.EPOLLOUT

_READS_AT_ONCE = 16
_WRITES_AT_ONCE = 16
_MOST_VIEWS = 512  # within what one system call takes
SILENCE_TIMEOUT = 8.0
"""Seconds after which a connection is of no use if the host at its other end does not answer."""

RESUME_TIMEOUT = 12.0
"""Seconds in which a connection that broke has to be resumed, by whatever route."""


class Sending(Protocol):
    """What is written to a connection, part by part."""

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to write now."""

    def batch(self) -> list[Piece]:
        """Return what to write next; the same list as long as not all of it is written."""

    def wrote(self, count: int) -> None:
        """Take note that `count` bytes of the batch were written."""


class Connection:
    """One connection. `watch` says what it waits for, `broken` is told when it is of no use."""

    def __init__(
        self,
        connected: socket.socket,
        receiver: MessageReceiver,
        sending: Sending,
        watch: Callable[[int], None],
        broken: Callable[[Exception], None],
        *,
        silence: float = SILENCE_TIMEOUT,
    ) -> None:
        tune(connected, silence)
        self._socket = connected
        self._receiver = receiver
        self._sending = sending
        self._watch = watch
        self._broken = broken
        self._recv_into = connected.recv_into
        self._recvmsg_into = connected.recvmsg_into
        self._send = connected.send
        self._sendmsg = connected.sendmsg
        self.is_blocked = False
        self.is_closed = False

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._socket.fileno()

    def handle(self, events: int) -> bool:
        """Do what the events say is possible; return whether anything happened."""
        if events != READ:
            self.flush()
            if events == WRITE:
                return True
        receiver = self._receiver
        count = 0
        try:
            for _ in range(_READS_AT_ONCE):
                if receiver.current is None:
                    space = receiver.space()
                    wanted = len(space)
                    count = self._recv_into(space)
                else:
                    spaces = receiver.spaces()
                    wanted = len(spaces[0]) + len(spaces[1])
                    count = self._recvmsg_into(spaces)[0]
                if not count:
                    self._broken(EOFError("the connection ended"))
                    return True
                receiver.filled(count)
                if count < wanted or self.is_closed:
                    return True
        except BlockingIOError:
            return count != 0 or events != READ
        except (OSError, BadFrame) as error:
            self._broken(error)
        return True

    def flush(self) -> None:
        """Write what can be written, and see to it that the rest will be."""
        sender = self._sending
        is_blocked = False
        try:
            for _ in range(_WRITES_AT_ONCE):
                batch = sender.batch()
                if not batch:
                    break
                if len(batch) == 1:
                    sender.wrote(self._send(batch[0]))
                else:
                    sender.wrote(self._sendmsg(batch[:_MOST_VIEWS]))
            else:
                is_blocked = not sender.is_idle
        except BlockingIOError:
            is_blocked = True
        except OSError as error:
            self._broken(error)
            return
        if is_blocked is not self.is_blocked:
            self.is_blocked = is_blocked
            self._watch(READ | WRITE if is_blocked else READ)

    def close(self) -> None:
        """Hang up."""
        self.is_closed = True
        self._socket.close()

    def watch_again(self) -> None:
        """Say once more what it waits for."""
        self._watch(READ | WRITE if self.is_blocked else READ)


class Line(Connection):
    """The connection of a pair that carries all, or all but parts of large payloads.

    If it `resumes` what goes over it can go on over another one when this one breaks.
    """

    def __init__(
        self,
        connected: socket.socket,
        receiver: MessageReceiver,
        sender: MessageSender,
        watch: Callable[[int], None],
        broken: Callable[[Exception], None],
        *,
        resumes: bool = False,
        silence: float = SILENCE_TIMEOUT,
    ) -> None:
        super().__init__(connected, receiver, sender, watch, broken, silence=silence)
        self.resumes = resumes
        self._sender = sender
        self._passed = sender.passed.append

    def feed(self, received: bytes) -> None:
        """Take what was received before the line was there."""
        try:
            self._receiver.feed(received)
        except BadFrame as error:
            self._broken(error)

    def write(self, pieces: list[Piece]) -> Outgoing:
        """Write a message that passes by all that waits, which is nothing; one piece is a copy."""
        is_copy = len(pieces) == 1
        try:
            sent = self._send(pieces[0]) if is_copy else self._sendmsg(pieces)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._broken(error)
            sent = 0
        size = len(pieces[0]) if is_copy else total(pieces)
        if sent == size:
            if self.resumes:
                if is_copy:
                    self._passed(pieces)
                else:
                    self._sender.passed_large(pieces, size)
            return SENT
        outgoing = self._sender.put_back(pieces, sent)
        self.flush()
        return outgoing
