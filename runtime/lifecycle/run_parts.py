"""What a run is made of: its own life and those of its clusters and ranks, failures, its time."""

from __future__ import annotations

from dataclasses import field

from gcm.records import dataclass
from runtime.lifecycle.cluster_life import ClusterLife, PlaceStage
from runtime.lifecycle.events import Announce, Show
from runtime.lifecycle.failures import Failures
from runtime.lifecycle.rank_life import RankLife
from runtime.lifecycle.run_life import RunLife, RunPhase
from runtime.lifecycle.run_plan import RunPlan
from runtime.lifecycle.walltimes import RunClock, RunTimeouts
from runtime.machine.deaths import RankDeath
from runtime.part_names import cluster_of
from runtime.rank_name import RankName
from runtime.step_name import StepKind, StepName

_LIVES = {
    RunPhase.PLANNED: "stopped",
    RunPhase.STARTING: "starting",
    RunPhase.HANDSHAKING: "starting",
    RunPhase.ENDING: "stopping",
    RunPhase.DONE: "terminated",
    RunPhase.FAILED: "terminated",
}
"""The state of all parts of the machine where they begin or end together."""


@dataclass(slots=True)
class RunParts:
    """The parts of a run, which its state, its batch jobs and its end share.

    A `steered` run goes on, whatever becomes of its codes, until it is told to halt: the program
    that steers it starts and ends them. When it is `idle`, none is running at first.
    """

    plan: RunPlan
    timeouts: RunTimeouts = field(default_factory=RunTimeouts)
    steered: bool = False
    idle: bool = False
    life: RunLife = field(default_factory=RunLife)
    clock: RunClock = field(default_factory=RunClock)
    failures: Failures = field(default_factory=Failures)
    """What failed while the application ran."""
    errors: list[str] = field(default_factory=list)
    """Why the run ends, where that is no failure of a part."""
    outcome: int | None = None
    """The exit code, where something else than failures decides it."""
    ranks: dict[RankName, RankLife] = field(init=False)
    clusters: dict[str, ClusterLife] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)
    """The clusters without which the run begins, until their ranks are started."""
    assembly_runs: bool = False

    def __post_init__(self) -> None:
        """Begin with nothing."""
        plan = self.plan
        self.ranks = {rank: RankLife(rank, plan.names.name(rank)) for rank in plan.rank_paths}
        for name in dict.fromkeys((*plan.ranks, *plan.closing.values(), *plan.places.values())):
            path = plan.paths.get(StepName(StepKind.FRONT_END, name), name).removeprefix("/grid/")
            ranks = tuple(self.ranks[one] for one in plan.ranks.get(name, ()))
            self.clusters[name] = ClusterLife(name, path, ranks, goes_on=name in plan.survivors)

    @property
    def deaths(self) -> dict[RankName, RankDeath]:
        """How every rank has died that has ended and was not told to."""
        return {rank: one.death for rank, one in self.ranks.items() if one.death is not None}

    @property
    def jobs(self) -> list[ClusterLife]:
        """The clusters whose jobs have not ended."""
        return [one for one in self.clusters.values() if one.runs]

    @property
    def places(self) -> list[ClusterLife]:
        """The clusters whose front-ends may still be there."""
        return [one for one in self.clusters.values() if one.is_open]

    @property
    def is_only_output_left(self) -> bool:
        """Whether nothing runs any more; then whoever reads the output sets the pace."""
        is_over = all(one.has_output or one.is_kept for one in self.jobs)
        return is_over and not (self.assembly_runs or self.steered)

    def life_of(self, part: str) -> str:
        """Return the state of a part of the machine in the words of components' life cycles.

        `part` identifies a rank or a cluster (`0:1:2`, `0:1`), a site or the grid, which live as
        long as the run. A rank that has ended is stopped as long as it may be started again.
        """
        if self.life.phase is not RunPhase.RUNNING:
            return _LIVES[self.life.phase]
        cluster = self.clusters.get(cluster_of(part))
        if cluster is not None and cluster.place is PlaceStage.LOST:
            return "terminated"
        name = RankName.find(part)
        rank = None if name is None else self.ranks.get(name)
        is_over = rank is not None and (rank.is_over or cluster is None or not cluster.runs)
        return "stopped" if is_over else "started"

    def end_rank(self, death: RankDeath) -> Show:
        """Keep the death of a rank, unless others had ended it."""
        is_kept = self.steered or not death.after
        self.ranks[death.rank].die(death, is_kept=is_kept)
        word = "ended" if death.observed.is_loss or not is_kept else "failed"
        word = "done" if is_kept and not death.code else word
        return Show(self.plan.rank_paths[death.rank], word, death.ending_with_reason)

    def announce(self, death: RankDeath) -> Announce:
        """Let the other ranks know of a death."""
        self.ranks[death.rank].announced = death
        return Announce(death)
