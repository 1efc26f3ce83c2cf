"""Where the peers of a simulated lab are: sites, networks, and the round trips between them."""

from __future__ import annotations

import math
from random import Random

from runtime.peers.connections.connection import PINGS
from runtime.peers.latency import RttTarget, network_of
from runtime.peers.membership import Row
from runtime.peers.model import Address, Member, PeerName, Share

HOSTS_OF_A_NETWORK = 100
WIDTH = 0.030
"""How far apart sites are at most in each direction, as round trips in seconds."""


class Lab:
    """Peers in networks of a hundred, at places in a plane; four cores each, or two."""

    def __init__(self, peers: int, seed: int = 1) -> None:
        self.random = Random(seed)
        networks = -(-peers // HOSTS_OF_A_NETWORK)
        self._places = [
            (self.random.uniform(0, WIDTH), self.random.uniform(0, WIDTH)) for _ in range(networks)
        ]
        self.size = peers
        self.pings = 0
        self._own = [self.random.uniform(0.0001, 0.0003) for _ in range(peers)]

    def site(self, number: int) -> int:
        """Return the network of a peer."""
        return number // HOSTS_OF_A_NETWORK

    def peer(self, number: int) -> Member:
        """Return a peer as others know it."""
        site, host = divmod(number, HOSTS_OF_A_NETWORK)
        address = Address(f"10.{site >> 8}.{site & 255}.{host + 1}", 7700)
        return Member(PeerName(f"h{number}"), (address,), Share(1, 4 if number % 2 else 2))

    def row(self, number: int) -> Row:
        """Return the row of a peer."""
        return Row(self.peer(number), 1, 1)

    def target(self, number: int) -> RttTarget:
        """Return a peer as one that may be measured."""
        host = self.peer(number).addresses[0].host
        return RttTarget(f"h{number}", network_of(host))

    def rtt(self, one: int, other: int) -> float:
        """Return the true round trip between two peers."""
        far = math.dist(self._places[self.site(one)], self._places[self.site(other)])
        return far + self._own[one] + self._own[other]

    def sample(self, one: int, other: int) -> float:
        """Return what a daemon measures: the least of a few messages, some of which are late."""
        self.pings += PINGS
        return self.rtt(one, other) + min(self._late() for _ in range(PINGS))

    def _late(self) -> float:
        late = self.random.expovariate(1 / 0.0002)
        return late + (self.random.random() < 0.05) * self.random.uniform(0, 0.020)
