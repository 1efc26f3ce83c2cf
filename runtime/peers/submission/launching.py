"""Launchers on booked peers: the key is checked by the peer, which starts a guard for it."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING

from runtime.deployment.model import DeployedCluster, Deployment
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.launchers.errors import LaunchError
from runtime.launchers.peer import PeerLauncher
from runtime.peers.contracts import Launch
from runtime.peers.errors import PeerError
from runtime.peers.submission.booking import Booking
from runtime.peers.submission.programs import StagedPrograms
from runtime.transport.passage import Passage

if TYPE_CHECKING:
    from runtime.launchers.base import Source

LAUNCH_TIMEOUT = 15.0


class NotLaunched(LaunchError):
    """A peer that was booked did not start anything."""


def launcher_on(
    booking: Booking,
    programs: StagedPrograms,
    plan: DeploymentPlan,
    at: DeployedCluster,
    timeout: float,
) -> PeerLauncher:
    """Return what starts the processes of a cluster, a booked peer; the first call waits for it."""
    peer, place, ranks = at.peer, at.path, ranks_of(plan.deployment, at)
    caches: list[str] = []

    def stored(files: Mapping[str, Source]) -> str:
        return programs.stored(peer, caches[0], files)

    def connect(size: int, marker: tuple[str, str]) -> tuple[socket.socket, str]:
        try:
            connection = booking.lab.connect(peer)
        except PeerError as fault:
            raise _not_launched(place, fault) from fault
        try:
            service = connection.stub(Launch, LAUNCH_TIMEOUT)
            key = booking.keys[peer]
            guard = [size, *marker]
            answer = service.launch(booking.lab.me, key, booking.application, ranks, guard)
        except PeerError as fault:
            connection.close()
            raise _not_launched(place, fault) from fault
        caches[:] = [str(answer.get("cache", ""))]
        folder, token = (str(answer.get(name, "")) for name in ("doors", "token"))
        booking.launched(peer)
        passage = str(Passage(folder, f"{connection.address}/{token}")) if token else ""
        return connection.detach(), passage

    return PeerLauncher(connect, place=place, stored=stored, here=programs.here, timeout=timeout)


def ranks_of(deployment: Deployment, at: DeployedCluster) -> list[list[int]]:
    """Return the ranks that a cluster runs, each with the number of its replica."""
    table = deployment.replica_table
    first = 0
    for cluster in deployment.clusters():
        if cluster.position == at.position:
            break
        first += cluster.ranks
    processes = range(first, first + at.ranks)
    if table is None:
        return [[rank, 0] for rank in processes]
    found = [table.replica_at(process) for process in processes]
    return [[one.rank, one.number] for one in found]


def _not_launched(place: str, fault: PeerError) -> NotLaunched:
    where = f"{place}: {fault.place}" if fault.place else place
    return NotLaunched(
        fault.what,
        place=where,
        cause=fault.cause,
        cure=fault.cure or "Start the run again: peers that do not answer are left out",
    )
