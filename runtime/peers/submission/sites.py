"""The machine that booked hosts make: near ones are a site, each is a cluster of it."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.deployment.model import BookedPeer
from runtime.peers.booking import BookedHost
from runtime.peers.submission.lab import Lab


def sites_of(hosts: Sequence[BookedHost], lab: Lab) -> list[list[BookedPeer]]:
    """Return the sites of booked hosts, with the ranks and the address of each peer."""
    sites: dict[str, list[BookedPeer]] = {}
    for host in hosts:
        offer, copies = host.allocation.offer, host.allocation.copies
        peer = BookedPeer(offer.peer, lab.address_of(offer.peer).host, len(copies))
        sites.setdefault(offer.site or offer.peer, []).append(peer)
    return list(sites.values())
