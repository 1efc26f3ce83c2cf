"""Reads one cluster of a descriptor: the path to it, its front-end, its MPI, its nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gcm.documents import CheckedElement
from gcm.records import dataclass
from runtime.allocations import JobRequest
from runtime.deployment.context import Reading, distinct
from runtime.deployment.extent import MachineAmount
from runtime.deployment.language.kinds import NAME_PATTERN
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
from runtime.deployment.reading.spares import WrittenNode, read_spares
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
    name = entry["name"] or f"cluster{position[1]}"
    path = f"{above.site_name}/{name}"
    ways = (*above.site.each("ssh"), *entry.each("ssh"))
    hops: tuple[SshHop, ...] = tuple(one.record(reading) for one in ways)
    mpi = read_mpi([above.grid, above.site, entry])
    launcher = _launcher(entry, hops, reading)
    batch = _batch(entry, reading)
    host = hops[-1].host if hops else "" if launcher is None else launcher.host
    if batch is not None:
        host = host or LOCAL_ADDRESS
    if not hops and batch is None:
        _refuse_preparation(entry.only("front-end"), reading)
    front_end = _front_end(entry.only("front-end"), host, reading)
    hidden = len(hops) >= _HOPS_OF_A_HIDDEN_MACHINE
    if not host:
        hidden = above.mixed and front_end.address == LOCAL_ADDRESS
    reachability = entry["reachability"]
    if batch is not None and reachability == "auto":
        reachability = Reachability.OUTWARDS  # nodes of a cluster are rarely reached from outside
    if reachability == "auto":
        reachability = Reachability.OUTWARDS if hidden else Reachability.DIRECT
    if batch is None:
        nodes, spares = _nodes(entry, path, host or "localhost", mpi.ranks, reading)
    else:
        nodes, spares = _granted(batch, host, mpi.ranks, entry, reading), ()
    cluster: DeployedCluster = entry.record(
        reading,
        name=name,
        position=position,
        path=path,
        hops=hops,
        hop_locations=tuple(one.location for one in ways),
        mpi=mpi,
        front_end=front_end,
        nodes=nodes,
        reachability=Reachability(reachability),
        launcher=launcher,
        batch=batch,
        spares=spares,
    )
    return cluster


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
    launcher: NamedLauncher = named.record(reading, folder=reading.context.folder)
    return launcher


def _batch(entry: CheckedElement, reading: Reading) -> JobRequest | None:
    """Return what a cluster asks of a batch system, after reporting what cannot be combined."""
    asked = entry.only("batch")
    if asked is None:
        return None
    for other in ("launcher", "nodes"):
        if list(entry.each(other)):
            reading.fault(
                "batch-and-nodes",
                f"the cluster has a <batch> and a <{other}>",
                asked.location,
                hint="leave one of them out; the batch system chooses the nodes",
            )
    request: JobRequest = asked.record(reading)
    if request.again and request.job:
        reading.fault(
            "batch-again",
            f'<batch> has job="{request.job}" and again="{request.again}", but a job that was '
            "submitted elsewhere cannot be asked for again",
            asked.location,
            hint="leave one of them out; without job the run submits jobs itself",
        )
    if request.places and (not request.job or len(request.places) != request.nodes):
        reading.fault(
            "bad-places",
            f"<batch> has places of {len(request.places)} nodes, but "
            + (f"the job has {request.nodes}" if request.job else "no job that runs"),
            asked.location,
            hint="give as many as there are nodes of the job"
            if request.job
            else "ask for the same number on each node, with tasks-per-node",
        )
        request = replace(request, places=())
    for word in request.options:
        if not word.isprintable():
            reading.fault(
                "bad-batch-option",
                f"<batch> has the option {word!r}, which is more than one line",
                asked.location,
            )
    return request


def _granted(
    batch: JobRequest, host: str, ranks: int | None, entry: CheckedElement, reading: Reading
) -> tuple[Node, ...]:
    """Return the nodes that a job will have, under numbers: their names are not known yet."""
    slots = batch.slots
    try:
        placed = spread(ranks, slots)
    except TooFewSlotsError as error:
        reading.fault(
            "too-few-slots",
            f"<batch> has too few places: {error}",
            entry.location,
            hint="ask for more nodes or tasks-per-node",
        )
        placed = [0] * batch.nodes
    if not reading.extent.grow(MachineAmount.RANKS, sum(placed), entry.location):
        placed = [0] * batch.nodes
    return tuple(
        Node(f"node{number}", host if batch.nodes == 1 else f"node{number}", held)
        for number, held in enumerate(placed)
    )


def _front_end(entry: CheckedElement | None, host: str, reading: Reading) -> FrontEnd:
    """Return the front-end on a host, or on this machine where that is empty."""
    address = host or LOCAL_ADDRESS
    python = "python3" if host else reading.context.python
    if entry is None:
        return FrontEnd(address, python=python)
    front_end: FrontEnd = entry.record(
        reading,
        address=entry["address"] or address,
        python=entry["python"] or python,
        folder=entry["folder"] if host else reading.path(entry["folder"]),
    )
    return front_end


def _refuse_preparation(entry: CheckedElement | None, reading: Reading) -> None:
    """Report what is prepared for where nothing of ours could do so."""
    if entry is None:
        return
    for name in filter(entry.has, ("modules", "before", "container")):
        reading.fault(
            "nothing-to-prepare",
            f"<front-end> has '{name}', and neither ssh nor a batch system starts it",
            entry.location,
            hint="on this machine load it before gcm-deploy, and with a <launcher> let that do it",
        )


def read_mpi(levels: list[CheckedElement]) -> Mpi:
    """Merge the <mpi> elements of nested levels; the last level, the nearest one, wins."""
    merged = Mpi()
    for level in levels:
        entry = level.only("mpi")
        if entry is not None:
            merged = replace(merged, **entry.given())
    return merged


def _nodes(
    entry: CheckedElement, path: str, host: str, ranks: int | None, reading: Reading
) -> tuple[tuple[Node, ...], tuple[SpareHost, ...]]:
    """Return the nodes with their ranks, and the hosts that hold none."""
    machines = [
        WrittenNode(name, where, group["slots"], group["spare"], group.location)
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
    hosts, names = entry["hosts"], entry["names"]
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


class TooFewSlotsError(ValueError):
    """More ranks than slots."""


def spread(ranks: int | None, slots: Sequence[int | None]) -> list[int]:
    """Return the number of ranks of each node.

    Nodes with slots are filled one after the other; a node without a number has one slot beside
    nodes that have one. When no node has a number, the ranks are spread evenly, the first nodes
    getting one more. Without `ranks` every slot gets one. Raises `TooFewSlotsError`.

    >>> spread(5, [None, None, None])
    [2, 2, 1]
    >>> spread(5, [4, 4])
    [4, 1]
    """
    if ranks is not None and all(found is None for found in slots):
        each, more = divmod(ranks, len(slots))
        return [each + (number < more) for number in range(len(slots))]
    room = [1 if found is None else found for found in slots]
    if ranks is None:
        return room
    if ranks > sum(room):
        raise TooFewSlotsError(f"{ranks} ranks, but its nodes have {sum(room)} slots")
    placed = []
    for found in room:
        placed.append(min(found, ranks))
        ranks -= placed[-1]
    return placed
