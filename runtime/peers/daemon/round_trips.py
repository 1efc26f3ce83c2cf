"""Measures round trips to other peers, with empty messages of the application."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

from runtime.clocks import clock
from runtime.peers.connections.connection import MemberConnection
from runtime.peers.daemon.context import DaemonContext
from runtime.peers.errors import PeerError
from runtime.peers.latency import RttTable
from runtime.peers.membership import target_of
from runtime.peers.model import Member

AT_ONCE = 16
PATIENCE = 2.0
"""Seconds until a peer to which somebody wants to know the way counts as silent."""


class RoundTrips:
    """What is known of the ways to others, in a `table` under its `lock`; any thread may ask."""

    def __init__(self, context: DaemonContext, table: RttTable, lock: threading.Lock) -> None:
        self._me = context.dialler.me
        self._dialler = context.dialler
        self._lock = lock
        self._table = table

    def measure(self, peer: Member, connection: MemberConnection) -> None:
        """Measure a peer over an open connection; raises PeerError."""
        rtt = connection.round_trip(self._me)
        with self._lock:
            self._table.record(target_of(peer), rtt, clock())

    def of(self, name: str, now: float) -> float | None:
        """Return the seconds to a peer and back, None if they are not known."""
        with self._lock:
            found = self._table.measured(name, now)
        return None if found == float("inf") else found

    def to(self, peers: Sequence[Member]) -> dict[str, float]:
        """Return the seconds to peers by name; measures the way to those that are not known."""
        unknown = [one for one in peers if self.of(str(one.principal), clock()) is None]
        with ExitStack() as opened, ThreadPoolExecutor(AT_ONCE, "round trips") as threads:
            # All connect before any is measured: a handshake would make pings of others late.
            reached = [one for one in threads.map(self._reached, unknown) if one is not None]
            for _, connection in reached:
                opened.enter_context(connection)
            list(threads.map(self._try_to_measure, reached))
        rtts = {str(one.principal): self.of(str(one.principal), clock()) for one in peers}
        return {name: rtt for name, rtt in rtts.items() if rtt is not None}

    def _reached(self, peer: Member) -> tuple[Member, MemberConnection] | None:
        try:
            return peer, self._dialler.reach(peer, PATIENCE)
        except PeerError:
            return None

    def _try_to_measure(self, reached: tuple[Member, MemberConnection]) -> None:
        with suppress(PeerError):
            self.measure(*reached)
