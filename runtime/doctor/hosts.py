"""The hosts of a deployment, and what it needs of each. Pure."""

from __future__ import annotations

import os
from dataclasses import replace

from runtime.deployment import (
    Application,
    CommWorld,
    DeployedCluster,
    Deployment,
    ProgramKind,
    is_at_front_end,
)
from runtime.doctor.imports import imported
from runtime.doctor.records import ExaminedHost

THIS_MACHINE = "this machine"


def this_machine(python: str) -> ExaminedHost:
    """Return what is examined without a descriptor: whether MPI programs can run here."""
    return ExaminedHost(THIS_MACHINE, python, ranks=2, needs_mpi=True, needs_mpi4py=True)


def the_launcher(python: str) -> ExaminedHost:
    """Return the launcher's machine where no ranks run on it."""
    return ExaminedHost("the launcher", python)


def hosts_of(deployment: Deployment, python: str) -> list[ExaminedHost]:
    """Return the launcher's machine, the host of each front-end, and hosts with ranks alone.

    Clusters with the same needs of one host, such as those of an emulated grid, are one entry.
    """
    clusters = list(deployment.clusters())
    total = sum(cluster.ranks for cluster in clusters)
    merged: dict[object, ExaminedHost] = {}
    for cluster in clusters:
        host = _front_end(deployment, cluster)
        key = (
            host.hops,
            host.launcher,
            host.python,
            host.mpiexec,
            host.flavour,
            host.folder,
            host.variables,
            host.spans,
            host.names,
        )
        before = merged.get(key)
        merged[key] = host if before is None else _merged(before, host)
    hosts = [replace(one, others=total - one.ranks) for one in merged.values()]
    if not any(one.is_here and one.python == python for one in hosts):
        hosts.insert(0, the_launcher(python))
    for cluster in clusters:
        at = next(n for n, one in enumerate(hosts) if cluster.position in one.clusters)
        if nodes := _nodes(cluster, hosts[at], at):
            # that front-end gets to them will be seen
            hosts[at] = replace(hosts[at], names=())
            hosts += nodes
    return hosts


def _front_end(deployment: Deployment, cluster: DeployedCluster) -> ExaminedHost:
    elsewhere = tuple(
        dict.fromkeys(node.host for node in cluster.nodes if not is_at_front_end(cluster, node))
    )
    application = deployment.application_of(cluster)
    has_ranks = application is not None and cluster.ranks > 0
    if cluster.batch is not None:  # a login node starts no ranks, and who does has no name yet
        has_ranks, elsewhere = False, ()
    here = len({node.host for node in cluster.nodes} - set(elsewhere))
    return ExaminedHost(
        where=_called(cluster),
        python=cluster.front_end.python,
        location=cluster.location,
        clusters=(cluster.position,),
        hops=cluster.hops,
        hop_locations=cluster.hop_locations,
        launcher=cluster.launcher,
        name="" if cluster.is_local else cluster.host,
        mpiexec=cluster.mpi.command_path,
        flavour=cluster.mpi.flavour,
        options=cluster.mpi.options,
        variables=() if application is None else tuple(application.environment),
        folder=cluster.front_end.folder,
        ranks=cluster.ranks,
        spans=max(1, len(elsewhere) + here),
        needs_mpi=has_ranks,
        needs_mpi4py=application is not None
        and has_ranks
        and (
            application.kind is not ProgramKind.EXECUTABLE
            or application.comm_world is CommWorld.GRID
        ),
        names=elsewhere,
        modules=_modules(application) if application is not None and cluster.ranks else (),
    )


def _modules(application: Application) -> tuple[str, ...]:
    """Return what a Python program imports, as far as its source is here."""
    if application.kind is ProgramKind.EXECUTABLE:
        return ()
    path = application.path
    if application.kind is ProgramKind.MODULE:
        path = os.path.join(*path.split(".")) + ".py"
    return imported(os.path.expanduser(application.folder), path)


def _called(cluster: DeployedCluster) -> str:
    return cluster.path if cluster.is_local else f"{cluster.path} ({cluster.host})"


def _merged(first: ExaminedHost, second: ExaminedHost) -> ExaminedHost:
    number = len(first.clusters)
    name = first.where.partition(" and ")[0]
    return replace(
        first,
        where=f"{name} and {number} more" if number > 1 else f"{name} and {second.where}",
        clusters=first.clusters + second.clusters,
        ranks=first.ranks + second.ranks,
        needs_mpi=first.needs_mpi or second.needs_mpi,
        needs_mpi4py=first.needs_mpi4py or second.needs_mpi4py,
        modules=tuple(sorted({*first.modules, *second.modules})),
    )


def _nodes(cluster: DeployedCluster, front_end: ExaminedHost, at: int) -> list[ExaminedHost]:
    """Return the hosts of a cluster on which only ranks run."""
    if cluster.batch is not None:
        return []
    if any("launcher" in word or "bootstrap" in word for word in cluster.mpi.options):
        return []  # mpiexec does not go there over ssh
    ranks: dict[str, int] = {}
    for node in cluster.nodes:
        if not is_at_front_end(cluster, node) and node.ranks:
            ranks[node.host] = ranks.get(node.host, 0) + node.ranks
    of_ranks = replace(
        front_end, clusters=(), hops=(), launcher=None, names=(), behind=at,
        location=cluster.location, flavour=cluster.mpi.flavour, options=cluster.mpi.options,
    )  # fmt: skip
    return [
        replace(of_ranks, where=f"{cluster.path}, node {name}", name=name, ranks=held)
        for name, held in ranks.items()
    ]
