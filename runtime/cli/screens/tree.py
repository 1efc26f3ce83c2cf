"""The states of all parts of a machine, for display: events in, states out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from gcm.cli.output import counted
from gcm.records import dataclass
from runtime.deployment import DeploymentPlan, Level

PLANNED, STARTING, UP, READY, RUNNING = "planned", "starting", "up", "ready", "running"
STUCK = "stuck"
"""It runs, waits for others, and can never go on."""

DONE, FAILED, LOST, ENDED = "done", "failed", "lost", "ended"

BAD = frozenset({FAILED, LOST})
OVER = frozenset({DONE, FAILED, LOST, ENDED})

_IN_WORDS = {
    (STARTING, "front-end"): "reaching it",
    (UP, "front-end"): "reached",
    (STARTING, "ranks"): "starting MPI",
    (UP, "ranks"): "MPI is up",
    (STARTING, "handshake"): "handshake",
    (UP, "handshake"): READY,
}
"""The names of the states of the steps of a cluster."""


@dataclass(slots=True)
class ProgressPart:
    """A cluster with its ranks, or a helper process or node, which have none."""

    identifier: str
    name: str
    state: str = PLANNED
    detail: str = ""
    ranks: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Return its state in words."""
        if self.state not in OVER and self.ranks:
            if STUCK in self.ranks:
                return STUCK
            if RUNNING in self.ranks:
                return RUNNING
            if set(self.ranks) <= OVER:
                return DONE if set(self.ranks) == {DONE} else FAILED
        if (self.state, self.detail) in _IN_WORDS:
            return _IN_WORDS[self.state, self.detail]
        return (
            f"{self.state}, {self.detail}" if self.state == FAILED and self.detail else self.state
        )

    @property
    def summed_up(self) -> str:
        """Return the one state that says most: a bad one wins, then that of the ranks."""
        states = {self.state, *self.ranks}
        for state in (LOST, FAILED, STUCK, RUNNING):
            if state in states:
                return state
        if self.ranks and states - {PLANNED} <= OVER:
            return DONE if DONE in states else self.state
        return READY if self.words == READY else self.state

    def counted(self) -> str:
        """Return how many ranks are in which state, such as `1 ready, 3 starting`."""
        return ", ".join(f"{number} {state}" for state, number in Counter(self.ranks).items())


class ProgressTree:
    """The parts of the machine of a plan; `apply` is the only way in."""

    def __init__(self, plan: DeploymentPlan) -> None:
        self.name = plan.deployment.name
        self.names = plan.deployment.rank_names()
        self._replicas = max((one.replicas for one in plan.deployment.applications), default=1)
        self.sites: list[tuple[str, list[ProgressPart]]] = []
        self.others: dict[str, ProgressPart] = {}
        self.site_names: dict[str, str] = {}
        self._clusters: dict[str, ProgressPart] = {}
        self._ranks: dict[str, tuple[ProgressPart, int]] = {}
        parts = {part.identifier: part for part in plan.components().walk()}
        for number, site in enumerate(plan.deployment.sites):
            below = []
            for cluster in site.clusters:
                shown = ProgressPart(
                    cluster.identifier, cluster.path, ranks=[PLANNED] * cluster.ranks
                )
                below.append(shown)
                component = parts[cluster.identifier]
                self._clusters[component.path] = shown
                wrappers = (one for one in component.walk() if one.level is Level.WRAPPER)
                self._ranks |= {one.path: (shown, rank) for rank, one in enumerate(wrappers)}
            self.sites.append((f"{number} {site.name}", below))
            self.site_names[parts[str(number)].path] = f"{number} {site.name}"
        self._levels = {part.path for part in parts.values()}

    @property
    def clusters(self) -> tuple[ProgressPart, ...]:
        """Return all clusters, in order."""
        return tuple(self._clusters.values())

    def apply(self, path: str, state: str, detail: str = "") -> None:
        """Record that the part at a path is in another state."""
        if path in self._ranks:
            cluster, rank = self._ranks[path]
            cluster.ranks[rank] = state
        elif path in self._clusters:
            _change(self._clusters[path], state, detail)
        elif path not in self._levels:
            name = path.removeprefix("/grid/")
            _change(self.others.setdefault(path, ProgressPart("", name)), state, detail)

    def cluster_of(self, path: str) -> tuple[ProgressPart, str] | None:
        """Return the cluster at or above a path, and the identifier of what is at the path."""
        if path in self._clusters:
            return self._clusters[path], self._clusters[path].identifier
        if path in self._ranks:
            cluster, rank = self._ranks[path]
            return cluster, f"{cluster.identifier}:{rank}"
        return None

    def rank_states(self) -> Counter[str]:
        """Return how many ranks are in which state."""
        return Counter(self._all_ranks())

    def ranks_in_words(self) -> str:
        """Return how many ranks there are, each of which may have replicas.

        Several codes have none.
        """
        replicas, processes = self._replicas, self.rank_states().total()
        copies = f" with {replicas} replicas each" if replicas > 1 else ""
        return f"{counted(processes // replicas, 'rank')}{copies}"

    def phase(self) -> str:
        """Return what the whole machine is doing."""
        ranks = self.rank_states()
        states = {part.state for part in (*self.clusters, *self.others.values())} | set(ranks)
        if states & BAD:
            return "ending after a failure"
        if ranks[STUCK]:
            return f"{ranks[STUCK]} of {ranks.total()} ranks can never go on"
        if ranks[RUNNING]:
            return RUNNING
        if states <= {PLANNED}:
            return PLANNED
        return "ending" if states <= OVER or ranks[DONE] else STARTING

    def _all_ranks(self) -> Iterator[str]:
        for cluster in self._clusters.values():
            yield from cluster.ranks


def _change(part: ProgressPart, state: str, detail: str) -> None:
    # the end of its front-end is no news about a cluster that is over
    if state == ENDED and part.state in OVER:
        return
    part.state, part.detail = state, detail
    if (state, detail) == (STARTING, "ranks"):
        part.ranks = [STARTING] * len(part.ranks)
