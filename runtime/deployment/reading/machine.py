"""Reads the machine out of a descriptor: its sites, or the emulation, and who leads what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gcm.documents import CheckedElement, did_you_mean
from runtime.deployment.context import Reading, distinct
from runtime.deployment.extent import MachineAmount
from runtime.deployment.machine_argument import parse_wan
from runtime.deployment.model import (
    LOCAL_ADDRESS,
    SSH,
    TCP,
    TRANSPORTS,
    UNIX,
    Application,
    BookedPeer,
    CommWorld,
    DeployedCluster,
    DeployedSite,
    Deployment,
    FailureDetection,
    FrontEnd,
    NamedLauncher,
    SshHop,
)
from runtime.deployment.planning.commands import is_at_front_end
from runtime.deployment.reading.cluster import Above, read_cluster, read_mpi, spread
from runtime.health import UnfitDetector, fitted
from runtime.routing import without_way
from runtime.shown_text import listed
from runtime.topology import Node, Reachability, Wan

Sites = tuple[tuple[DeployedSite, ...], int]
"""The sites of a machine, and the number of the one that leads the grid."""

NOT_BOOKED = "peer"
"""Before any is booked, there are as many placeholder peers as each rank has replicas."""


def read_machine(root: CheckedElement, reading: Reading) -> Sites:
    """Return the sites and the number of the site that leads the grid."""
    given = [one for one in map(root.only, _MACHINES) if one is not None]
    if len(given) > 1:
        reading.fault(
            "two-machines",
            f"the descriptor has both <{given[0].type.name}> and <{given[1].type.name}>",
            given[1].location,
            hint="keep one of them",
        )
    if given:
        return _MACHINES[given[0].type.name](root, given[0], reading)
    if not root.incomplete:
        reading.fault(
            "no-machine",
            "the descriptor names no machine to run on",
            root.location,
            hint='<emulate sites="2" clusters="2"/> emulates one on this machine; '
            "<grid> describes a real one",
        )
    return (), 0


def _grid(_root: CheckedElement, grid: CheckedElement, reading: Reading) -> Sites:
    mixed = any(
        place.only("ssh") or place.only("launcher")
        for site in grid.each("site")
        for place in (site, *site.each("cluster"))
    )
    sites = []
    for number, entry in enumerate(grid.each("site")):
        name = entry["name"] or f"site{number}"
        sites.append(_site(number, Above(grid, entry, name, mixed), reading))
    distinct(reading, "site", ((site.name, site.location) for site in sites))
    _check_ports(sites, reading)
    leader = _chosen(grid, "site", [site.name for site in sites], reading)
    return tuple(sites), leader


def _emulated(_root: CheckedElement, entry: CheckedElement, reading: Reading) -> Sites:
    ranks, count = entry["ranks"], entry["nodes"]
    sites, clusters = entry["sites"], entry["clusters"]
    grow, each = reading.extent.grow, sites * clusters
    fits = grow(MachineAmount.PARTS, each * count, entry.location)
    if not grow(MachineAmount.RANKS, each * ranks, entry.location) or not fits:
        return (), 0
    placed = spread(ranks, [None] * count)
    nodes = tuple(Node(f"node{number}", "localhost", held) for number, held in enumerate(placed))
    front_end = FrontEnd(LOCAL_ADDRESS, python=reading.context.python)
    wan = _wan(entry, reading) if entry["wan"] else None
    one_site = [(f"cluster{number}", front_end, nodes) for number in range(clusters)]
    found = _direct(entry, [one_site] * sites)
    if wan is None or sites == 1:
        return found, 0
    return tuple(
        replace(site, clusters=tuple(replace(one, wan=wan) for one in site.clusters))
        for site in found
    ), 0


def _booked(root: CheckedElement, entry: CheckedElement, reading: Reading) -> Sites:
    """Return the sites of the peers that are booked; each peer is a cluster."""
    ranks = entry["ranks"]
    replicas = max((one["replicas"] for one in root.each("application")), default=1)
    placeholders = [BookedPeer(f"{NOT_BOOKED}-{number}", "", ranks) for number in range(replicas)]
    booked = reading.context.booked or [placeholders]
    if not reading.extent.grow(MachineAmount.RANKS, ranks * replicas, entry.location):
        return (), 0
    sites = [
        [(one.name, FrontEnd(one.address), (Node(one.name, one.name, one.ranks),)) for one in site]
        for site in booked
    ]
    return tuple(
        replace(site, clusters=tuple(replace(one, peer=one.name) for one in site.clusters))
        for site in _direct(entry, sites)
    ), 0


def _direct(
    entry: CheckedElement, sites: Sequence[Sequence[tuple[str, FrontEnd, tuple[Node, ...]]]]
) -> tuple[DeployedSite, ...]:
    """Return sites of clusters that nothing lies before, whose names, front-ends, nodes are given.

    They are described by one element, in which their native MPI is as well.
    """
    mpi = read_mpi([entry])
    return tuple(
        DeployedSite(
            f"site{site}",
            tuple(
                DeployedCluster(
                    name=name,
                    position=(site, number),
                    path=f"site{site}/{name}",
                    hops=(),
                    mpi=mpi,
                    front_end=front_end,
                    nodes=nodes,
                    reachability=Reachability.DIRECT,
                    location=entry.location,
                )
                for number, (name, front_end, nodes) in enumerate(clusters)
            ),
            0,
            entry.location,
        )
        for site, clusters in enumerate(sites)
    )


def _wan(entry: CheckedElement, reading: Reading) -> Wan | None:
    try:
        return parse_wan(entry["wan"])
    except ValueError as fault:
        reading.fault("bad-line", f"wan of <emulate>: {fault}", entry.location)
        return None


def _site(number: int, above: Above, reading: Reading) -> DeployedSite:
    entry, name = above.site, above.site_name
    clusters = tuple(
        read_cluster(child, (number, position), above, reading)
        for position, child in enumerate(entry.each("cluster"))
    )
    distinct(reading, f"site '{name}': cluster", ((one.name, one.location) for one in clusters))
    leader = _chosen(entry, "cluster", [cluster.name for cluster in clusters], reading)
    return DeployedSite(name, clusters, leader, entry.location)


_MACHINES: Mapping[str, Callable[[CheckedElement, CheckedElement, Reading], Sites]]
_MACHINES = {"grid": _grid, "emulate": _emulated, "peers": _booked}


def _chosen(entry: CheckedElement, what: str, names: list[str], reading: Reading) -> int:
    chosen = entry["front-end"]
    if not chosen:
        return 0
    if chosen not in names:
        reading.fault(
            "unknown-reference",
            f'front-end="{chosen}" of <{entry.type.name}> names no {what} of it',
            entry.location,
            hint=did_you_mean(chosen, names) or f"there are: {', '.join(names)}",
        )
        return 0
    return names.index(chosen)


def _check_ports(sites: list[DeployedSite], reading: Reading) -> None:
    first: dict[tuple[tuple[SshHop, ...], NamedLauncher | None, int], DeployedCluster] = {}
    for cluster in (cluster for site in sites for cluster in site.clusters):
        key = (cluster.hops, cluster.launcher, cluster.front_end.port)
        if cluster.front_end.port and key in first:
            reading.fault(
                "port-taken",
                f"the front-ends of '{first[key].path}' and '{cluster.path}' are on one machine "
                f"and both want port {cluster.front_end.port}",
                cluster.location,
                hint="give them different ports, or none",
            )
        first.setdefault(key, cluster)


def read_detection(
    root: CheckedElement, sites: tuple[DeployedSite, ...], reading: Reading
) -> FailureDetection:
    """Return how failures are detected; a period that is too long for the timeout is a fault."""
    entry = root.only("failure-detector")
    if entry is None:
        return FailureDetection()
    found: FailureDetection = entry.record(reading, is_asked_for=True)
    sizes = [len(site.clusters) for site in sites]
    if found.protocol is not None:
        members = 1 + (max(sizes, default=0) if found.protocol.row.own_site else sum(sizes))
        try:
            fitted(found.protocol, members, found.timeout, found.period)
        except UnfitDetector as fault:
            reading.fault("unfit-detector", fault.what, entry.location, hint=fault.cure)
    return found


def read_transports(
    root: CheckedElement, sites: tuple[DeployedSite, ...], reading: Reading
) -> tuple[tuple[DeployedSite, ...], tuple[str, ...]]:
    """Return the transports of a run, and its sites as these let them be reached.

    Where nothing but ssh is left between clusters, none can connect to another one. What is inside
    a cluster, and leads to its end of a tunnel, is what it would be in any such cluster.
    """
    entry = root.only("grid") or root.only("emulate")
    named = TRANSPORTS if entry is None else tuple(dict.fromkeys(entry["transport"]))
    if entry is None or named == TRANSPORTS:
        return sites, TRANSPORTS
    if unknown := [one for one in named if one not in TRANSPORTS and "." not in one]:
        reading.fault(
            "unknown-transport",
            f"transport '{unknown[0]}' is not known",
            entry.location,
            hint=did_you_mean(unknown[0], TRANSPORTS) or "name unix, tcp, ssh or a module.Class",
        )
        return sites, TRANSPORTS
    if SSH in named[:-1]:
        reading.fault(
            "transport-order",
            "'ssh' is not the last transport, but is used where no other one leads",
            entry.location,
            hint="write it last, or alone",
        )
    clusters = [one for site in sites for one in site.clusters]
    if UNIX not in named and any(one.wan is not None for one in clusters):
        reading.fault(
            "transport-reach",
            f'transport="{" ".join(named)}" leaves out unix, over which alone the line of '
            f'wan="{entry["wan"]}" leads to ranks',
            entry.location,
            hint='add "unix" to transport, or leave wan out',
        )
    is_one_host = all(
        one.is_local and all(is_at_front_end(one, node) for node in one.nodes) for one in clusters
    )
    if any(one == TCP or "." in one or (one == UNIX and is_one_host) for one in named):
        return sites, named
    if SSH not in named:
        reading.fault(
            "transport-reach",
            f'transport="{" ".join(named)}" leads to no other host, where some clusters are',
            entry.location,
            hint='add "tcp", or "ssh" for tunnels',
        )
    return tuple(
        replace(
            site,
            clusters=tuple(
                replace(one, reachability=Reachability.ISOLATED) for one in site.clusters
            ),
        )
        for site in sites
    ), TRANSPORTS


_MOST_NAMED = 4


def check_routes(deployment: Deployment, reading: Reading) -> None:
    """Report the clusters of a `COMM_WORLD` that nothing joins.

    Only those to which nobody can connect can be so, where no command leads that could carry a
    tunnel. What is not written has been guessed, so the first cure is to write what is so.
    """
    for code in deployment.applications:
        if code.comm_world is CommWorld.GRID:
            _check(code, deployment, reading)


def _check(code: Application, deployment: Deployment, reading: Reading) -> None:
    with_ranks = [one for one in code.clusters if deployment.cluster(one).ranks]
    apart = [deployment.cluster(one) for one in without_way(deployment.grid(), with_ranks)]
    if not apart:
        return
    names = listed([one.path for one in apart], _MOST_NAMED)
    reading.fault(
        "no-route",
        f"no message gets from one to another of {names}: none of these clusters can connect to "
        "another one, and behind a <launcher> or on peers there is no tunnel",
        apart[1].location,
        hint='if others can connect to one of them, write reachability="direct" there, or '
        '"front-end" for its front-end alone; reach them by <ssh>, through which messages pass; '
        "or add a cluster that they can connect to, which relays: it needs no ranks if `clusters` "
        "of the <application> leaves it out",
    )
