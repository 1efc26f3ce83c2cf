"""The simultaneous open of a connection between two ranks, the first time or once more.

Either rank may dial. When both do at once, the connection that the lower index dialled stays.
The acceptor sends GO when it is going to use a connection; before that the dialler sends nothing.
A rank uses an accepted connection at once, and gives up its own attempt. Only the lower index, once
it has proved itself and its peer may use the attempt, keeps an accepted connection until it knows
which of the two its peer uses.

Where there was a connection before, the acceptor waits for a GO of the dialler, which may have
given up this attempt meanwhile. From then on both know how far the other one has received.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Protocol

from runtime.transport.transports import stays_on_host
from runtime.wire.dialling.connecting import Attempt
from runtime.wire.dialling.line import READ
from runtime.wire.errors import PeerLost, PeerSilent
from runtime.wire.pending_connection import PendingConnection, write_head
from runtime.wire.stream.frames import AGAIN, ResumePoint

if TYPE_CHECKING:
    from runtime.wire.dialling.connecting import PeerContext

GO_TIMEOUT = 10.0
"""Seconds for a peer to choose between two connections."""

PARKED_TIMEOUT = 2.0
"""Seconds for which an accepted connection is kept while this end's own is about to be there."""

ANSWER_TIMEOUT = 5.0
"""Seconds for a peer that has dialled to answer."""


_FOREVER = float("inf")


class ConnectionOwner(Protocol):
    """The peer that uses the connection which is opened."""

    def greet(self, connected: socket.socket) -> tuple[bytes, bool]:
        """Return the bytes to send on an accepted connection, and whether to wait for an answer."""

    def answer_go(self, go: ResumePoint) -> bytes:
        """Handle the GO of the acceptor on a dialled connection; return the answer."""

    def joined(self, connected: socket.socket, received: bytes, go: ResumePoint | None) -> None:
        """Use a connection."""

    def not_joined(self, fault: Exception) -> None:
        """Give a connection up; the fault is a PeerLost if the peer was not reached at all."""


