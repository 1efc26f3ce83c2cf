"""From a checked deployment to the plan: who starts where, in which order, with which files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field

from gcm.records import dataclass
from runtime.deployment.model import DeployedCluster, Deployment, Position, ProgramKind
from runtime.deployment.planning.assembly import ExportedComponent, implied_assembly
from runtime.deployment.planning.closing import closing_steps
from runtime.deployment.planning.opening import opening_steps
from runtime.deployment.planning.program_files import ProgramFiles, copies
from runtime.deployment.planning.steps import Step
from runtime.rank_name import RankName
from runtime.step_name import StepName
from runtime.topology import Grid, Node

BYTES_PER_SECOND = 1_000_000
"""The minimum rate at which program folders are copied, over the slowest of lines."""

RANKS_PER_SECOND = 4
"""The minimum rate at which one host starts ranks, on few cores."""


@dataclass(frozen=True, slots=True)
class RankPlacement:
    """Where one rank runs, and what."""

    identifier: RankName
    cluster: DeployedCluster
    node: Node


@dataclass(frozen=True, slots=True)
class DeploymentPlan:
    """What a deployment will do, before anything is done.

    `steps` come in the order of their depth; those of one depth start in parallel. `closing` are
    the steps after the end of the application. `programs` is what is copied of the folder of an
    application, if it was surveyed.
    """

    deployment: Deployment
    grid: Grid
    steps: tuple[Step, ...]
    closing: tuple[Step, ...]
    programs: Mapping[str, ProgramFiles] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """Return the longest chain of steps; it does not grow with the number of clusters."""
        return 1 + max((step.depth for step in self.steps), default=-1)

    @property
    def grid_front_end(self) -> Position:
        """Return the cluster whose front-end hosts the grid component."""
        return self.site_front_end(self.deployment.leader)

    def site_front_end(self, site: int) -> Position:
        """Return the cluster whose front-end hosts the component of a site."""
        return (site, self.deployment.sites[site].leader)

    @property
    def start_limit(self) -> float:
        """Return within how many seconds the application has to run, all files being copied."""
        copied = copies(self.deployment)
        size = sum(files.size * len(copied[name]) for name, files in self.programs.items())
        return self.ranks_limit + size / BYTES_PER_SECOND

    @property
    def ranks_limit(self) -> float:
        """Return within how many seconds ranks are up, once their files are there.

        A rank waits so long for its front-end, a front-end for the proof of a rank, and for one
        that is started again.
        """
        ranks: Counter[tuple[Position, str] | None] = Counter()
        for cluster in self.deployment.clusters():
            for node in cluster.nodes:
                ranks[None if cluster.is_local else (cluster.position, node.name)] += node.ranks
        most = max(ranks.values(), default=0)
        return self.deployment.start_timeout + most // RANKS_PER_SECOND

    def step(self, name: StepName) -> Step:
        """Return the step of that name; raises `KeyError`."""
        for step in (*self.steps, *self.closing):
            if step.name == name:
                return step
        raise KeyError(str(name))

    def placements(self) -> Iterator[RankPlacement]:
        """Yield where every rank runs, in the order of the grid's ranks."""
        for cluster in self.deployment.clusters():
            rank = 0
            for node in cluster.nodes:
                for _ in range(node.ranks):
                    yield RankPlacement(RankName(*cluster.position, rank), cluster, node)
                    rank += 1

    def components(self) -> ExportedComponent:
        """Return the assembly of wrapper and clustering components that the machine implies."""
        codes = {
            f"{site}:{place}": one.name
            for one in self.deployment.applications
            if one.kind is not ProgramKind.EXECUTABLE
            for site, place in one.clusters
        }
        return implied_assembly(self.grid, codes, self.deployment.named_classes)


def make_plan(
    deployment: Deployment, programs: Mapping[str, ProgramFiles] | None = None
) -> DeploymentPlan:
    """Return the plan of a checked deployment. Nothing is started, read or written."""
    return DeploymentPlan(
        deployment=deployment,
        grid=deployment.grid(),
        steps=opening_steps(deployment),
        closing=closing_steps(deployment),
        programs=programs or {},
    )
