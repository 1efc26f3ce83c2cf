"""The plan of a run: the steps of a deployment plan, their dependencies, its ranks and paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gcm.records import dataclass
from runtime.deployment import DeploymentPlan, Level, Step
from runtime.rank_name import RankName
from runtime.step_name import WHOLE_GRID, StepKind, StepName
from runtime.topology import RankNames


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A deployment plan reduced to the names of its steps and ranks.

    `steps` maps each opening step to what has to be up before, `places` each front-end step to its
    cluster, `closing` each step that brings results home to its own, `ranks` each cluster that has
    some to its ranks, `paths` each step and `rank_paths` each rank to where it stands in the tree
    that users see. `survivors` are the clusters whose ranks go on when others are lost. `replicas`
    says which rank of COMM_WORLD each process is a replica of, and is empty where every rank is one
    process. `names` name ranks in messages. `again` says of each cluster behind a queue how many
    other jobs it may ask for.
    """

    steps: Mapping[StepName, frozenset[StepName]]
    start: StepName
    places: Mapping[StepName, str]
    ranks: Mapping[str, tuple[RankName, ...]]
    paths: Mapping[StepName, str]
    rank_paths: Mapping[RankName, str]
    closing: Mapping[StepName, str] = field(default_factory=dict)
    survivors: frozenset[str] = frozenset()
    has_assembly: bool = False
    replicas: Mapping[RankName, int] = field(default_factory=dict)
    names: RankNames = field(default_factory=RankNames)
    again: Mapping[str, int] = field(default_factory=dict)

    def path_of(self, cluster: str) -> str:
        """Return where a cluster stands in the tree."""
        return self.paths[StepName(StepKind.FRONT_END, cluster)]

    def ranks_of(self, cluster: str) -> str:
        """Return how messages name the ranks of a cluster."""
        return self.names.numbers(cluster, 0, len(self.ranks[cluster]))


def run_plan_of(plan: DeploymentPlan) -> RunPlan:
    """Reduce a deployment plan to what the run needs of it."""
    parts = list(plan.components().walk())
    paths = {part.identifier: part.path for part in parts}
    clusters = [cluster for cluster in plan.deployment.clusters() if cluster.ranks]
    surviving = {one.name for one in plan.deployment.applications if one.goes_on}
    return RunPlan(
        steps={step.name: frozenset(step.depends_on) for step in plan.steps},
        start=next(step.name for step in plan.steps if step.kind is StepKind.START),
        places={step.name: step.about for step in plan.steps if step.kind is StepKind.FRONT_END},
        ranks={
            cluster.identifier: tuple(RankName(*cluster.position, n) for n in range(cluster.ranks))
            for cluster in clusters
        },
        paths={step.name: _path(step, paths) for step in (*plan.steps, *plan.closing)},
        rank_paths={
            RankName.parse(part.identifier): part.path
            for part in parts
            if part.level is Level.WRAPPER
        },
        closing={step.name: step.about for step in plan.closing},
        survivors=frozenset(
            cluster.identifier for cluster in clusters if cluster.application in surviving
        ),
        has_assembly=plan.deployment.assembly is not None,
        replicas=replica_ranks(plan),
        names=plan.deployment.rank_names(),
        again={one.identifier: one.batch.again for one in clusters if one.batch is not None},
    )


def replica_ranks(plan: DeploymentPlan) -> dict[RankName, int]:
    """Return the rank of COMM_WORLD of each process; nothing where every rank is one process."""
    table = plan.deployment.replica_table
    processes = () if table is None else plan.grid.identifiers()
    return {one: table.replica_at(at).rank for at, one in enumerate(processes) if table}


def _path(step: Step, paths: Mapping[str, str]) -> str:
    """Return the component that a step is about, or a place of its own below the grid."""
    about = step.about
    if about in (WHOLE_GRID, ""):
        return "/grid"
    if about in paths:
        return paths[about]
    return f"/grid/{about}"
