"""Measures round trips to a few other peers, with empty messages of the application."""

from __future__ import annotations

import random
from collections.abc import Sequence

from runtime.peers.connections import MemberConnection, round_trip
from runtime.peers.daemon.surroundings import Surroundings, clock
from runtime.peers.latency import RttTable, RttTarget, network_of
from runtime.peers.model import Member


class RoundTrips:
    """What is known, and who is measured next."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._me = surroundings.dialler.me
        self._table = RttTable()

    def due(self, candidates: Sequence[Member], now: float) -> list[Member]:
        """Return whom to measure now: a few, however many there are."""
        by_name = {str(one.principal): one for one in candidates}
        targets = [_target(one) for one in candidates]
        found = self._table.next_targets(targets, now, random.random)
        return [by_name[one.peer] for one in found if one.peer in by_name]

    def measure(self, peer: Member, connection: MemberConnection) -> None:
        """Measure a peer over an open connection; raises PeerError."""
        self._table.record(_target(peer), round_trip(connection, self._me), clock())

    def forget(self, name: str) -> None:
        """Forget a peer that does not answer."""
        self._table.forget(name)

    def of(self, name: str, now: float) -> float | None:
        """Return the seconds to a peer and back, None if they are not known."""
        found = self._table.measured(name, now)
        return None if found == float("inf") else found


def _target(peer: Member) -> RttTarget:
    host = peer.addresses[0].host if peer.addresses else ""
    return RttTarget(str(peer.principal), network_of(host))
