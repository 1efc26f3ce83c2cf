"""A cluster as a plan has it, for tests of what works with one."""

from __future__ import annotations

from gcm.documents import Location
from runtime.deployment.model import DeployedCluster, FrontEnd, Mpi
from runtime.topology import Reachability


def planned_cluster(name: str = "a", position: tuple[int, int] = (0, 0)) -> DeployedCluster:
    """Return a cluster of site `s` on host `h`, with the MPI and the reachability of any other."""
    return DeployedCluster(
        name=name,
        position=position,
        path=f"s/{name}",
        hops=(),
        mpi=Mpi(),
        front_end=FrontEnd("h"),
        nodes=(),
        reachability=Reachability.DIRECT,
        location=Location("x", 1),
    )
