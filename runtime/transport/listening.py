"""Listens for connections, and lets in only those who prove that they belong to the run."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from runtime.transport.credentials import MOST_BYTES, NONCE, Credentials, ListeningEnd
from runtime.transport.crowding import RefusalLog, next_goes, who_goes
from runtime.transport.encryption import certified, is_set_up, secured, wants_to_write
from runtime.transport.errors import (
    AuthenticationFailed,
    NotAMember,
    TransportError,
    Unreachable,
)
from runtime.transport.lean import HANDSHAKE_SECONDS, UNIX, socket_for
from runtime.transport.passage import DOOR, accepted
from runtime.transport.pyro_messages import MessageReader, refusal
from runtime.transport.reactor import READ, WRITE, Reactor, Timer

_log = logging.getLogger(__name__)

BACKLOG = 512
MOST_STRANGERS = 256
"""How many connections may be in their handshake at one time; more make others go, or wait."""

_SHARE = 4  # of the descriptors that the process may have, at most a quarter is for strangers
_AGAIN = 0.2  # seconds until a connection is taken that could not be
_PIECE = 4096

_MEMBERS_ONLY = "only members of the run may connect here: nothing is exposed to others"

Admitted = Callable[[socket.socket, str, bytes], None]
"""Gets a connection that has proved itself: the socket, the peer's name, what it already sent."""


