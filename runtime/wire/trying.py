"""One route after another to a peer, until one is open; and waiting for a peer that has to dial."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from runtime.routing import Route
from runtime.wire.connecting import Attempt
from runtime.wire.errors import PeerLost
from runtime.wire.line import READ

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from runtime.wire.routed import RoutedConnector

CALL_BACK_TIMEOUT = 15.0
"""Seconds for a peer that was asked to dial to have done so."""


class Called:
    """Waits for a peer that was asked to dial. Its connection comes in by the listener."""

    is_passive = True

    def __init__(self, words: str, deadline: float) -> None:
        self._words = words
        self._idle = os.eventfd(0, os.EFD_CLOEXEC)
        self.deadline = deadline

    def fileno(self) -> int:
        """Return something on which nothing ever happens."""
        return self._idle

    @property
    def events(self) -> int:
        """What to watch it for."""
        return READ

    def step(self, now: float) -> None:
        """Raise PeerLost when the time is over."""
        if now >= self.deadline:
            self.close()
            raise PeerLost(
                f"{self._words} cannot be reached",
                cause=f"it was asked to connect to here and has not within {CALL_BACK_TIMEOUT:g} s",
            )

    def close(self) -> None:
        """Wait no longer."""
        if self._idle >= 0:
            os.close(self._idle)
            self._idle = -1


class Trying:
    """An attempt that goes on with the next route when one has failed."""

    def __init__(
        self, connector: RoutedConnector, peer: int, ways: Sequence[Route], now: float
    ) -> None:
        self._connector = connector
        self._peer = peer
        self._ways = list(ways)
        self._faults: list[PeerLost] = []
        self._failures: list[tuple[Route, float]] = []
        self._route = self._ways[0]
        self._attempt = self._next(now)

    @property
    def is_passive(self) -> bool:
        """Whether the connection will come in by the listener."""
        return self._attempt.is_passive

    @property
    def deadline(self) -> float:
        """When it has to be looked after again."""
        return self._attempt.deadline

    def fileno(self) -> int:
        """Return what to watch; another one after each route."""
        return self._attempt.fileno()

    @property
    def events(self) -> int:
        """What to watch it for."""
        return self._attempt.events

    def step(self, now: float) -> tuple[socket.socket, bytes] | None:
        """Go on; return the connection once it is open.

        Raises:
            PeerLost: no route leads to the peer, with the reasons of all.
        """
        try:
            opened = self._attempt.step(now)
        except PeerLost as fault:
            self._failed(fault, now)
            self._attempt = self._next(now)
            return None
        if opened is not None:
            self._connector.reached(self._peer, self._route, now, after=self._failures)
        return opened

    def close(self) -> None:
        """Give up."""
        self._attempt.close()

    def _next(self, now: float) -> Attempt:
        """Begin with the next route; raises PeerLost after the last one, with all reasons."""
        while self._ways:
            self._route = self._ways.pop(0)
            self._connector.tries += 1
            try:
                return self._connector.begin(self._peer, self._route, now, is_last=not self._ways)
            except PeerLost as fault:
                self._failed(fault, now)
        last = self._faults[-1]
        if len(self._faults) > 1:
            last.cause = "\n".join(str(fault) for fault in self._faults)
        raise last

    def _failed(self, fault: PeerLost, now: float) -> None:
        self._connector.failures += 1
        self._failures.append((self._route, now))
        fault.what = f"{fault.what} by {self._route}"
        self._faults.append(fault)
