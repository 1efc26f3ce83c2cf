"""Reads the machine out of a descriptor: its sites, or the emulation, and who leads what."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gcm.documents import did_you_mean
from runtime.deployment.extent import MachineAmount
from runtime.deployment.machine_argument import parse_wan
from runtime.deployment.model import (
    LOCAL_ADDRESS,
    DeployedCluster,
    DeployedSite,
    FrontEnd,
    NamedLauncher,
    SshHop,
)
from runtime.deployment.reading.cluster import Above, read_cluster, read_mpi
from runtime.deployment.reading.peers import peer_sites
from runtime.deployment.reading.placement import spread
from runtime.deployment.reading.structure import CheckedElement
from runtime.deployment.surroundings import Reading, distinct
from runtime.topology import Node, Reachability, Wan


def read_machine(root: CheckedElement, reading: Reading) -> tuple[tuple[DeployedSite, ...], int]:
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


def _grid(grid: CheckedElement, reading: Reading) -> tuple[tuple[DeployedSite, ...], int]:
    mixed = any(
        place.only("ssh") or place.only("launcher")
        for site in grid.each("site")
        for place in (site, *site.each("cluster"))
    )
    sites = []
    for number, entry in enumerate(grid.each("site")):
        name = entry.text("name") or f"site{number}"
        sites.append(_site(number, Above(grid, entry, name, mixed), reading))
    distinct(reading, "site", ((site.name, site.location) for site in sites))
    _check_ports(sites, reading)
    leader = _chosen(grid, "site", [site.name for site in sites], reading)
    return tuple(sites), leader


def _emulated(entry: CheckedElement, reading: Reading) -> tuple[tuple[DeployedSite, ...], int]:
    ranks, count = entry.number("ranks") or 1, entry.number("nodes") or 1
    sites, clusters = entry.number("sites") or 1, entry.number("clusters") or 1
    grow, each = reading.extent.grow, sites * clusters
    fits = grow(MachineAmount.PARTS, each * count, entry.location)
    if not grow(MachineAmount.RANKS, each * ranks, entry.location) or not fits:
        return (), 0
    placed = spread(ranks, [None] * count)
    nodes = tuple(Node(f"node{number}", "localhost", held) for number, held in enumerate(placed))
    mpi = read_mpi([entry])
    wan = _wan(entry, reading) if entry.text("wan") else None

    def cluster(site: int, number: int) -> DeployedCluster:
        return DeployedCluster(
            name=f"cluster{number}",
            position=(site, number),
            path=f"site{site}/cluster{number}",
            hops=(),
            mpi=mpi,
            front_end=FrontEnd(LOCAL_ADDRESS, python=reading.surroundings.python),
            nodes=nodes,
            reachability=Reachability.DIRECT,
            location=entry.location,
            wan=wan if sites > 1 else None,
        )

    return tuple(
        DeployedSite(
            f"site{site}", tuple(cluster(site, n) for n in range(clusters)), 0, entry.location
        )
        for site in range(sites)
    ), 0


def _wan(entry: CheckedElement, reading: Reading) -> Wan | None:
    try:
        return parse_wan(entry.text("wan"))
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


def _chosen(entry: CheckedElement, what: str, names: list[str], reading: Reading) -> int:
    chosen = entry.text("front-end")
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


Sites = tuple[tuple[DeployedSite, ...], int]

_MACHINES: Mapping[str, Callable[[CheckedElement, CheckedElement, Reading], Sites]]
_MACHINES = {
    "grid": lambda _, grid, reading: _grid(grid, reading),
    "emulate": lambda _, entry, reading: _emulated(entry, reading),
    "peers": peer_sites,
}
