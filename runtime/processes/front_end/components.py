"""The components that live in a front-end, bound to those in other front-ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import asdict
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from gcm.components.model import Component
from gcm.factory import primitive
from gcm.interfaces.interface import ClientInterface, ServerEnd
from gcm.interfaces.types import ComponentType
from runtime.hosting.host import Host
from runtime.lifecycle.outcome import Connections
from runtime.machine.calls import DispatchTable, operations
from runtime.machine.clustering import (
    CLUSTER_TYPE,
    DOWN,
    FROM_RANKS,
    MEMBERSHIP,
    TO_RANKS,
    TYPE,
    UP,
    VIEWS,
    WRAPPER_TYPE,
    Clustering,
    names_of,
)
from runtime.machine.contracts import (
    CONTRACTS,
    Control,
    Facts,
    Health,
    References,
    Routes,
    Views,
)
from runtime.machine.paths import CLUSTERING, above, clustering_path, hosted_identifiers, part_path
from runtime.processes.configuration import FrontEndSettings
from runtime.processes.part_controllers import PART, WATCHING_PART, Figures
from runtime.transport.channel import Channel
from runtime.transport.reactor import Reactor

if TYPE_CHECKING:
    from runtime.processes.heartbeats import HeartbeatLoop

C = TypeVar("C")


class MonitoredClustering(Clustering):
    """A clustering component that can be asked how ranks below it found others."""

    def figures(self, rank: str) -> Figures:  # noqa: ARG002 - it has no ranks of its own
        """Return nothing: only a cluster knows ranks."""
        return asdict(Connections())


class Ranks(Health, References, Protocol):
    """What is done about what ranks tell: the present run of the ranks of a cluster."""

    def ready(self, member: str, reports: list[Facts]) -> None:
        """Take what a rank tells of itself."""
        ...


class FrontEndState(Protocol):
    """What the components of a front-end tell and ask the rest of it, on the reactor's thread."""

    def gathered(self, part: str) -> None:
        """Take note that all members of a part of the machine have told who they are."""

    def reports(self) -> list[Facts]:
        """Return what is known of the ranks of the cluster."""

    def seen(self, table: bytes) -> None:
        """Take a view."""

    def present_ranks(self) -> Ranks:
        """Return the present run of the ranks."""

    def connections(self, rank: str) -> Connections:
        """Return how a rank, or with nothing all of them, found others."""


def _passing_on(*contracts: type) -> Callable[[type[C]], type[C]]:
    """Give a class the operations of contracts, each of which calls that of the present ranks."""

    def passing(operation: str, declared: Callable[..., None]) -> Callable[..., None]:
        @wraps(declared)
        def passed(self: Any, *args: Any) -> None:
            getattr(self._front_end.present_ranks(), operation)(*args)

        return passed

    def complete(made: type[C]) -> type[C]:
        for contract in contracts:
            for operation in operations(cast(Hashable, contract)):
                setattr(made, operation, passing(operation, getattr(contract, operation)))
        return made

    return complete


@_passing_on(Health, References)
class ClusterClustering(MonitoredClustering):
    """The clustering component of a cluster: its members are ranks, bound while connected.

    What ranks tell of their health and references is passed on to their present run.
    """

    control_down: Control | None = None
    routes_down: Routes | None = None

    def __init__(
        self,
        identifier: str,
        gathered: Callable[[list[Facts]], list[Facts]],
        front_end: FrontEndState,
        reactor: Reactor,
        heartbeats: HeartbeatLoop | None,
    ) -> None:
        super().__init__(identifier, gathered, front_end.seen)
        self.reactor = reactor
        self.heartbeats = heartbeats
        self._front_end = front_end

    def figures(self, rank: str) -> Figures:
        """Return how a rank, or with nothing all of them, found others."""
        return asdict(self._front_end.connections(rank))

    def ready(self, member: str, reports: list[Facts]) -> None:
        """Let the run of the ranks look at what one tells; see `is_ready`."""
        self._front_end.present_ranks().ready(member, reports)

    def is_ready(self, rank: str) -> None:
        """Let a rank take part in the round; what is told of it is known by their run."""
        super().ready(rank, [])

    def view(self, table: bytes) -> None:
        """Keep a view: ranks get it when they may run."""
        self._seen(table)