class SimultaneousOpen:
    """Opens connections to one peer, one at a time."""

    def __init__(self, index: int, context: PeerContext, owner: ConnectionOwner) -> None:
        self._index = index
        self._context = context
        self._owner = owner
        self._attempt: Attempt | None = None
        self._watched = -1  # what of the attempt is watched
        self._pending: PendingConnection | None = None
        self._parked: tuple[socket.socket, bytes] | None = None
        self._parked_until = _FOREVER
        self._taken_at = float("-inf")

    def taken_at(self, now: float) -> float:
        """Return when the peer's system last had a connection of this end: its process lived."""
        if self._pending is not None or (self._attempt is not None and self._attempt.is_taken):
            self._taken_at = now
        return self._taken_at

    def describe(self) -> str:
        """Say what goes on."""
        if self._pending is not None:
            return "it has not said yet that it uses the connection"
        return "" if self._attempt is None else self._attempt.describe()

    @property
    def is_busy(self) -> bool:
        """Whether a connection may come of what goes on now."""
        return self._attempt is not None or self._pending is not None

    @property
    def may_be_used(self) -> bool:
        """Whether the peer may use what is being opened, so that it has to be told of an end."""
        if self._pending is not None or self._parked is not None:
            return True
        return self._attempt is not None and self._attempt.has_proved

    @property
    def is_called(self) -> bool:
        """Whether the peer was asked to dial, because this end cannot."""
        return self._attempt is not None and self._attempt.is_passive

    @property
    def deadline(self) -> float | None:
        """When `tick` has to be called, if nothing happens before."""
        opening = self._pending or self._attempt
        if opening is None:
            return None
        return (
            opening.deadline if self._parked is None else min(opening.deadline, self._parked_until)
        )

    def tick(self, now: float) -> None:
        """See to what takes too long."""
        if self._parked is not None and self._parked_until <= now:
            self._drop()
            self._cannot_dial(TimeoutError("the peer had another connection"))
        elif self._pending is not None and self._pending.deadline <= now:
            self._receive_go()
        elif self._attempt is not None and self._attempt.deadline <= now:
            self._go_on()

    def close(self) -> None:
        """Give up whatever goes on."""
        self._drop()
        if self._parked is not None:
            self._parked[0].close()
            self._parked = None

    # --- this end dials ---------------------------------------------------------------------------

    def dial(self) -> None:
        """Begin to open a connection."""
        try:
            self._attempt = self._context.connector.connect(self._index, self._context.now())
        except PeerLost as fault:
            self._owner.not_joined(fault)
            return
        self._go_on()

    def _go_on(self) -> bool:
        attempt = self._attempt
        if attempt is None:
            return False
        try:
            opened = attempt.step(self._context.now())
        except PeerLost as fault:
            if isinstance(fault, PeerSilent):
                self._taken_at = self._context.now()
            self._drop()
            self._cannot_dial(fault)
            return True
        if opened is not None:
            connected, received = opened
            self._unwatch(keeps=connected.fileno())
            self._attempt = None
            self._wait(connected, received, GO_TIMEOUT, is_dialled=True)
            return True
        watched, self._watched = self._watched, attempt.fileno()
        if watched not in (-1, self._watched):
            self._context.watch_descriptor(watched, 0, None)
        self._context.watch_descriptor(self._watched, attempt.events, lambda _: self._go_on())
        self._context.tick_soon()
        return True

    def _unwatch(self, keeps: int = -1) -> None:
        for descriptor in {self._watched, keeps} - {-1}:
            self._context.watch_descriptor(descriptor, 0, None)
        self._watched = -1

    def _drop(self) -> None:
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            self._unwatch()
            attempt.close()
        pending, self._pending = self._pending, None
        if pending is not None:
            self._context.watch_descriptor(pending.socket.fileno(), 0, None)
            pending.socket.close()

    def _cannot_dial(self, fault: Exception) -> None:
        parked, self._parked = self._parked, None
        if parked is not None:
            self._accept(*parked)
        else:
            self._owner.not_joined(fault)

    # --- the other end dials ----------------------------------------------------------------------

    def admit(self, connected: socket.socket, received: bytes) -> None:
        """Use a connection that the peer has opened, or keep it until this end's own fails."""
        is_shown = (
            self._pending.is_dialled
            if self._pending is not None
            else self._attempt is not None and self._attempt.has_proved
        )
        if is_shown and self._context.me < self._index:
            if self._parked is not None:
                self._parked[0].close()
            self._parked = connected, received
            # One that cannot be resumed must not be used while the other end may use another one.
            can_resume = not stays_on_host(connected)
            self._parked_until = self._context.now() + PARKED_TIMEOUT if can_resume else _FOREVER
            self._context.tick_soon()
        else:
            if self._attempt is not None:
                self._context.connector.came(self._index, self._context.now())
            self._drop()
            self._accept(connected, received)

    def _accept(self, connected: socket.socket, received: bytes) -> None:
        words, waits = self._owner.greet(connected)
        try:
            write_head(connected, words)
        except OSError as fault:
            connected.close()
            self._owner.not_joined(fault)
            return
        if waits:
            self._wait(connected, received, ANSWER_TIMEOUT, is_dialled=False)
        else:
            self._owner.joined(connected, received, None)
            self._context.connector.joined(self._index, is_dialled=False)

    # --- both wait --------------------------------------------------------------------------------

    def _wait(
        self, connected: socket.socket, received: bytes, timeout: float, *, is_dialled: bool
    ) -> None:
        connected.setblocking(False)
        until = self._context.now() + timeout
        self._pending = PendingConnection(connected, received, until, is_dialled=is_dialled)
        self._context.watch_descriptor(connected.fileno(), READ, lambda _: self._receive_go())
        self._context.tick_soon()
        self._receive_go()

    def _receive_go(self) -> bool:
        pending = self._pending
        if pending is None:
            return False
        try:
            go = pending.receive(self._context.now())
            if go is None:
                return False
            if pending.is_dialled:
                answer = self._owner.answer_go(go)
                if go.flags & AGAIN:
                    write_head(pending.socket, answer)
        except (OSError, EOFError) as fault:
            self._drop()
            self._cannot_dial(fault)
            return True
        self._pending = None
        if self._parked is not None:
            self._parked[0].close()
            self._parked = None
        self._context.watch_descriptor(pending.socket.fileno(), 0, None)
        self._owner.joined(pending.socket, go.rest, go)
        self._context.connector.joined(self._index, is_dialled=pending.is_dialled)
        return True
