"""Reads one cluster of a descriptor: the path to it, its front-end, its MPI, its nodes."""

from __future__ import annotations

import re
from dataclasses import replace

from gcm.records import dataclass
from runtime.deployment.extent import MachineAmount
from runtime.deployment.language.grammar import NAME_PATTERN
from runtime.deployment.model import (
    LOCAL_ADDRESS,
    DeployedCluster,
    FrontEnd,
    Mpi,
    NamedLauncher,
    Position,
    SpareHost,
    SshHop,
)
from runtime.deployment.reading.placement import TooFewSlotsError, spread
from runtime.deployment.reading.spares import WrittenNode, read_spares
from runtime.deployment.reading.ssh_options import ssh_settings
from runtime.deployment.reading.structure import CheckedElement
from runtime.deployment.surroundings import Reading, distinct
from runtime.machine_words import without_brackets
from runtime.topology import Node, Reachability

_NAME = re.compile(NAME_PATTERN)
_HOPS_OF_A_HIDDEN_MACHINE = 2


@dataclass(frozen=True, slots=True)
class Above:
    """What is above a cluster; `mixed` tells whether any cluster is on another machine."""

    grid: CheckedElement
    site: CheckedElement
    site_name: str
    mixed: bool


def read_cluster(
    entry: CheckedElement, position: Position, above: Above, reading: Reading
) -> DeployedCluster:
    """Return the cluster at a position, not yet with its application."""
    name = entry.text("name") or f"cluster{position[1]}"
    path = f"{above.site_name}/{name}"
    hops = read_hops([*above.site.each("ssh"), *entry.each("ssh")], reading)
    mpi = read_mpi([above.grid, above.site, entry])
    launcher = _launcher(entry, hops, reading)
    host = hops[-1].host if hops else "" if launcher is None else launcher.host
    front_end = _front_end(entry.only("front-end"), host, reading)
    hidden = len(hops) >= _HOPS_OF_A_HIDDEN_MACHINE
    if not host:
        hidden = above.mixed and front_end.address == LOCAL_ADDRESS
    reachability = entry.text("reachability")
    if reachability == "auto":
        reachability = Reachability.OUTWARDS if hidden else Reachability.DIRECT
    nodes, spares = _nodes(entry, path, host or "localhost", mpi.ranks, reading)
    return DeployedCluster(
        name=name,
        position=position,
        path=path,
        hops=hops,
        mpi=mpi,
        front_end=front_end,
        nodes=nodes,
        reachability=Reachability(reachability),
        location=entry.location,
        launcher=launcher,
        spares=spares,
    )


def _launcher(
    entry: CheckedElement, hops: tuple[SshHop, ...], reading: Reading
) -> NamedLauncher | None:
    """Return the launcher that a cluster names, after reporting one that is combined with hops."""
    named = entry.only("launcher")
    if named is None:
        return None
    if hops:
        reading.fault(
            "two-ways",
            "the cluster has a <launcher>, and it or its site has <ssh>",
            named.location,
            hint="leave one of them out; a launcher can use ssh itself",
        )
    return NamedLauncher(
        named.text("class"),
        named.words("arguments"),
        without_brackets(named.text("host")),
        reading.surroundings.folder,
        named.location,
    )


def read_hops(entries: list[CheckedElement], reading: Reading) -> tuple[SshHop, ...]:
    """Return the hops that <ssh> elements describe."""
    return tuple(
        SshHop(
            host=without_brackets(entry.text("host")),
            port=entry.number("port"),
            user=entry.text("user"),
            key=reading.existing(entry.text("key"), "the key file", entry.location),
            known_hosts=reading.path(entry.text("known-hosts")),
            accept_new=entry.text("new-host-keys") == "accept",
            options=ssh_options(entry, reading),
            command_path=entry.text("command-path"),
        )
        for entry in entries
    )


def ssh_options(entry: CheckedElement, reading: Reading) -> tuple[str, ...]:
    """Return the `options` of an element that are for `ssh`, or none after reporting bad ones."""
    options = entry.words("options")
    try:
        ssh_settings(options, [one.name for one in entry.type.attributes])
    except ValueError as fault:
        reading.diagnostics.report(
            "bad-ssh-option",
            f'options="{entry.text("options")}" of <{entry.type.name}> cannot be used: {fault}',
            entry.location,
            hint="what else is needed can be in your own ssh configuration, under that host",
        )
        return ()
    return options


