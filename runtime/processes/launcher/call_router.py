"""The ways through the launcher: from ranks, front-ends and the program here to each other.

The launcher passes on what it does not open, in the name of whoever may send it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.coupling.message_paths import DRIVER, cluster_of, rank_path
from runtime.deployment.model import Deployment
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.hosting.host import Host
from runtime.machine.authority import is_for_launcher
from runtime.machine.calls import stub
from runtime.machine.contracts import CONTRACTS, CouplingNews, LauncherAnswers, Mail, Views
from runtime.machine.paths import CLUSTERING, GRID, LAUNCHER, RANKS, clustering_path, host_of
from runtime.part_names import site_of
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.member_host import BETWEEN_FRONT_ENDS, is_to_launcher, sender_of
from runtime.transport.channel import Channel
from runtime.transport.errors import ChannelClosed, TransportError
from runtime.transport.messages import Target

_VIEWS = CONTRACTS[Views]

if TYPE_CHECKING:
    from runtime.processes.launcher.deployed_assembly import DeployedAssembly


class CallRouter:
    """Knows which place leads to a path of the machine; `host` has the components of the program.

    Its places may be made later, but before anything is called. Any thread may call it.
    """

    def __init__(
        self,
        plan: DeploymentPlan,
        places: Mapping[str, ClusterPlace],
        host: Host,
        assembly: DeployedAssembly | None,
    ) -> None:
        self.lead(plan.deployment)
        self._places = places
        self._host = host
        self._assembly = assembly
        self.shown: set[str] = set()
        """The clusters whose front-ends are told who is where: what passes here arrives."""

    def lead(self, deployment: Deployment) -> None:
        """Let sites and the grid be led by the clusters that lead here."""
        self._leaders = [site.leader for site in deployment.sites], deployment.leader

    def parts_at(self, cluster: str) -> list[str]:
        """Return the parts whose clustering components live in the front-end of a cluster."""
        parts = (cluster, site_of(cluster), "")
        return [one for one in parts if self._hosting(clustering_path(one)) == cluster]

    def way_to(self, path: str) -> Channel | None:
        """Return the way to a rank or a component; None for what is for the launcher itself."""
        cluster = cluster_of(path) or self._hosting(path)
        place = self._places.get(cluster or "")
        if place is not None:
            return place.channel
        way = self._host.routes.find(path)
        return way if isinstance(way, Channel) else None

    def call(self, invocation: Invocation) -> Future[Any]:
        """Call a component of the machine."""
        way = self.way_to(invocation.component)
        if way is not None:
            return way.call(invocation)
        future: Future[Any] = Future(invocation)
        future.set_exception(
            ChannelClosed(
                "there is no such component, or no route to it", place=invocation.component
            )
        )
        return future

    def onward(self, cluster: str, target: Target) -> Channel | None:
        """Return the way for what comes from a cluster; None for what is for the launcher.

        Raises:
            TransportError: its front-end, or a rank of it, may not call that, or not in that name.
        """
        path = target.component
        is_mail = path.startswith(RANKS) or is_for_launcher(target)
        if is_mail and cluster_of(rank_path(target.client)) != cluster:
            raise TransportError(f"{cluster} calls {target} in the name of {target.client!r}")
        if path.startswith(f"{GRID}/") and not self._may_call(cluster, target):
            raise TransportError(f"{cluster} may not call {target} as {target.client!r}")
        is_machine = is_mail or path.startswith(f"{GRID}/") or is_to_launcher(target)
        has_nodes = self._assembly is not None and self._assembly.has_nodes_at(cluster)
        if not is_machine and not has_nodes:  # it could send what is opened where components live
            raise TransportError(f"{cluster} may not call {target}: no component lives there")
        if target.interface == _VIEWS and target.operation == "view":
            self.note_view(path)
        return self.way_to(path)

    def note_view(self, path: str) -> None:
        """Record that the front-end with a clustering component is told who is where."""
        cluster = self._hosting(path)
        if cluster is not None:
            self.shown.add(cluster)

    def host_of(self, part: str) -> ClusterPlace:
        """Return the place that hosts the clustering component of a part of the machine."""
        cluster = self._hosting(clustering_path(part))
        assert cluster is not None
        return self._places[cluster]

    def news_to(self, rank: str) -> CouplingNews:
        """Return what brings a rank news of other codes."""
        return stub(CouplingNews, partial(self._send, rank_path(rank), LAUNCHER, now=True))

    def answers_to(self, rank: str) -> LauncherAnswers:
        """Return what brings a rank the answers to its appeals."""
        return stub(LauncherAnswers, partial(self._send, rank_path(rank), LAUNCHER, now=True))

    def mail_to(self, path: str) -> Mail:
        """Return what brings a rank messages of the program here."""
        return stub(Mail, partial(self._send, path, DRIVER, now=False))

    def publish_coupled(self, report: dict[str, Any]) -> None:
        """Tell all front-ends where a rank listens for those of other codes."""
        for place in self._places.values():
            place.orders.coupled(report)

    def _may_call(self, cluster: str, target: Target) -> bool:
        """Tell whether the front-end of a cluster may call a clustering component elsewhere."""
        is_clustering = target.component.endswith(f"/{CLUSTERING}")
        is_meant = is_clustering and target.interface in BETWEEN_FRONT_ENDS
        return is_meant and self._hosting(sender_of(target)) == cluster

    def _hosting(self, path: str) -> str | None:
        """Return the cluster whose front-end hosts the component at a path."""
        return host_of(path, *self._leaders)

    def _send(
        self,
        path: str,
        client: str,
        interface: str,
        operation: str,
        args: tuple[Any, ...],
        *,
        now: bool,
    ) -> None:
        call = Invocation(path, interface, operation, args, client=client)
        self._places[cluster_of(path)].note(call, now=now)
