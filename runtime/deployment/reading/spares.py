"""The spare hosts of clusters: those without ranks, on which lost ones can be started again."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.documents import Location
from gcm.records import dataclass
from runtime.deployment.context import Reading
from runtime.deployment.model import THIS_MACHINE, Deployment, FailureMode, SpareHost
from runtime.topology import Node


@dataclass(frozen=True, slots=True)
class WrittenNode:
    """A node as it is written, before it is known how many ranks it holds."""

    name: str
    host: str
    slots: int | None
    is_spare: bool
    location: Location


def read_spares(
    machines: Sequence[WrittenNode],
    nodes: Sequence[Node],
    path: str,
    front_end: str,
    reading: Reading,
) -> tuple[SpareHost, ...]:
    """Return the hosts without ranks of the cluster at a path, whose front-end is on a host.

    These are the ones that are said to be spare, and those that are left over.
    """
    asked = [one for one in machines if one.is_spare]
    if len(asked) == len(machines):
        reading.fault(
            "only-spares",
            f"all hosts of cluster '{path}' are spare: none is left for its ranks",
            asked[0].location,
            hint='write the hosts for its ranks in a <nodes> without spare="yes"',
        )
        return ()
    hosts = [one.host for one in machines]
    for one in {one.host: one for one in asked}.values():
        if hosts.count(one.host) > 1:
            reading.fault(
                "spare-host-twice",
                f"cluster '{path}' has the spare host '{one.host}' more than once",
                one.location,
                hint="a spare host is kept free for the ranks of another one: write it once",
            )
    used: dict[str, int] = {}
    for node in nodes:
        if node.ranks:
            used[node.host] = used.get(node.host, 0) + node.ranks
    is_at_front_end = all(one in THIS_MACHINE or one == front_end for one in used)
    if asked and used and is_at_front_end:
        reading.fault(
            "spare-in-vain",
            f"the spare hosts of cluster '{path}' are of no use: its ranks are on the host of its "
            "front-end, and nothing restarts them if that is lost",
            asked[0].location,
            hint="let the front-end run on a host without ranks, such as this machine or a login "
            "node, and write the hosts of the ranks in <nodes>",
        )
    if is_at_front_end:
        return ()
    most = max(used.values())
    return tuple(
        SpareHost(one.host, one.slots or most, one.location if one.is_spare else None)
        for one in {one.host: one for one in machines}.values()
        if one.host not in used
    )


def check_spares(deployment: Deployment, reading: Reading) -> None:
    """Report spare hosts of clusters in which no lost rank is ever started again."""
    for cluster in deployment.clusters():
        asked = next((one.asked_for for one in cluster.spares if one.asked_for is not None), None)
        code = deployment.application_of(cluster)
        if asked is None or code is None:
            continue
        if code.failures is FailureMode.ABORT and not code.restart:
            reading.fault(
                "spare-in-vain",
                f"the spare hosts of cluster '{cluster.path}' are of no use: the application "
                f"'{code.name}' does not restart lost ranks",
                asked,
                hint='add recovery="rebuild" to the <application>, or leave the spare hosts out',
            )
