"""The components that live in a front-end, bound to those in other front-ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gcm.components.model import Component
from gcm.factory import primitive
from gcm.interfaces.interface import ServerEnd
from runtime.engine.configuration import Configuration
from runtime.engine.hierarchy import CLUSTERING, above, clustering_path, hosted_identifiers
from runtime.engine.outcome import Connections
from runtime.engine.route_monitor import PART
from runtime.hosting.host import Host
from runtime.machine.clustering import DOWN, MEMBERSHIP, TYPE, UP, VIEWS, Clustering
from runtime.machine.contracts import Facts


class MonitoredClustering(Clustering):
    """A clustering component that can be asked how ranks below it found others."""

    connections: Callable[[str], Connections] = staticmethod(lambda _: Connections())


class Components:
    """The clustering components of a front-end; made and called on the reactor's thread.

    `gathered` is called with the identifier of each level whose members have all told, `reports`
    returns what is known of the ranks of this cluster, `seen` gets each view. `connections` tells
    how a rank, or with nothing all of them, found others.
    """

    def __init__(
        self,
        host: Host,
        told: Configuration,
        *,
        gathered: Callable[[str], None],
        reports: Callable[[], list[Facts]],
        seen: Callable[[int, bytes], None],
        connections: Callable[[str], Connections],
    ) -> None:
        self._host = host
        self._told = told
        self._gathered = gathered
        self._reports = reports
        self._contents: dict[str, Clustering] = {}
        self._here: dict[str, Component] = {}
        for identifier in hosted_identifiers(told.cluster, told.levels):
            passed_on = partial(self._passed_on, identifier)
            if identifier == told.cluster:
                content = MonitoredClustering(identifier, passed_on, seen)
                content.connections = connections
            else:
                content = MonitoredClustering(identifier, passed_on)
            self._contents[identifier] = content
            self._here[identifier] = made = new_clustering(content)
            host.publish(clustering_path(identifier), made)
        for identifier, component in self._here.items():
            upper = above(identifier)
            if upper is not None:
                component.bind(UP, self._end(upper, MEMBERSHIP))
            component.start()

    def expect(self, part: str, epoch: int, members: list[str]) -> None:
        """Let a component wait for its members; a site or the grid is bound to them by then."""
        if part != self._told.cluster:
            down = self._here[part].client(DOWN)
            for member in members:
                end = self._end(member, VIEWS)
                if not down.is_bound_to(end):  # members join while the component runs
                    down.bind(end)
            down.wire()
        self._contents[part].expect(epoch, members)

    def ready(self, rank: str, epoch: int) -> None:
        """Let a rank take part in the round of its cluster."""
        self._contents[self._told.cluster].ready(rank, epoch, [])

    def _passed_on(self, identifier: str, found: list[Facts]) -> list[Facts]:
        self._gathered(identifier)
        return self._reports() if identifier == self._told.cluster else found

    def _end(self, identifier: str, interface: str) -> ServerEnd:
        declared = TYPE.find(interface)
        assert declared is not None
        return self._host.end(clustering_path(identifier), interface, declared)


def new_clustering(content: Clustering) -> Component:
    """Return a clustering component."""
    return primitive(lambda: content, CLUSTERING, type=TYPE, controllers=PART)


def rehearse() -> None:
    """Make a component as a front-end does, and forget it: others are made faster then."""
    upper, lower = (new_clustering(MonitoredClustering("", list)) for _ in range(2))
    lower.bind(UP, upper.server(MEMBERSHIP))
    lower.start()
