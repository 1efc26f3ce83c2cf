"""Handshakes: who waits for whom when a run begins, and when clusters come late.

A run begins or goes on without clusters whose queues have granted no nodes yet. Their ranks count
as lost until they are started, each alone, in the places that were kept for them. Nobody waits for
these clusters: the others are led by who is there, and make their handshake without them. A cluster
that has come joins by one more round of it, in which all others learn where its front-end is, and
it learns where everybody is. One joins after the other: of two rounds at once that pass the same
site, the grid would take the first report for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial

from gcm.records import dataclass
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.steps import Step
from runtime.errors import GridError
from runtime.launchers.local import LocalLauncher
from runtime.lifecycle.events import Fill, LeaveOut, StepFailed, StepUp
from runtime.machine.paths import above, clustering_path
from runtime.part_names import site_of
from runtime.processes.launcher.call_router import CallRouter
from runtime.processes.launcher.co_allocator import CoAllocator
from runtime.processes.launcher.openings import Post
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.rank_processes import RankProcesses
from runtime.processes.launcher.services import Effects, Starts
from runtime.processes.launcher.stage_out import StageOut
from runtime.processes.launcher.task_group import TaskGroup
from runtime.processes.launcher.tunnels import Tunnels
from runtime.processes.launcher.verdicts import Verdicts
from runtime.step_name import StepKind, StepName


@dataclass(slots=True)
class Handshakes:
    """Lets the components of clusters, sites and the grid wait for their members.

    For the engine's thread. Ranks that are `idle` take part once somebody starts them.
    """

    plan: DeploymentPlan
    idle: bool
    local: LocalLauncher
    places: Mapping[str, ClusterPlace]
    allocator: CoAllocator
    router: CallRouter
    verdicts: Verdicts
    ranks: RankProcesses
    stage_out: StageOut
    tasks: TaskGroup
    post: Post
    tunnels: list[Tunnels] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    """The clusters that have not come, or will not."""
    _joining: set[str] = field(default_factory=set)
    _ready: list[ClusterPlace] = field(default_factory=list)
    """Those that join after the one whose round goes on."""
    _leaders: dict[str, ClusterPlace] = field(default_factory=dict)
    """Who is to tell each cluster of the first round who is where; one tells it itself."""
    _in_round: str = ""
    _due: list[str] = field(default_factory=list)
    _has_begun: bool = False

    @property
    def effects(self) -> Effects:
        """What is done about clusters that are late."""
        return {LeaveOut: lambda one: self.leave_out(one.cluster), Fill: self._fill}

    @property
    def starts(self) -> Starts:
        """The handshakes of parts, and the tunnels between their members."""
        return {StepKind.HANDSHAKE: self._expect, StepKind.TUNNELS: self._tunnel}

    def _expect(self, step: Step) -> None:
        """Let a part of the machine wait for its members once all front-ends serve."""
        self._due.append("" if step.about == "grid" else step.about)
        self._begin_due()

    def _tunnel(self, step: Step) -> None:
        self.open_tunnels(step.name, StepUp(step.name))

    def front_end_up(self, place: ClusterPlace) -> None:
        """Record that a front-end serves."""
        self.verdicts.join(place)
        self._begin_due()
        self.join_arrived()

    def leave_out(self, cluster: str) -> None:
        """Begin without a cluster, or go on without one that is asking for nodes again."""
        self.missing.add(cluster)
        self.router.lead(self.allocator.deployment)
        self.ranks.leave_out(cluster)
        self._begin_due()

    def go(self) -> None:
        """Let clusters join that come from now on: the others run."""
        self._has_begun = True
        self.join_arrived()

    def join_arrived(self) -> None:
        """Let clusters join that have come late, once the ranks there could reach others."""
        if not self._has_begun or self.ranks.is_over:
            return
        for step, why in self._unled():
            self.post(StepFailed(step, why, is_final=True))
        for place, leader in self._stranded():
            self.verdicts.strand(place, leader)
        for place in self._arrived():
            step, join = StepName(StepKind.FRONT_END, place.identifier), partial(self._join, place)
            self.open_tunnels(step, join, place)  # if that fails, it is as one that did not open

    def gathered(self, part: str) -> None:
        """Let the next late cluster join once all of the grid know of the one before."""
        if not part:
            self.router.note_view(clustering_path(part))  # it is the first to know
        if self._has_begun and not part:
            self._in_round = ""
            self._begin_round()

    def _fill(self, effect: Fill) -> None:
        """Start the ranks of a cluster, which can be started now."""
        self._joining.discard(effect.cluster)
        self.ranks.fill(effect.cluster)

    def leave(self, place: ClusterPlace) -> None:
        """Let nobody wait for a cluster that is lost before it has joined."""
        name, site = place.identifier, site_of(place.identifier)
        if name in self._joining:
            self._joining.remove(name)
            self._ready = [one for one in self._ready if one is not place]
        if name == self._in_round:
            leads = self.router.host_of(site)
            part, member = ("", site) if leads is place or leads.was_lost else (site, name)
            self.router.host_of(part).orders.forget(part, member)

    def open_tunnels(
        self, step: StepName, up: StepUp | Callable[[], None], new: ClusterPlace | None = None
    ) -> None:
        """Open the tunnels of a step between all that need them, or only those to a new place."""
        needed = [self.places[one.identifier] for one in self.plan.deployment.tunnelled()]
        there = [one for one in needed if not (one.was_lost or one.identifier in self.missing)]
        if len(there) < 2 or not (new is None or new in there):
            self.post(up)
            return
        tunnels = Tunnels(self.local, self.post, step, there, up=up, new=new)
        self.tunnels.append(tunnels)
        self.tasks.do(
            f"opening tunnels of {step}",
            tunnels.start,
            lambda fault: self.post(StepFailed(step, str(fault))),
        )

    def _begin_due(self) -> None:
        if all(one.is_up or name in self.missing for name, one in self.places.items()):
            self.verdicts.begin()
            due, self._due = self._due, []
            known = self._leaders.keys() | self.missing
            for name in (one for one in self.places if one not in known):
                upper = above(self.router.parts_at(name)[-1])
                if upper is not None:
                    self._leaders.setdefault(name, self.router.host_of(upper))
            for part in due:
                self.router.host_of(part).orders.expect(part, self._members(part))

    def _members(self, part: str) -> list[str]:
        """Return the members of a part that take part in the first round."""
        if part in self.places:
            ranks = 0 if self.idle else self.places[part].cluster.ranks
            return [f"{part}:{rank}" for rank in range(ranks)]
        there = [one for one in self.places if one not in self.missing]
        if part:
            return [one for one in there if site_of(one) == part]
        return list(dict.fromkeys(map(site_of, there)))

    def _unled(self) -> Iterator[tuple[StepName, str]]:
        """Yield the steps that fail of those that nobody can let in any more, and why.

        That is so once the grid has lost the front-end that led it. Who led a site may be followed
        by one whose nodes are granted later, but not by one that was opened below it.
        """
        self.router.lead(self.allocator.deployment)
        for name in sorted(self.missing | self._joining):
            place, site = self.places[name], self.router.host_of(site_of(name))
            leader = site if place.is_up and site.was_lost else self.router.host_of("")
            if leader.was_lost and not place.was_lost:
                fault = GridError(
                    f"it cannot join without {leader.cluster.path}, which led it and is lost",
                    place=place.cluster.path,
                    cure="Its nodes are given back, and the others go on",
                )
                yield StepName(StepKind.FRONT_END, name), str(fault)

    def _stranded(self) -> Iterator[tuple[ClusterPlace, ClusterPlace]]:
        """Yield those that will never be told who is where, and who was lost before telling them.

        Who leads a part tells it to the members, whose ranks wait for that to run.
        """
        for name, leader in self._leaders.items():
            place = self.places[name]
            if leader.was_lost and not place.was_lost and name not in self.router.shown:
                yield place, leader

    def _arrived(self) -> Iterator[ClusterPlace]:
        """Yield those that have come, and count as there from now on.

        Who comes to a site that nobody leads yet waits for the first one there.
        """
        for name in sorted(self.missing):
            place, site = self.places[name], self.router.host_of(site_of(name))
            if place.is_up and site.is_up and not (place.was_lost or site.was_lost):
                self.missing.remove(name)
                self._joining.add(name)
                yield place

    def _join(self, place: ClusterPlace) -> None:
        """Let a cluster take part that has come, once those before it do."""
        if not (self.ranks.is_over or place.was_lost):
            self._ready.append(place)
            if not self._in_round:
                self._begin_round()

    def _begin_round(self) -> None:
        if not self._ready:
            return
        place = self._ready.pop(0)
        name, site = place.identifier, site_of(place.identifier)
        self._in_round = name
        self.stage_out.join(name)
        self.ranks.brief(name)
        place.orders.go()
        for part, members in ((name, []), (site, [name]), ("", [site])):
            self.router.host_of(part).orders.expect(part, members)
