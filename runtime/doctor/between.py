"""Checks between hosts: versions, connections; and the findings of all checks, sorted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from gcm.documents import Severity
from runtime.deployment import Position
from runtime.doctor.checks import CHECKS, install
from runtime.doctor.reaching import check_reached
from runtime.doctor.records import Dial, Finding, Record
from runtime.mpi4py_version import is_too_old
from runtime.rank_name import RankName
from runtime.routing import Leg, Rank, Route, Stop, routes
from runtime.topology import Grid
from runtime.transport.passage import host_and_port

Attempted = Mapping[tuple[Position, Position, bool], Dial]
"""The connections that were tried: from a cluster, to a cluster, whether to its front-end."""

_WHY = {
    "python": "objects that ranks send each other are pickled, and programs may need one version",
    "numpy": "arrays that ranks send each other are pickled; numpy 1 cannot read those of numpy 2",
    "mpi4py": "the program meets another interface on each side",
}


def check_versions(records: Sequence[Record]) -> Iterator[Finding]:
    """Yield hosts whose versions differ from the launcher's, or the first host's if it has none.

    Python and packages are compared by their first two numbers; the package of this project is not,
    because a run brings its own version to each host.
    """
    reference: dict[str, tuple[str, str]] = {}
    for record in sorted(records, key=lambda one: not one.host.is_here):
        host, facts = record.host, record.facts
        if facts is None or not (host.is_here or host.needs_mpi4py):
            continue
        versions = {"python": ".".join(map(str, facts.version)), **facts.packages}
        for name, version in versions.items():
            if not version or name not in _WHY or (name == "mpi4py" and is_too_old(version)):
                continue
            known, where = reference.setdefault(name, (version, host.where))
            if _short(version) == _short(known):
                continue
            is_severe = name == "numpy" and version.split(".")[0] != known.split(".")[0]
            shown = name.capitalize() if name == "python" else name
            yield Finding(
                f"other-{name}",
                Severity.ERROR if is_severe else Severity.WARNING,
                f"{shown} is {version} here and {known} at {where}",
                host.where,
                _WHY[name],
                f'<front-end python="/path/to/python{_short(known)}"/>'
                if name == "python"
                else install(facts, f"{name}=={known}"),
                host.location,
            )


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def check_connections(
    grid: Grid, records: Sequence[Record], dials: Iterable[Dial]
) -> Iterator[Finding]:
    """Yield directions in which clusters cannot connect although the descriptor says so.

    It is an error where no other route is left for the pair, else a warning, because the first
    message waits until the routes before it have failed. All clusters that cannot connect to the
    same one share a finding.
    """
    tried = {(dial.source, dial.target, dial.to_front_end): dial for dial in dials}
    owners = {at: record for record in records for at in record.host.clusters}
    blocked: dict[tuple[Position, Position, bool], tuple[Dial, Route | None]] = {}
    for source in owners:
        for target in owners:
            if source == target or not _have_ranks(grid, source, target):
                continue
            found = routes(grid, RankName(*source, 0), RankName(*target, 0))
            closed = [_closed(route, tried) for route in found]
            works = next((at for at, dial in enumerate(closed) if dial is None), None)
            for dial in closed[:works]:
                assert dial is not None
                key = (dial.source, dial.target, dial.to_front_end)
                if works is None:
                    blocked[key] = dial, None
                    break  # all of them are closed; the shortest is the one to open
                blocked.setdefault(key, (dial, found[works]))
    endpoints: dict[object, list[tuple[Dial, Route | None]]] = {}
    for dial, another in blocked.values():
        endpoint = (dial.target, dial.to_front_end, dial.kind, another is None)
        endpoints.setdefault(endpoint, []).append((dial, another))
    for alike in endpoints.values():
        yield _closed_endpoint([dial for dial, _ in alike], alike[0][1], owners, grid)


def _have_ranks(grid: Grid, *clusters: Position) -> bool:
    return all(grid.cluster_at(*at).size for at in clusters)


def _closed(route: Route, tried: Attempted) -> Dial | None:
    """Return the first connection of a route that cannot be made; untried ones can be."""
    for leg in route.legs:
        dial = tried.get(_key(leg))
        if dial is not None and not dial.is_open:
            return dial
    return None


def _key(leg: Leg) -> tuple[Position, Position, bool]:
    return (leg.dialler.cluster, leg.listener.cluster, not isinstance(leg.listener, Rank))


def _closed_endpoint(
    dials: Sequence[Dial],
    another: Route | None,
    owners: Mapping[Position, Record],
    grid: Grid,
) -> Finding:
    dial, target = dials[0], owners[dials[0].target].host
    sources = ", ".join(dict.fromkeys(owners[one.source].host.path for one in dials))
    endpoint = "the front-end" if dial.to_front_end else "ranks"
    kind, detail = dial.kind, dial.detail
    way = another and another.named(partial(_name, grid))
    is_name = kind == "unresolved"
    host, _ = host_and_port(dial.address)
    return Finding(
        "unresolvable-name" if is_name else "closed-port",
        Severity.WARNING if another else Severity.ERROR,
        f"{endpoint} of {target.path} cannot be connected to from {sources}:"
        f" {dial.address} {'is not a name known there' if is_name else f'is {kind} ({detail})'}",
        f"{sources} → {target.path}",
        f"messages take another route ({way}), the first one only after this one has failed"
        if way
        else "no other route is left between their ranks",
        _mend(dial, host, is_name=is_name),
        target.location,
    )


def _name(grid: Grid, stop: Stop) -> str:
    site, cluster = stop.cluster
    path = f"{grid.sites[site].name}/{grid.cluster_at(site, cluster).name}"
    return f"ranks of {path}" if isinstance(stop, Rank) else f"front-end of {path}"


def _mend(dial: Dial, host: str, *, is_name: bool) -> str:
    if is_name:
        return (
            f"add {host} to /etc/hosts or the name service there"
            ', or name the address of the front-end: <front-end address="10.0.0.1" port="7100"/>'
            ' and reachability="front-end"'
        )
    if dial.to_front_end:
        _, port = host_and_port(dial.address)
        return (
            f"open TCP port {port} of {host} in the firewall, or write"
            ' reachability="outwards" if nothing may come in'
        )
    return (
        f"open the TCP ports of {host} in the firewall (sysctl net.ipv4.ip_local_port_range), or"
        ' write reachability="front-end" with <front-end port="..."> if one port may be open,'
        ' reachability="outwards" if none may'
    )


def findings_of(
    records: Sequence[Record], grid: Grid | None = None, dials: Iterable[Dial] = ()
) -> list[Finding]:
    """Return all findings: errors before warnings, then in the order of the hosts.

    >>> from runtime.doctor.records import ExaminedHost, HostFacts
    >>> host = ExaminedHost("this machine", "python3", needs_mpi=True, ranks=1)
    >>> facts = HostFacts("n", "ana", "python3", (3, 11, 2))
    >>> [one.code for one in findings_of([Record(host, facts)])]
    ['no-mpiexec']
    """
    found: list[Finding] = []
    for record in records:
        found += check_reached(record)
        if record.facts is not None:
            for check in CHECKS:
                found += check(record.host, record.facts, record)
    found += check_versions(records)
    if grid is not None:
        found += check_connections(grid, records, dials)
    return sorted(found, key=lambda one: one.severity is not Severity.ERROR)