class Components:
    """The clustering components of a front-end; made and called on the reactor's thread."""

    def __init__(
        self,
        host: Host,
        configuration: FrontEndSettings,
        front_end: FrontEndState,
        heartbeats: HeartbeatLoop | None,
    ) -> None:
        self._host = host
        self._configuration = configuration
        self._front_end = front_end
        passed_on = partial(self._passed_on, configuration.cluster)
        self._own = ClusterClustering(
            configuration.cluster, passed_on, front_end, host.reactor, heartbeats
        )
        self._contents: dict[str, Clustering] = {configuration.cluster: self._own}
        self._here: dict[str, Component] = {}
        self._joined: dict[str, Channel] = {}
        for identifier in hosted_identifiers(configuration.cluster, configuration.levels):
            content = self._contents.setdefault(
                identifier, MonitoredClustering(identifier, partial(self._passed_on, identifier))
            )
            self._here[identifier] = made = new_clustering(content)
            host.publish(clustering_path(identifier), made)
        for identifier, component in self._here.items():
            upper = above(identifier)
            if upper is not None:
                component.bind(UP, self._end(clustering_path(upper), MEMBERSHIP, TYPE))
            component.start()
        self.from_ranks = DispatchTable()
        for contract in FROM_RANKS:
            stub: Any = self._here[configuration.cluster].server(CONTRACTS[contract]).stub
            self.from_ranks.serve(contract, stub)

    def expect(self, part: str, members: list[str]) -> None:
        """Let a component wait for its members; a site or the grid is bound to them by then."""
        if part != self._configuration.cluster:
            down = self._here[part].client(DOWN)
            for member in members:
                end = self._end(clustering_path(member), VIEWS, TYPE)
                if not down.is_bound_to(end):  # members join while the component runs
                    down.bind(end)
                    self._contents[part].branches[member] = _bound(down, end)
            down.wire()
        self._contents[part].expect(members)

    def forget(self, part: str, member: str) -> None:
        """Let a component wait no more for a member."""
        self._contents[part].forget(member)

    def is_ready(self, rank: str) -> None:
        """Let a rank take part in the round of its cluster."""
        self._own.is_ready(rank)

    def join(self, rank: str, channel: Channel) -> None:
        """Bind the cluster to a rank for as long as its connection lives."""
        path = part_path(rank)
        self._joined[path] = channel
        self._host.routes.add(path, channel)
        for name in names_of(TO_RANKS):
            down, end = self._down(name), self._end(path, name, WRAPPER_TYPE)
            if not down.is_bound_to(end):  # else it is that of the run before
                down.bind(end)
            if name == VIEWS:
                self._own.branches[rank] = _bound(down, end)
        channel.when_closed(lambda _: self._leave(rank, path, channel))

    @property
    def views(self) -> Views:
        """The views of all ranks that are here."""
        return cast(Views, self._all(Views) or _Nobody())

    @property
    def control(self) -> Control:
        """The control of all ranks that are here."""
        return cast(Control, self._all(Control) or _Nobody())

    def _all(self, contract: type) -> object:
        down = self._down(CONTRACTS[contract])
        down.settle()
        return down.reference

    def _down(self, name: str) -> ClientInterface:
        return self._here[self._configuration.cluster].client(f"{name}-down")

    def _leave(self, rank: str, path: str, channel: Channel) -> None:
        if self._joined.get(path) is not channel:
            return  # another incarnation has taken its place
        del self._joined[path], self._own.branches[rank]
        for name in names_of(TO_RANKS):
            self._down(name).unbind(self._end(path, name, WRAPPER_TYPE))
        self._host.routes.drop(path)

    def _passed_on(self, identifier: str, found: list[Facts]) -> list[Facts]:
        self._front_end.gathered(identifier)
        return self._front_end.reports() if identifier == self._configuration.cluster else found

    def _end(self, path: str, interface: str, type: ComponentType) -> ServerEnd:
        declared = type.find(interface)
        assert declared is not None
        return self._host.end(path, interface, declared)


def _bound(down: ClientInterface, end: ServerEnd) -> Views:
    """Return what a multicast interface calls of one of the ends that it is bound to."""
    return cast(Views, dict(down.members())[end.path])


class _Nobody:
    """Has every operation, and nobody to call."""

    def __getattr__(self, operation: str) -> Callable[..., None]:
        return lambda *_: None


def new_clustering(content: Clustering) -> Component:
    """Return a clustering component."""
    if not isinstance(content, ClusterClustering):
        return primitive(lambda: content, CLUSTERING, type=TYPE, controllers=PART)
    controllers = PART if content.heartbeats is None else WATCHING_PART
    return primitive(lambda: content, CLUSTERING, type=CLUSTER_TYPE, controllers=controllers)


def rehearse() -> None:
    """Make components as a front-end does, and forget them: others are made faster then."""
    nobody: Any = _Nobody()
    upper = new_clustering(MonitoredClustering("", list))
    lower = new_clustering(ClusterClustering("", list, nobody, nobody, None))
    lower.bind(UP, upper.server(MEMBERSHIP))
    upper.client(DOWN).bind(lower.server(VIEWS))
    lower.start()
    for contract in FROM_RANKS:
        _ = lower.server(CONTRACTS[contract]).stub
