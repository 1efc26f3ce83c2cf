"""How far the start of a run has come: which steps are up, and what is missing."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field

from gcm.records import dataclass
from runtime.lifecycle.rank_life import RankLife, RankStage
from runtime.lifecycle.run_plan import RunPlan
from runtime.rank_name import RankName
from runtime.step_name import StepKind, StepName

MOST_NAMES = 8
"""How many of the missing, or of clusters with living ranks, are named in a message."""


@dataclass(slots=True)
class RunProgress:
    """The steps that were begun and that are up, and the ranks for which some of them wait.

    What it does about one step takes as long however many there are: a machine may have thousands
    of clusters.
    """

    plan: RunPlan
    ranks: Mapping[RankName, RankLife]
    unable: set[str] = field(default_factory=set)
    """What has failed at the start: clusters, and steps of the plan that are of none."""
    _started: set[StepName] = field(default_factory=set)
    _up: set[StepName] = field(default_factory=set)
    _needs: dict[StepName, set[StepName]] = field(init=False)
    """For which steps that are not up each one waits."""
    _followers: dict[StepName, list[StepName]] = field(init=False)
    """Which steps wait for each one."""
    _ready: list[tuple[int, StepName]] = field(init=False)
    """Those that wait for none, a heap in the order of the plan."""
    _order: dict[StepName, int] = field(init=False)
    _not_begun: set[StepName] = field(init=False)
    """The steps that start ranks and were not begun."""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        steps = self.plan.steps
        self._order = {name: at for at, name in enumerate(steps)}
        self._needs = {name: set(needs) for name, needs in steps.items()}
        self._followers = defaultdict(list)
        for name, needs in steps.items():
            for one in needs:
                self._followers[one].append(name)
        self._ready = [(self._order[name], name) for name, needs in steps.items() if not needs]
        self._not_begun = {StepName(StepKind.RANKS, cluster) for cluster in self.plan.ranks}

    def next_steps(self) -> Iterator[StepName]:
        """Yield every step whose dependencies are up, which counts as started from then on."""
        while self._ready:
            _, name = heapq.heappop(self._ready)
            if name not in self._started:
                self._start([name])
                yield name

    def _start(self, steps: Iterable[StepName]) -> None:
        self._started.update(steps)
        self._not_begun.difference_update(steps)

    def leave_out(self, clusters: Collection[str]) -> None:
        """Wait for no step of these clusters, nor of a site that has no others."""
        left: set[StepName] = set()
        for name, needs in self.plan.steps.items():
            is_handshake = name.kind is StepKind.HANDSHAKE
            if name.about in clusters or (is_handshake and needs and needs <= left):
                left.add(name)
        self._start(left)
        for name in left:
            self.step_up(name)

    def step_up(self, step: StepName) -> None:
        """Record that a step is up."""
        if step in self._up:
            return
        self._up.add(step)
        for name in self._followers.get(step, ()):
            self._needs[name].discard(step)
            if not self._needs[name]:
                heapq.heappush(self._ready, (self._order[name], name))

    @property
    def are_others_starting(self) -> bool:
        """Whether front-ends or ranks start of clusters that have not failed."""
        kinds = (StepKind.FRONT_END, StepKind.RANKS)
        starting = (one for one in self._started - self._up if one.kind in kinds)
        return any(one.about not in self.unable for one in starting)

    @property
    def have_all_ranks_begun(self) -> bool:
        """Whether the ranks of every cluster have been started."""
        return not self._not_begun

    @property
    def missing(self) -> str:
        """What has been started but is not up yet: ranks, else steps, in words of bounded length.

        When some ranks never reported, the others wait for them: only those are named.
        """
        steps = [one for one in self.plan.steps if one in self._started - self._up]
        ranks = {
            rank: self.ranks[rank].stage
            for cluster, names in self.plan.ranks.items()
            if StepName(StepKind.RANKS, cluster) in steps
            for rank in names
            if self.ranks[rank].stage in (RankStage.PLANNED, RankStage.HERE)
        }
        unheard = [rank for rank, stage in ranks.items() if stage is RankStage.PLANNED]
        kinds = (StepKind.RANKS, StepKind.HANDSHAKE)
        others = [str(one) for one in steps if one.kind not in kinds]
        missing = (*(unheard or ranks), *others)
        return self.plan.names.names(missing, MOST_NAMES) or "the handshake"
