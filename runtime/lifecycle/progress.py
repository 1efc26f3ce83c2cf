"""How far the start of a run has come: which steps are up, and what is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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
    """The steps that were begun and that are up, and the ranks for which some of them wait."""

    plan: RunPlan
    ranks: Mapping[RankName, RankLife]
    unable: set[str] = field(default_factory=set)
    """What has failed at the start: clusters, and steps of the plan that are of none."""
    _started: set[StepName] = field(default_factory=set)
    _up: set[StepName] = field(default_factory=set)

    def next_steps(self) -> Iterator[StepName]:
        """Yield every step whose dependencies are up, which counts as started from then on."""
        for name, needs in self.plan.steps.items():
            if name not in self._started and needs <= self._up:
                self._started.add(name)
                yield name

    def leave_out(self, clusters: Collection[str]) -> None:
        """Wait for no step of these clusters, nor of a site that has no others."""
        left: set[StepName] = set()
        for name, needs in self.plan.steps.items():
            is_handshake = name.kind is StepKind.HANDSHAKE
            if name.about in clusters or (is_handshake and needs and needs <= left):
                left.add(name)
        self._started |= left
        self._up |= left

    def step_up(self, step: StepName) -> None:
        """Record that a step is up."""
        self._up.add(step)

    @property
    def are_others_starting(self) -> bool:
        """Whether front-ends or ranks start of clusters that have not failed."""
        kinds = (StepKind.FRONT_END, StepKind.RANKS)
        starting = (one for one in self._started - self._up if one.kind in kinds)
        return any(one.about not in self.unable for one in starting)

    @property
    def have_all_ranks_begun(self) -> bool:
        """Whether the ranks of every cluster have been started."""
        return {StepName(StepKind.RANKS, cluster) for cluster in self.plan.ranks} <= self._started

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
