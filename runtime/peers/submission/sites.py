"""The machine that booked hosts make: near ones are a site, each is a cluster of it."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.deployment.model import BookedPeer
from runtime.peers.booking import BookedHost
from runtime.peers.latency import grouped_by_distance
from runtime.peers.submission.lab import Lab


def sites_of(hosts: Sequence[BookedHost], lab: Lab) -> list[list[BookedPeer]]:
    """Return the sites, the nearest first, with the ranks and the address of each peer."""
    allocations = {one.allocation.offer.peer: one.allocation for one in hosts}
    distances = {name: one.offer.rtt for name, one in allocations.items()}
    return [
        [
            BookedPeer(name, lab.address_of(name).host, len(allocations[name].copies))
            for name in site
        ]
        for site in grouped_by_distance(distances)
    ]
