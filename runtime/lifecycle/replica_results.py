"""Which results are needed of a run: of all clusters, or of those whose replicas have made them.

Where ranks have replicas each is a process of its own in another cluster, and it is enough that the
results of one of each rank come home.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gcm.records import dataclass
from runtime.lifecycle.cluster_life import PlaceStage, ResultsEvent, ResultsStage
from runtime.lifecycle.events import Discard, Start
from runtime.lifecycle.run_life import RunEvent
from runtime.lifecycle.run_parts import RunParts
from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName


@dataclass(frozen=True, slots=True)
class NeededResults:
    """Looks at the lives of a run, and says what becomes of results; it has no state of its own."""

    run: RunParts

    def ranks_without(self) -> set[int]:
        """Return the ranks of which no replica has ended well."""
        ended = (one for one in self.run.plan.replicas if self.run.ranks[one].has_ended_well)
        return set(self.run.plan.replicas.values()) - {self.run.plan.replicas[one] for one in ended}

    def has_lost_all_of(self, process: RankName) -> bool:
        """Tell whether all replicas of the rank of a process have died badly."""
        replicas = self.run.plan.replicas
        same = (one for one, rank in replicas.items() if rank == replicas[process])
        deaths = [self.run.ranks[one].death for one in same]
        return all(one is not None and one.code for one in deaths)

    def are_whole(self) -> bool:
        """Tell whether nobody writes any more where results are to come from."""
        return all(one.is_over for name in self.sources() for one in self.run.clusters[name].ranks)

    def are_elsewhere(self, cluster: str) -> bool:
        """Tell whether each rank has a replica outside of a cluster that has made the same."""
        own = {one.rank for one in self.run.clusters[cluster].ranks}
        elsewhere = self._made_by(one for one in self.run.plan.replicas if one not in own)
        return bool(self.run.plan.replicas) and elsewhere == set(self.run.plan.replicas.values())

    def lose(self, cluster: str) -> None:
        """Need other replicas again: what those of a cluster have made is gone with it."""
        run = self.run
        if not (run.plan.replicas and cluster in run.plan.closing.values()):
            return
        for one in run.clusters[cluster].ranks:
            if one.has_ended_well:
                why = "what it made was lost with its front-end"
                one.die(replace(RankDeath.lost(one.rank, why), supersedes=True), is_kept=True)
        is_needed = not run.failures.code and bool(self.ranks_without())
        if is_needed and run.life.advance(RunEvent.SPARED):
            run.clock.deadline = None

    def sources(self) -> set[str]:
        """Return the clusters whose results are needed: with replicas those of one of each rank.

        Clusters that have lost nobody come first, those that are lost themselves last. Where a rank
        has no replica that has made all of them, what each cluster has is needed.
        """
        good = {
            one.identifier: self._made_by(rank.rank for rank in one.ranks)
            for one in self.run.clusters.values()
            if one.ranks and self.run.plan.replicas
        }
        if not good or set[int]().union(*good.values()) != set(self.run.plan.replicas.values()):
            return set(self.run.plan.closing.values())

        def lacks(cluster: str) -> tuple[bool, int]:
            life = self.run.clusters[cluster]
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
        return any(one.results is ResultsStage.MOVING for one in self.run.clusters.values())

    def next_steps(self) -> Iterator[Start | Discard]:
        """Yield what is done about clusters in which nothing runs any more, however it ended."""
        needed = self.sources()
        is_early = self.run.plan.replicas and bool(self.run.places)
        left = {
            step: cluster
            for step, name in ({} if is_early else self.run.plan.closing).items()
            if (cluster := self.run.clusters[name]).results is ResultsStage.THERE
            and not cluster.is_open
        }
        wanted = [step for step, cluster in left.items() if cluster.identifier in needed]
        # What others have made too stays until the same has come home.
        for step in wanted or ([] if self.are_moving else list(left)):
            left[step].advance_results(ResultsEvent.CALLED)
            yield Start(step) if step in wanted else Discard(step)

    def _made_by(self, processes: Iterable[RankName]) -> set[int]:
        """Return the ranks of which these replicas have made all results."""
        lives = (self.run.ranks[one] for one in processes)
        made = (one.rank for one in lives if one.has_ended_well and not one.was_restarted)
        return {self.run.plan.replicas[one] for one in made}
