"""Listens for connections on a reactor, and lets in only members of the run."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path

from runtime.transport.admission import MOST_STRANGERS, Admission, UnprovenConnection
from runtime.transport.credentials import MOST_BYTES, Credentials
from runtime.transport.errors import NotAMember
from runtime.transport.lean import HANDSHAKE_SECONDS
from runtime.transport.passage import PASSED, path_in
from runtime.transport.pyro_messages import MessageReader, refusal
from runtime.transport.reactor import Reactor, Timer
from runtime.transport.transports import SSH, UNIX, listen

_MEMBERS_ONLY = "only members of the run may connect here: nothing is exposed to others"

Admitted = Callable[[socket.socket, str, bytes], None]
"""Gets a connection that has proved itself: the socket, the peer's name, what it already sent."""


class Listener(Admission):
    """A listening socket that admits connections once their peers have proved themselves.

    `admitted` is called on the reactor's thread. Ordinary Pyro5 clients, who do not claim to be
    members, are given to `untrusted`, with the bytes they have sent; see `Admission` for the
    others.

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
        untrusted: Admitted | None = None,
        most: int = MOST_STRANGERS,
    ) -> None:
        self._reactor = reactor
        self._untrusted = untrusted
        self._timer: Timer | None = None
        self._will_tick = False
        bare, self.address = listen(address, is_private=untrusted is None)
        listener = socket.socket(fileno=bare.detach())
        super().__init__([listener], credentials, admitted, self, patience=patience, most=most)
        reactor.soon(self._begin)

    def close(self) -> None:
        """Stop listening and send away who is still in the handshake; twice is once."""
        self._reactor.soon(self._close)

    def _begin(self) -> None:
        self._reactor.at_close(self, self._close)
        self.open()

    def _close(self) -> None:
        if self._is_closed:
            return
        self._reactor.at_close(self, None)
        super().close()
        if self._timer is not None:
            self._timer.cancel()
        if self.address.startswith((UNIX, SSH, PASSED)):
            Path(path_in(self.address)).unlink(missing_ok=True)

    def watch_descriptor(
        self, descriptor: int, events: int, handle: Callable[[int], bool] | None, /
    ) -> None:
        """Watch it on the reactor."""
        self._reactor.watch(descriptor, events, handle or bool)

    def now(self) -> float:
        """Return the time."""
        return time.monotonic()

    def tick_soon(self) -> None:
        """Look soon, and when something is due."""
        if not self._will_tick:
            self._will_tick = True
            self._reactor.soon(self._run_timer)

    def _run_timer(self) -> None:
        self._will_tick = False
        if self._timer is not None:
            self._timer.cancel()
        if not self._is_closed:
            self.tick(self.now())
            due = self.deadline
            left = None if due is None else max(0.0, due - self.now())
            self._timer = None if left is None else self._reactor.later(left, self._run_timer)

    def _broken(self, incoming: UnprovenConnection, error: OSError) -> None:
        if self._untrusted is None and self.address.startswith((UNIX, SSH)):
            super()._broken(incoming, error)  # only the user's own processes come here
        else:
            self._refuse(incoming, "hung up", str(error))

    def _strange(self, incoming: UnprovenConnection, error: NotAMember) -> None:
        if self._untrusted is not None:
            self._hand_over(incoming, self._untrusted, incoming.where, incoming.received)
            return
        reader = MessageReader(MOST_BYTES)
        reader.feed(incoming.received)
        asked = reader.take()
        if asked is not None:
            with contextlib.suppress(OSError):  # it may not wait for the answer
                incoming.socket.send(refusal(asked, _MEMBERS_ONLY).joined())
        self._refuse(incoming, "no member", str(error))
