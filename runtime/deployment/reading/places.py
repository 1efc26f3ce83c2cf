"""Finds clusters and nodes by the paths that a descriptor uses for them."""

from __future__ import annotations

from collections.abc import Iterable

from gcm.documents import Location, did_you_mean
from runtime.deployment.extent import MachineAmount
from runtime.deployment.model import DeployedSite, NodeAddress, Position
from runtime.deployment.surroundings import Reading


class Places:
    """The clusters and nodes of a machine by `site`, `site/cluster` and `site/cluster/node`."""

    def __init__(self, sites: Iterable[DeployedSite], reading: Reading) -> None:
        self._reading = reading
        everywhere: list[Position] = []
        self._clusters: dict[str, tuple[Position, ...]] = {}
        self._nodes: dict[str, dict[str, NodeAddress]] = {}
        for site in sites:
            self._clusters.setdefault(site.name, tuple(one.position for one in site.clusters))
            for cluster in site.clusters:
                everywhere.append(cluster.position)
                self._clusters.setdefault(cluster.path, (cluster.position,))
                self._nodes.setdefault(
                    cluster.path,
                    {
                        node.name: NodeAddress(cluster.position, number)
                        for number, node in enumerate(cluster.nodes)
                    },
                )

        self._everywhere = tuple(everywhere)

    def everywhere(self) -> tuple[Position, ...]:
        """Return all clusters."""
        return self._everywhere

    def clusters(self, paths: Iterable[str], location: Location) -> tuple[Position, ...]:
        """Return the clusters of some paths, each once, and report unknown ones."""
        found: dict[Position, None] = {}
        for path in paths:
            if path in self._clusters:
                if not self._has_room(len(self._clusters[path]), location):
                    return ()
                found.update(dict.fromkeys(self._clusters[path]))
            else:
                self._unknown("cluster", path, self._clusters, location)
        return tuple(sorted(found))

    def cluster(self, path: str, location: Location) -> Position | None:
        """Return the one cluster of a `site/cluster` path; report an unknown one."""
        if path in self._nodes:
            return self._clusters[path][0]
        self._unknown("cluster", path, self._nodes, location)
        return None

    def nodes(self, paths: Iterable[str], location: Location) -> tuple[NodeAddress, ...]:
        """Return the nodes of some paths, each once, in the order written; report unknown ones."""
        found: dict[NodeAddress, None] = {}
        for path in paths:
            cluster, _, name = path.rpartition("/")
            if path in self._nodes:
                if not self._has_room(len(self._nodes[path]), location):
                    return ()
                found.update(dict.fromkeys(self._nodes[path].values()))
            elif cluster not in self._nodes:
                self._unknown("node", path, self._nodes, location)
            elif name not in self._nodes[cluster]:
                known = [f"{cluster}/{node}" for node in self._nodes[cluster]]
                self._unknown("node", path, known, location)
            else:
                found[self._nodes[cluster][name]] = None
        return tuple(found)

    def _has_room(self, count: int, location: Location) -> bool:
        return self._reading.extent.grow(MachineAmount.PARTS, count, location)

    def _unknown(self, what: str, path: str, known: Iterable[str], location: Location) -> None:
        self._reading.fault(
            "unknown-reference",
            f"the machine has no {what} '{path}'",
            location,
            hint=did_you_mean(path, known) or f"there are: {_some(list(known))}",
        )


def _some(names: list[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