class Door:
    """A listening socket whose visitors are let in once they have proved themselves.

    `admitted` is called on the reactor's thread. A visitor that does not finish its handshake
    within `patience` seconds is sent away, and so is one that proves nothing. Where `most` stand in
    the door, those who say nothing have to go when more come. Ordinary Pyro5 clients, who do not
    claim to be members, are given to `guests`, with all they have said.

    Raises:
        Unreachable: nobody can listen at `address`.
    """

    def __init__(
        self,
        reactor: Reactor,
        address: str,
        credentials: Credentials,
        admitted: Admitted,
        *,
        patience: float = HANDSHAKE_SECONDS,
        guests: Admitted | None = None,
        most: int = MOST_STRANGERS,
    ) -> None:
        self._reactor = reactor
        self._credentials = credentials
        self._admitted = admitted
        self._guests = guests
        self._patience = patience
        self._visitors: dict[_Visitor, None] = {}  # in the order in which they came
        self._most = min(most, os.sysconf("SC_OPEN_MAX") // _SHARE)
        self._refusals = RefusalLog(_log, time.monotonic)
        self._opening: Timer | None = None
        self._socket, self.address = _listen(address, private=guests is None)
        self._open = True
        reactor.soon(self._begin)

    def close(self) -> None:
        """Stop listening and send away who is still in the handshake; twice is once."""
        self._reactor.soon(self._close)

    def _begin(self) -> None:
        self._reactor.at_close(self, self._close)
        self._reactor.watch(self._socket.fileno(), READ, self._visited)

    def _close(self) -> None:
        if not self._open:
            return
        self._open = False
        self._reactor.at_close(self, None)
        if self._opening is not None:
            self._opening.cancel()
        self._reactor.watch(self._socket.fileno(), 0, self._visited)
        self._socket.close()
        if self.address.startswith((UNIX, DOOR)):
            Path(self.address.partition(":")[2]).unlink(missing_ok=True)
        for visitor in list(self._visitors):
            visitor.leave()
        self._refusals.close()

    def _visited(self, events: int) -> None:  # noqa: ARG002 - there is only one kind
        if not self._open or not self._has_room():
            return
        try:
            came, where = accepted(self._socket)
        except (BlockingIOError, ConnectionError):  # it has hung up already
            return
        except OSError as error:  # descriptors or memory are used up
            self._refusals.tell("not taken", self.address, f"it could not be taken: {error}")
            self._shut(_AGAIN)
            return
        came.setblocking(False)
        if came.family != socket.AF_UNIX:
            came.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            came = secured(came, self._credentials, dialled=False)
        except (OSError, TransportError) as error:
            came.close()
            self._refusals.tell("not encrypted", where, str(error))
            return
        visitor = _Visitor(self, came, str(where) if where else "this machine")
        self._visitors[visitor] = None
        visitor.begin()

    def _has_room(self) -> bool:
        """Return whether one more may come in now, for whom somebody else may have to go."""
        if len(self._visitors) < self._most:
            return True
        now = time.monotonic()
        goes = who_goes(self._visitors, now)
        if goes is None:
            self._shut(next_goes(self._visitors) - now)
            return False
        goes.make_room()
        return True

    def _shut(self, seconds: float) -> None:
        """Let nobody in for a while; connections wait in the system."""
        self._reactor.watch(self._socket.fileno(), 0, self._visited)
        self._opening = self._reactor.later(seconds, self._open_again)

    def _open_again(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None
            if self._open:
                self._reactor.watch(self._socket.fileno(), READ, self._visited)

    def _gone(self, visitor: _Visitor) -> None:
        self._visitors.pop(visitor, None)
        self._open_again()


class _Visitor:
    """One connection in its handshake."""

    def __init__(self, door: Door, came: socket.socket, where: str) -> None:
        self._door = door
        self._socket = came
        self._where = where
        self._greeting = ListeningEnd(door._credentials, os.urandom(NONCE))
        self._to_send = self._greeting.begin()
        self._said = b""
        self.since = time.monotonic()
        self.has_spoken = False
        self._open = True
        self._timer = door._reactor.later(door._patience, self._too_slow)

    def begin(self) -> None:
        """Greet."""
        self._ready(WRITE)

    def leave(self) -> None:
        """Hang up."""
        self._let_go()
        self._socket.close()

    def _let_go(self) -> None:
        self._open = False
        self._timer.cancel()
        self._door._reactor.watch(self._socket.fileno(), 0, self._ready)
        self._door._gone(self)

    def make_room(self) -> None:
        """Go, since others wait."""
        self._send_away("crowd", "it had not authenticated while others were waiting")

    def _too_slow(self) -> None:
        self._send_away("slow", f"no proof within {self._door._patience:g} s")

    def _send_away(self, kind: str, why: str) -> None:
        if self._open:
            self._door._refusals.tell(kind, self._where, why)
            self.leave()

    def _ready(self, events: int) -> None:
        if not self._open:
            return
        self.has_spoken = self.has_spoken or bool(events & READ)
        try:
            if not is_set_up(self._socket):
                wanted = WRITE if wants_to_write(self._socket) else READ
                self._door._reactor.watch(self._socket.fileno(), wanted, self._ready)
                return
            if events & READ:
                received = self._socket.recv(_PIECE)
                if not received:
                    self._send_away("hung up", "it closed the connection before it authenticated")
                    return
                self._said += received
                self._to_send += self._greeting.feed(received, certified(self._socket))
            self._flush()
        except BlockingIOError:
            pass
        except NotAMember as error:
            self._take_guest(error)
            return
        except (AuthenticationFailed, OSError) as error:
            self._send_away(type(error).__name__, str(error))
            return
        if self._greeting.peer is not None and not self._to_send:
            self._hand_over(self._door._admitted, self._greeting.peer, self._greeting.rest)
            return
        events = READ | (WRITE if self._to_send else 0)
        self._door._reactor.watch(self._socket.fileno(), events, self._ready)

    def _take_guest(self, error: NotAMember) -> None:
        if self._door._guests is not None:
            self._hand_over(self._door._guests, self._where, self._said)
            return
        reader = MessageReader(MOST_BYTES)
        reader.feed(self._said)
        asked = reader.take()
        if asked is not None:
            with contextlib.suppress(OSError):  # it may not wait for the answer
                self._socket.send(refusal(asked, _MEMBERS_ONLY).joined())
        self._send_away("guest", str(error))

    def _hand_over(self, receiver: Admitted, peer: str, received: bytes) -> None:
        self._let_go()
        try:
            receiver(self._socket, peer, received)
        except BaseException:
            self._socket.close()
            raise

    def _flush(self) -> None:
        if self._to_send:
            self._to_send = self._to_send[self._socket.send(self._to_send) :]


def _listen(address: str, *, private: bool) -> tuple[socket.socket, str]:
    """Return a listening socket and the address it really has: port 0 is chosen by the system.

    One in the file system is the user's own if it is `private`, whatever the folder it is in.
    """
    bare, where = socket_for(address)
    made = socket.socket(fileno=bare.detach())
    try:
        if made.family != socket.AF_UNIX:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        elif private:
            os.fchmod(made.fileno(), 0o600)
        made.bind(where)
        made.listen(BACKLOG)
        made.setblocking(False)
    except OSError as error:
        made.close()
        raise Unreachable(
            f"cannot listen there: {error.strerror or error}",
            place=address,
            cure="Choose another port, or 0 for any that is free",
        ) from error
    if made.family == socket.AF_UNIX:
        return made, address
    host, _, _ = address.rpartition(":")
    return made, f"{host}:{made.getsockname()[1]}"
