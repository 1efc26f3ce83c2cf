"""The states of all parts of a machine, for display. A fold over the facts of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import field

from gcm.cli.output import counted
from gcm.records import dataclass
from runtime.part_names import numbers_of
from runtime.rank_name import RankName
from runtime.topology import RankNames
from runtime.views.facts import (
    MACHINE,
    CommandEnded,
    Fact,
    MessagesCounted,
    RankSeen,
    RunEnded,
    RunPlanned,
    RunSeen,
    RunStarted,
    StateChanged,
    WaitExplained,
)

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
GOING = frozenset({RUNNING, WAITING, STUCK})
"""The states of a rank whose program runs."""

COMPILER = "compiler"
"""A cluster waits for this when its ranks are the first C program there."""

_IN_WORDS = {
    (STARTING, "front-end"): "reaching it",
    (UP, "front-end"): "reached",
    (STARTING, "ranks"): "starting MPI",
    (STARTING, COMPILER): "compiling the library for C programs, once for its MPI",
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
    walltime_ends: float | None = None
    """The time of the run at which its nodes are not granted any more."""

    @property
    def words(self) -> str:
        """Return its state in words."""
        if self.state not in OVER and self.ranks:
            if STUCK in self.ranks:
                return STUCK
            if RUNNING in self.ranks or WAITING in self.ranks:
                return RUNNING if RUNNING in self.ranks else WAITING
            if set(self.ranks) <= OVER:
                return DONE if set(self.ranks) == {DONE} else FAILED
        if (self.state, self.detail) in _IN_WORDS:
            return _IN_WORDS[self.state, self.detail]
        if self.state == QUEUED:
            return self.detail
        is_told = self.state in (FAILED, LOST, ENDED) and self.detail
        return f"{self.state}, {self.detail}" if is_told else self.state

    @property
    def summed_up(self) -> str:
        """Return the one state that says most: a bad one wins, then that of the ranks."""
        states = {self.state, *self.ranks}
        for state in (LOST, FAILED, STUCK, RUNNING, WAITING):
            if state in states:
                return state
        if self.ranks and states - {PLANNED} <= OVER:
            return DONE if DONE in states else self.state
        return READY if self.words == READY else self.state

    def counted(self) -> str:
        """Return how many ranks are in which state, such as `1 ready, 3 starting`."""
        return ", ".join(f"{number} {state}" for state, number in Counter(self.ranks).items())


@dataclass(slots=True)
class SentMessages:
    """What went from one part of the machine to another by one route, and how fast just now."""

    messages: int = 0
    bytes: int = 0
    time: float = 0.0
    rate: float = 0.0


Way = tuple[str, str, tuple[str, ...] | None]
"""From where and to where, and through the front-ends of which clusters."""


class ProgressTree:
    """The parts of the machine of a run; `take` is the only way in.

    Sites, clusters and ranks are known by the names that facts have; `others` are helper processes
    and nodes. `samples` has what clusters had sent when they were last asked. `code` is the exit
    code, None before the end.
    """

    def __init__(self) -> None:
        self.name = ""
        self.names = RankNames()
        self.goes_on = False
        self.code: int | None = None
        self._has_started = False
        self.sites: list[tuple[str, list[ProgressPart]]] = []
        self.others: dict[str, ProgressPart] = {}
        self.samples: dict[Way, SentMessages] = {}
        self._never: set[tuple[str, int]] = set()
        self._replicas = 1
        self._clusters: dict[str, ProgressPart] = {}
        self._last: dict[str, tuple[str, str]] = {}  # what was told of ranks

    @property
    def clusters(self) -> tuple[ProgressPart, ...]:
        """Return all clusters, in order."""
        return tuple(self._clusters.values())

    def take(self, fact: Fact) -> None:
        """Take the next fact: the machine comes with the first, its states with later ones."""
        match fact.record:
            case RunPlanned() as planned:
                self._plan(planned)
            case StateChanged() as changed:
                self._change(fact.name, changed, fact.time)
            case RunStarted():
                self._has_started = True
            case RunSeen():
                self._replace(self._never, STUCK, WAITING)
                self._never.clear()
            case RankSeen(calls=calls) if (rank := self._rank(fact.name)) is not None:
                self._replace([rank], RUNNING if calls else WAITING, WAITING if calls else RUNNING)
            case WaitExplained(kind, _, ranks) if _is_final(kind):
                found = [one for one in map(self._rank, ranks) if one is not None]
                self._never |= self._replace(found, WAITING, STUCK)
            case MessagesCounted() as sent if fact.name in self._clusters:
                self._sample(fact, sent)
            case RunEnded(code) | CommandEnded(code):
                self.code = code

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

    def _change(self, name: str, changed: StateChanged, time: float) -> None:
        cluster, (state, detail) = self.cluster_of(name), (changed.state, changed.detail)
        if cluster is None:
            if self.site_of(name) is None:
                _change(self.others.setdefault(name, ProgressPart("", name)), state, detail)
        elif name == cluster.identifier:
            _change(cluster, state, detail)
            if changed.walltime is not None:
                cluster.walltime_ends = time + changed.walltime
        elif (rank := self._rank(name)) is not None:
            self._last[name] = state, detail
            cluster.ranks[rank[1]] = state
            self._never.discard(rank)

    def _rank(self, name: str) -> tuple[str, int] | None:
        """Return the cluster of a rank and its place there."""
        cluster = self.cluster_of(name)
        if cluster is None or name == cluster.identifier:
            return None
        return cluster.identifier, numbers_of(name)[-1]

    def _replace(
        self, ranks: Iterable[tuple[str, int]], before: str, state: str
    ) -> set[tuple[str, int]]:
        """Put ranks that are in one state into another one, and return them."""
        changed = {(name, at) for name, at in ranks if self._clusters[name].ranks[at] == before}
        for name, at in changed:
            self._clusters[name].ranks[at] = state
        return changed

    def _sample(self, fact: Fact, sent: MessagesCounted) -> None:
        way = fact.name, sent.to, sent.between
        before = self.samples.get(way, SentMessages())
        seconds = fact.time - before.time
        rate = max(0, sent.bytes - before.bytes) / seconds if seconds > 0 else 0.0
        self.samples[way] = SentMessages(sent.messages, sent.bytes, fact.time, rate)

    def rate(self, *clusters: str) -> float:
        """Return how many bytes a second some clusters have sent to others of late."""
        sent = self.samples.items()
        return sum(one.rate for (here, to, _), one in sent if here in clusters and to != here)

    def cluster_of(self, name: str) -> ProgressPart | None:
        """Return the cluster of that name, or that of a rank."""
        if name in self._clusters:
            return self._clusters[name]
        if (rank := RankName.find(name)) is None:
            return None
        cluster = self._clusters.get(rank.cluster)
        return cluster if cluster is not None and rank.rank < len(cluster.ranks) else None

    def is_known(self, fact: Fact) -> bool:
        """Tell whether a fact says of a rank what the last one of it has said."""
        said = fact.record
        if not isinstance(said, StateChanged):
            return False
        return self._last.get(fact.name) == (said.state, said.detail)

    def is_stuck(self, name: str) -> bool:
        """Tell whether a rank can never go on, as far as is known."""
        rank = self._rank(name)
        return rank is not None and self._clusters[rank[0]].ranks[rank[1]] == STUCK

    def site_of(self, name: str) -> str | None:
        """Return how a site is shown, or the grid; None if nothing of that name is one."""
        if name == MACHINE:
            return "grid"
        is_site = name.isdecimal() and int(name) < len(self.sites)
        return f"site {self.sites[int(name)][0]}" if is_site else None

    def rank_states(self) -> Counter[str]:
        """Return how many ranks are in which state."""
        return Counter(state for one in self.clusters for state in one.ranks)

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

    def goes_on_without(self, name: str) -> bool:
        """Tell whether the run goes on without a cluster or rank: by replicas, or by its recovery.

        Where ranks have replicas, each that is lost has to have another one; else somebody runs.
        """
        cluster = self.cluster_of(name)
        if cluster is None or not self.goes_on:
            return False
        lost, living, is_running = set[str](), set[str](), False
        for part in self.clusters:
            for number, state in enumerate(part.ranks):
                process = f"{part.identifier}:{number}"
                if name in (process, part.identifier):
                    lost.add(self.names.rank(process))
                elif part.state != LOST and state not in BAD and state != ENDED:
                    living.add(self.names.rank(process))
                    is_running |= state in GOING
        return is_running and (self._replicas == 1 or lost <= living)

    def phase(self) -> str:
        """Return what the whole machine is doing."""
        ranks = self.rank_states()
        states = {part.state for part in (*self.clusters, *self.others.values())} | set(ranks)
        is_running = bool(ranks.keys() & GOING)
        if self.code is not None:
            return f"ended, exit code {self.code}"
        if states & BAD and not (self.goes_on and is_running):
            return "ending after a failure"
        if ranks[STUCK]:
            return f"{self._ranks(STUCK)} of {self._ranks()} ranks can never go on"
        if is_running:
            return RUNNING
        if states <= {PLANNED}:
            return PLANNED
        if states <= OVER or ranks[DONE] or ranks[ENDED]:
            return "ending"
        return RUNNING if self._has_started and not ranks else STARTING


def _change(part: ProgressPart, state: str, detail: str) -> None:
    # the end of its front-end is no news about a cluster that is over
    if state == ENDED and part.state in OVER:
        return
    part.state, part.detail = state, detail
    if (state, detail) == (STARTING, "ranks"):
        part.ranks = [STARTING] * len(part.ranks)


def _is_final(kind: str) -> bool:
    """Tell whether ranks with such a finding wait for ever."""
    from runtime.waits.findings import NEVER  # only a run whose ranks wait loads what explains it

    return kind in NEVER
