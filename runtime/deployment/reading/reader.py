"""From an XML descriptor to the checked deployment, reporting all errors at once."""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace

from gcm.documents import CheckedElement, Diagnostics, Limits, Severity, XmlNode, read_document
from runtime.deployment.context import DescriptorContext, Places, Reading
from runtime.deployment.extent import Extent
from runtime.deployment.model import Application, DeployedSite, Deployment, Encryption, Position
from runtime.deployment.reading.applications import read_applications, read_virtual_nodes
from runtime.deployment.reading.late_clusters import led_by_present
from runtime.deployment.reading.machine import (
    check_routes,
    read_detection,
    read_machine,
    read_transports,
)
from runtime.deployment.reading.named_classes import check_named_classes, read_named_classes
from runtime.deployment.reading.own_sites import with_own_sites
from runtime.deployment.reading.ports import read_links
from runtime.deployment.reading.processes import read_dependencies, read_processes
from runtime.deployment.reading.program import check_copies, check_programs
from runtime.deployment.reading.replicas import check_replicas
from runtime.deployment.reading.spares import check_spares
from runtime.deployment.reading.structure import check_structure
from runtime.deployment.reading.transfers import check_results, read_transfers
from runtime.deployment.variables import Variables, declare_variables
from runtime.topology import Reachability


def read_descriptor(
    source: str | os.PathLike[str] | bytes,
    *,
    surroundings: DescriptorContext,
    diagnostics: Diagnostics,
    name: str | None = None,
    limits: Limits | None = None,
) -> Deployment | None:
    """Return what a descriptor says, or None when it has errors; those are in `diagnostics`.

    `source` is a path or the document itself as bytes, `name` the name of the latter in messages.
    Bad input raises nothing, and warnings do not keep a deployment from being returned.
    """
    root = read_document(
        source, name=name, diagnostics=diagnostics, limits=limits if limits else Limits()
    )
    if root is None:
        return None
    return deployment_of(root, surroundings=surroundings, diagnostics=diagnostics)


def deployment_of(
    root: XmlNode, *, surroundings: DescriptorContext, diagnostics: Diagnostics
) -> Deployment | None:
    """Return what a descriptor says whose root was read or made, or None, as `read_descriptor`."""
    errors_before = len(diagnostics.errors)
    root = with_own_sites(root, surroundings.sites, diagnostics)
    stem = posixpath.splitext(posixpath.basename(root.location.file))[0]
    extent = Extent(diagnostics)
    variables = declare_variables(
        root,
        settings=surroundings.settings,
        environment=surroundings.environment,
        built_in={"folder": surroundings.folder, "name": stem},
        diagnostics=diagnostics,
        extent=extent,
    )
    entry = check_structure(root, variables, diagnostics)
    if entry is None or extent.is_over:
        return None
    reading = Reading(surroundings, diagnostics, extent)
    deployment = _deployment(entry, stem, variables, reading)
    if len(diagnostics.errors) == errors_before:
        check_results(deployment, reading)
        check_named_classes(deployment, reading)
        check_replicas(deployment, reading)
        check_spares(deployment, reading)
        check_routes(deployment, reading)
        deployment = led_by_present(deployment, entry.location, reading)
    return deployment if len(diagnostics.errors) == errors_before else None


def _deployment(
    entry: CheckedElement, stem: str, variables: Variables, reading: Reading
) -> Deployment:
    grid = entry.only("grid")
    sites, leader = read_machine(entry, reading)
    sites, transports = read_transports(entry, sites, reading)
    reading = replace(reading, places=Places(sites))
    applications = read_applications(entry, reading)
    assembly, peers = (
        one.record(reading) if one is not None else None
        for one in (entry.only("assembly"), entry.only("peers"))
    )
    processes = read_processes(entry, reading)
    if not applications and assembly is None and not entry.incomplete:
        reading.fault(
            "nothing-to-run",
            "the descriptor has neither an <application> nor an <assembly>",
            entry.location,
        )
    deployment: Deployment = entry.record(
        reading,
        name=entry["name"] or stem,
        folder=reading.context.folder,
        sites=_assigned(sites, applications, assembly is not None, reading),
        leader=leader,
        applications=applications,
        processes=processes,
        dependencies=read_dependencies(entry, applications, processes, reading),
        assembly=assembly,
        virtual_nodes=read_virtual_nodes(entry, assembly, reading),
        transfers=read_transfers(entry, reading),
        variables=variables.all(),
        links=read_links(entry, applications, reading),
        umask=reading.context.umask,
        encryption=grid["encryption"] if grid is not None else Encryption.TLS,
        detection=read_detection(entry, sites, reading),
        named_classes=read_named_classes(entry, reading),
        transports=transports,
        peers=peers,
    )
    check_programs(deployment, reading)
    check_copies(deployment, reading)
    return deployment


def _assigned(
    sites: tuple[DeployedSite, ...],
    applications: tuple[Application, ...],
    has_assembly: bool,
    reading: Reading,
) -> tuple[DeployedSite, ...]:
    """Return the sites with the application of each cluster; ranks exist only where one runs."""
    owner: dict[Position, str] = {}
    for application in applications:
        for position in application.clusters:
            if position in owner:
                path = sites[position[0]].clusters[position[1]].path
                reading.fault(
                    "cluster-mapped-twice",
                    f"application '{application.name}' claims cluster '{path}', "
                    f"which runs '{owner[position]}'",
                    application.location,
                    hint="one cluster runs one application; describe two clusters on one machine",
                )
            owner.setdefault(position, application.name)
    # an error in a mapping is no reason to complain about the clusters it meant
    complete = bool(applications) and all(one.clusters for one in applications)
    outwards = [
        one
        for site in sites
        for one in site.clusters
        if one.position in owner and one.reachability is Reachability.OUTWARDS
    ]
    relays = (Reachability.DIRECT, Reachability.FRONT_END) if len(outwards) > 1 else ()
    assigned = []
    for site in sites:
        clusters = []
        for cluster in site.clusters:
            name = owner.get(cluster.position, "")
            nodes = cluster.nodes
            if not name:
                nodes = tuple(replace(node, ranks=0) for node in nodes)
            is_idle = not name and cluster.reachability not in relays
            if is_idle and complete and not has_assembly:
                reading.diagnostics.report(
                    "idle-cluster",
                    f"no application runs in cluster '{cluster.path}'",
                    cluster.location,
                    severity=Severity.WARNING,
                )
            clusters.append(replace(cluster, application=name, nodes=nodes))
        assigned.append(replace(site, clusters=tuple(clusters)))
    return tuple(assigned)
