"""Reads what is to be booked at peers, and makes the machine of the booked ones."""

from __future__ import annotations

from runtime.deployment.extent import MachineAmount
from runtime.deployment.model import (
    BookedPeer,
    DeployedCluster,
    DeployedSite,
    FrontEnd,
    PeersRequest,
)
from runtime.deployment.reading.cluster import read_mpi
from runtime.deployment.reading.structure import CheckedElement
from runtime.deployment.surroundings import Reading
from runtime.topology import Node, Reachability

NOT_BOOKED = "peer"
"""Before any is booked, there are as many placeholder peers as each rank has replicas."""


def read_peers(root: CheckedElement, reading: Reading) -> PeersRequest | None:
    """Return what is to be booked, or None where the machine does not consist of peers."""
    entry = root.only("peers")
    if entry is None:
        return None
    return PeersRequest(
        ranks=entry.number("ranks") or 1,
        strategy=entry.text("strategy"),
        wait=entry.seconds("wait"),
        credential=reading.existing(entry.text("credential"), "the credential", entry.location),
        staging=entry.text("staging"),
        location=entry.location,
    )


def peer_sites(
    root: CheckedElement, entry: CheckedElement, reading: Reading
) -> tuple[tuple[DeployedSite, ...], int]:
    """Return the sites of the peers that are booked; each peer is a cluster."""
    ranks = entry.number("ranks") or 1
    replicas = max((one.number("replicas") or 1 for one in root.each("application")), default=1)
    stand_ins = [BookedPeer(f"{NOT_BOOKED}-{number}", "", ranks) for number in range(replicas)]
    booked = reading.surroundings.booked or [stand_ins]
    if not reading.extent.grow(MachineAmount.RANKS, ranks * replicas, entry.location):
        return (), 0
    mpi = read_mpi([entry])

    def cluster(site: int, number: int, peer: BookedPeer) -> DeployedCluster:
        return DeployedCluster(
            name=peer.name,
            position=(site, number),
            path=f"site{site}/{peer.name}",
            hops=(),
            mpi=mpi,
            front_end=FrontEnd(peer.address),
            nodes=(Node(peer.name, peer.name, peer.ranks),),
            reachability=Reachability.DIRECT,
            location=entry.location,
            peer=peer.name,
        )

    return tuple(
        DeployedSite(
            f"site{site}",
            tuple(cluster(site, number, peer) for number, peer in enumerate(peers)),
            0,
            entry.location,
        )
        for site, peers in enumerate(booked)
    ), 0
