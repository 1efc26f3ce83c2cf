"""Which results are needed of a run: of all clusters, or of those whose replicas have made them.

Where ranks have replicas each is a process of its own in another cluster, and it is enough that the
results of one of each rank come home.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gcm.records import dataclass
from runtime.lifecycle.cluster_life import ClusterLife, PlaceStage, ResultsEvent, ResultsStage
from runtime.lifecycle.events import Discard, Start
from runtime.lifecycle.rank_life import RankLife
from runtime.lifecycle.run_plan import RunPlan


@dataclass(frozen=True, slots=True)
class NeededResults:
    """Looks at the lives of a run, and says what becomes of results; it has no state of its own."""

    plan: RunPlan
    clusters: Mapping[str, ClusterLife]
    ranks: Mapping[str, RankLife]

    def ranks_without(self) -> set[int]:
        """Return the ranks of which no replica has ended well."""
        ended = (one for one in self.plan.replicas if self.ranks[one].has_ended_well)
        return set(self.plan.replicas.values()) - {self.plan.replicas[one] for one in ended}

    def has_lost_all_of(self, process: str) -> bool:
        """Tell whether all replicas of the rank of a process have died badly."""
        rank = self.plan.replicas[process]
        deaths = [self.ranks[one].death for one, of in self.plan.replicas.items() if of == rank]
        return all(one is not None and one.code for one in deaths)

    def are_whole(self) -> bool:
        """Tell whether nobody writes any more where results are to come from."""
        return all(one.is_over for name in self.sources() for one in self.clusters[name].ranks)

    def are_elsewhere(self, cluster: str) -> bool:
        """Tell whether each rank has a replica outside of a cluster that has made the same."""
        own = {one.rank for one in self.clusters[cluster].ranks}
        elsewhere = self._made_by(one for one in self.plan.replicas if one not in own)
        return bool(self.plan.replicas) and elsewhere == set(self.plan.replicas.values())

    def sources(self) -> set[str]:
        """Return the clusters whose results are needed: with replicas those of one of each rank.

        Clusters that have lost nobody come first, those that are lost themselves last. Where a rank
        has no replica that has made all of them, what each cluster has is needed.
        """
        good = {
            one.identifier: self._made_by(rank.rank for rank in one.ranks)
            for one in self.clusters.values()
            if one.ranks and self.plan.replicas
        }
        if not good or set[int]().union(*good.values()) != set(self.plan.replicas.values()):
            return {step.partition(":")[2] for step in self.plan.closing}

        def lacks(cluster: str) -> tuple[bool, int]:
            life = self.clusters[cluster]
            return life.place is PlaceStage.LOST, len(life.ranks) - len(good[cluster])

        needed, done = set[str](), set[int]()
        for cluster in sorted(good, key=lacks):
            if good[cluster] - done:
                needed.add(cluster)
                done |= good[cluster]
        return needed

    @property
    def are_moving(self) -> bool:
        """Whether some come home, or are discarded."""
        return any(one.results is ResultsStage.MOVING for one in self.clusters.values())

    def next_steps(self) -> Iterator[Start | Discard]:
        """Yield what is done about clusters in which nothing runs any more, however it ended."""
        needed = self.sources()
        is_early = self.plan.replicas and any(one.is_open for one in self.clusters.values())
        left = {
            step: cluster
            for step in (() if is_early else self.plan.closing)
            if (cluster := self.clusters[step.partition(":")[2]]).results is ResultsStage.THERE
            and not cluster.is_open
        }
        wanted = [step for step, cluster in left.items() if cluster.identifier in needed]
        # What others have made too stays until the same has come home.
        for step in wanted or ([] if self.are_moving else list(left)):
            left[step].advance_results(ResultsEvent.CALLED)
            yield Start(step) if step in wanted else Discard(step)

    def _made_by(self, processes: Iterable[str]) -> set[int]:
        """Return the ranks of which these replicas have made all results."""
        return {self.plan.replicas[one] for one in processes if self.ranks[one].has_made_all}
