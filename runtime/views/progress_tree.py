"""The states of all parts of a machine, for display. A fold over the facts of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from gcm.cli.output import counted
from gcm.records import dataclass
from runtime.topology import RankNames
from runtime.views.facts import MACHINE, Fact, RankSeen, RunPlanned, StateChanged

PLANNED, STARTING, UP, READY, RUNNING = "planned", "starting", "up", "ready", "running"
QUEUED = "queued"
"""Its job waits in the queue of a batch system."""

STUCK = "stuck"
"""It runs, waits for others, and can never go on."""

WAITING = "waiting"
"""It runs, and was in one MPI call at the last look at the run."""

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
            if RUNNING in self.ranks or WAITING in self.ranks:
                return RUNNING
            if set(self.ranks) <= OVER:
                return DONE if set(self.ranks) == {DONE} else FAILED
        if (self.state, self.detail) in _IN_WORDS:
            return _IN_WORDS[self.state, self.detail]
        if self.state == QUEUED:
            return self.detail
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
        if WAITING in states:
            return RUNNING
        if self.ranks and states - {PLANNED} <= OVER:
            return DONE if DONE in states else self.state
        return READY if self.words == READY else self.state

    def counted(self) -> str:
        """Return how many ranks are in which state, such as `1 ready, 3 starting`."""
        return ", ".join(f"{number} {state}" for state, number in Counter(self.ranks).items())


class ProgressTree:
    """The parts of the machine of a run; `take` is the only way in.

    Sites, clusters and ranks are known by the names that facts have; `others` are helper processes
    and nodes.
    """

    def __init__(self) -> None:
        self.name = ""
        self.names = RankNames()
        self.goes_on = False
        self.sites: list[tuple[str, list[ProgressPart]]] = []
        self.others: dict[str, ProgressPart] = {}
        self._replicas = 1
        self._clusters: dict[str, ProgressPart] = {}

    @property
    def clusters(self) -> tuple[ProgressPart, ...]:
        """Return all clusters, in order."""
        return tuple(self._clusters.values())

    def take(self, fact: Fact) -> None:
        """Take the next fact: the machine comes with the first, its states with later ones."""
        match fact.record:
            case RunPlanned() as planned:
                self._plan(planned)
            case StateChanged(state, detail):
                self._change(fact.name, state, detail)
            case RankSeen(calls=calls):
                self._see(fact.name, WAITING if calls else RUNNING)

    def _plan(self, planned: RunPlanned) -> None:
        self.name, self.names, self.goes_on = planned.deployment, planned.names(), planned.goes_on
        self._replicas = max(planned.replicas.values(), default=1)
        for number, site in enumerate(planned.sites):
            below = [
                ProgressPart(f"{number}:{place}", one.known.path, ranks=[PLANNED] * len(one.hosts))
                for place, one in enumerate(site.clusters)
            ]
            self.sites.append((f"{number} {site.name}", below))
            self._clusters |= {part.identifier: part for part in below}

    def _change(self, name: str, state: str, detail: str) -> None:
        cluster = self.cluster_of(name)
        if cluster is None:
            if self.site_of(name) is None:
                _change(self.others.setdefault(name, ProgressPart("", name)), state, detail)
        elif name == cluster.identifier:
            _change(cluster, state, detail)
        else:
            cluster.ranks[int(name.rpartition(":")[2])] = state

    def _see(self, name: str, state: str) -> None:
        cluster, number = self.cluster_of(name), name.rpartition(":")[2]
        if cluster is not None and cluster.ranks[int(number)] in (RUNNING, WAITING):
            cluster.ranks[int(number)] = state

    def cluster_of(self, name: str) -> ProgressPart | None:
        """Return the cluster of that name, or that of a rank."""
        if name in self._clusters:
            return self._clusters[name]
        above, _, number = name.rpartition(":")
        cluster = self._clusters.get(above)
        is_rank = cluster and number.isdecimal() and int(number) < len(cluster.ranks)
        return cluster if is_rank else None

    def site_of(self, name: str) -> str | None:
        """Return how a site is shown, or the grid; None if nothing of that name is one."""
        if name == MACHINE:
            return "grid"
        is_site = name.isdecimal() and int(name) < len(self.sites)
        return f"site {self.sites[int(name)][0]}" if is_site else None

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

    def _ranks(self, *states: str) -> int:
        """Return how many ranks are in one of these states, or there are: replicas count once."""
        return len(
            {
                self.names.rank(f"{cluster.identifier}:{number}")
                for cluster in self.clusters
                for number, state in enumerate(cluster.ranks)
                if not states or state in states
            }
        )

    def phase(self) -> str:
        """Return what the whole machine is doing."""
        ranks = self.rank_states()
        states = {part.state for part in (*self.clusters, *self.others.values())} | set(ranks)
        if states & BAD:
            return "ending after a failure"
        if ranks[STUCK]:
            return f"{self._ranks(STUCK)} of {self._ranks()} ranks can never go on"
        if ranks[RUNNING] or ranks[WAITING]:
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
