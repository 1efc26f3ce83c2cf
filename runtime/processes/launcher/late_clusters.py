"""Clusters without which a run begins, since their queues have granted no nodes yet.

Their ranks count as lost until they are started, each alone, in the places that were kept for them.
Nobody waits for these clusters: the others are led by who is there, and make their handshake
without them. A cluster that has come joins by one more round of it, in which all others learn where
its front-end is, and it learns where everybody is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.processes.launcher.call_router import CallRouter
from runtime.processes.launcher.co_allocator import CoAllocator
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.rank_processes import RankProcesses
from runtime.processes.launcher.stage_out import StageOut


class LateClusters:
    """Those that have not joined yet; for the engine's thread."""

    def __init__(
        self,
        places: Mapping[str, ClusterPlace],
        allocator: CoAllocator,
        router: CallRouter,
        ranks: RankProcesses,
        stage_out: StageOut,
    ) -> None:
        self.missing: set[str] = set()
        """The clusters that have not joined."""
        self._places = places
        self._allocator = allocator
        self._router = router
        self._ranks = ranks
        self._stage_out = stage_out

    def leave_out(self, cluster: str) -> None:
        """Begin without a cluster."""
        self.missing.add(cluster)
        self._router.lead(self._allocator.deployment)
        self._ranks.leave_out(cluster)

    def are_others_up(self) -> bool:
        """Tell whether the front-ends of all others serve."""
        return all(one.is_up or name in self.missing for name, one in self._places.items())

    def members(self, part: str) -> list[str]:
        """Return the clusters of a site, or the sites of the grid, that are there."""
        there = [one for one in self._places if one not in self.missing]
        if part:
            return [one for one in there if one.partition(":")[0] == part]
        return list(dict.fromkeys(one.partition(":")[0] for one in there))

    def join(self) -> Iterator[ClusterPlace]:
        """Let those join that have come, once the program runs; yield them.

        Who comes to a site that nobody leads yet waits for the first one there.
        """
        self._router.lead(self._allocator.deployment)
        for name in sorted(self.missing):
            place, site = self._places[name], name.partition(":")[0]
            if place.was_lost or not (place.is_up and self._router.host_of(site).is_up):
                continue
            self.missing.remove(name)
            self._stage_out.join(name)
            self._ranks.brief(name)
            place.orders.go()
            for part, members in ((name, []), (site, [name]), ("", [site])):
                self._router.host_of(part).orders.expect(part, members)
            yield place
