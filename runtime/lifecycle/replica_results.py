"""Which results are needed of a run: of all clusters, or of those whose replicas have made them.

Where ranks have replicas each is a process of its own in another cluster, and it is enough that the
results of one of each rank come home.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gcm.records import dataclass
from runtime.lifecycle.cluster_life import ClusterLife, PlaceStage
from runtime.lifecycle.outline import Outline
from runtime.lifecycle.rank_life import RankLife


@dataclass(frozen=True, slots=True)
class NeededResults:
    """Looks at the lives of a run; it has no state of its own."""

    outline: Outline
    clusters: Mapping[str, ClusterLife]
    ranks: Mapping[str, RankLife]

    def ranks_without(self) -> set[int]:
        """Return the ranks of which no replica has ended well."""
        ended = (one for one in self.outline.replicas if self.ranks[one].has_ended_well)
        return set(self.outline.replicas.values()) - {self.outline.replicas[one] for one in ended}

    def has_lost_all_of(self, process: str) -> bool:
        """Tell whether all replicas of the rank of a process have died badly."""
        rank = self.outline.replicas[process]
        deaths = [self.ranks[one].death for one, of in self.outline.replicas.items() if of == rank]
        return all(one is not None and one.code for one in deaths)

    def are_whole(self) -> bool:
        """Tell whether nobody writes any more where results are to come from."""
        return all(one.is_over for name in self.sources() for one in self.clusters[name].ranks)

    def are_elsewhere(self, cluster: str) -> bool:
        """Tell whether each rank has a replica outside of a cluster that has made the same."""
        own = {one.rank for one in self.clusters[cluster].ranks}
        elsewhere = self._made_by(one for one in self.outline.replicas if one not in own)
        return bool(self.outline.replicas) and elsewhere == set(self.outline.replicas.values())

    def sources(self) -> set[str]:
        """Return the clusters whose results are needed: with replicas those of one of each rank.

        Clusters that have lost nobody come first, those that are lost themselves last. Where a rank
        has no replica that has made all of them, what each cluster has is needed.
        """
        good = {
            one.identifier: self._made_by(rank.rank for rank in one.ranks)
            for one in self.clusters.values()
            if one.ranks and self.outline.replicas
        }
        if not good or set[int]().union(*good.values()) != set(self.outline.replicas.values()):
            return {step.partition(":")[2] for step in self.outline.closing}

        def lacks(cluster: str) -> tuple[bool, int]:
            life = self.clusters[cluster]
            return life.place is PlaceStage.LOST, len(life.ranks) - len(good[cluster])

        needed, done = set[str](), set[int]()
        for cluster in sorted(good, key=lacks):
            if good[cluster] - done:
                needed.add(cluster)
                done |= good[cluster]
        return needed

    def _made_by(self, processes: Iterable[str]) -> set[int]:
        """Return the ranks of which these replicas have made all results."""
        return {self.outline.replicas[one] for one in processes if self.ranks[one].has_made_all}