def _front_end(entry: CheckedElement | None, host: str, reading: Reading) -> FrontEnd:
    """Return the front-end on a host, or on this machine where that is empty."""
    address = host or LOCAL_ADDRESS
    python = "python3" if host else reading.surroundings.python
    if entry is None:
        return FrontEnd(address, python=python)
    return FrontEnd(
        address=without_brackets(entry.text("address")) or address,
        port=entry.number("port") or 0,
        python=entry.text("python") or python,
        folder=entry.text("folder") if host else reading.path(entry.text("folder")),
    )


def read_mpi(levels: list[CheckedElement]) -> Mpi:
    """Merge the <mpi> elements of nested levels; the last level, the nearest one, wins."""
    merged = Mpi()
    for level in levels:
        entry = level.only("mpi")
        if entry is None:
            continue
        if entry.has("command-path"):
            merged = replace(merged, command_path=entry.text("command-path"))
        if entry.has("flavour"):
            merged = replace(merged, flavour=entry.text("flavour"))
        if entry.has("ranks"):
            merged = replace(merged, ranks=entry.number("ranks"))
        if entry.has("options"):
            merged = replace(merged, options=entry.words("options"))
    return merged


def _nodes(
    entry: CheckedElement, path: str, host: str, ranks: int | None, reading: Reading
) -> tuple[tuple[Node, ...], tuple[SpareHost, ...]]:
    """Return the nodes with their ranks, and the hosts that hold none."""
    machines = [
        WrittenNode(
            name, where, group.number("slots"), group.text("spare") == "yes", group.location
        )
        for group in entry.each("nodes")
        for name, where in _group(group, reading)
    ]
    if not machines:
        machines = [WrittenNode(host, host, None, False, entry.location)]
    distinct(reading, f"cluster '{path}': node", ((one.name, one.location) for one in machines))
    used = [one.slots for one in machines if not one.is_spare]
    try:
        placed = spread(ranks, used) if used else []
    except TooFewSlotsError as error:
        reading.fault(
            "too-few-slots",
            f"cluster '{path}' has {error}",
            entry.location,
            hint="write more slots or fewer ranks; without slots the ranks are spread evenly",
        )
        placed = [0] * len(used)
    if not reading.extent.grow(MachineAmount.RANKS, sum(placed), entry.location):
        placed = [0] * len(used)
    held = iter(placed)
    nodes = tuple(Node(one.name, one.host, 0 if one.is_spare else next(held)) for one in machines)
    return nodes, read_spares(machines, nodes, path, host, reading)


def _group(entry: CheckedElement, reading: Reading) -> list[tuple[str, str]]:
    hosts, names = entry.hosts("hosts"), entry.names("names")
    if not hosts and not names:
        if not entry.incomplete:
            reading.fault(
                "empty-nodes",
                "<nodes> needs 'hosts', 'names' or both",
                entry.location,
                hint='for example hosts="node[01-16]"',
            )
        return []
    for name in sorted(name for name in set(names) if not _NAME.fullmatch(name)):
        reading.fault(
            "bad-node-name",
            f"<nodes> has '{name}', which is not a name",
            entry.location,
            hint="use letters, digits, '_', '-' and '.'",
        )
    for host in sorted(host for host in set(hosts) if ":" in host):
        reading.fault(
            "bad-node-host",
            f"<nodes> has '{host}', and mpiexec takes no IPv6 address for a host",
            entry.location,
            hint="write a host name that leads to that address",
        )
    names, hosts = names or hosts, hosts or ("localhost",)
    if len(hosts) not in (1, len(names)):
        reading.fault(
            "names-and-hosts",
            f"<nodes> has {len(names)} names for {len(hosts)} hosts",
            entry.location,
            hint="give one name for each host, or one host for all names",
        )
        return []
    return list(zip(names, hosts if len(hosts) > 1 else hosts * len(names), strict=True))
