"""Clusters without which a run begins or goes on, since their queues have granted no nodes yet.

Their ranks count as lost until they are started, each alone, in the places that were kept for them.
Nobody waits for these clusters: the others are led by who is there, and make their handshake
without them. A cluster that has come joins by one more round of it, in which all others learn where
its front-end is, and it learns where everybody is. One joins after the other: of two rounds at once
that pass the same site, the grid would take the first report for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.errors import GridError
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
        """The clusters that have not come, or will not."""
        self._joining: set[str] = set()
        self._ready: list[ClusterPlace] = []  # to join, after the one whose round goes on
        self._in_round = ""
        self._places = places
        self._allocator = allocator
        self._router = router
        self._ranks = ranks
        self._stage_out = stage_out

    def leave_out(self, cluster: str) -> None:
        """Begin without a cluster, or go on without one that is asking for nodes again."""
        self.missing.add(cluster)
        self._router.lead(self._allocator.deployment)
        self._ranks.leave_out(cluster)

    def are_others_up(self) -> bool:
        """Tell whether the front-ends of all others serve."""
        return all(one.is_up or name in self.missing for name, one in self._places.items())

    def is_there(self, place: ClusterPlace) -> bool:
        """Tell whether a cluster has come, and was not lost."""
        return not place.was_lost and place.identifier not in self.missing

    def members(self, part: str) -> list[str]:
        """Return the clusters of a site, or the sites of the grid, that are there."""
        there = [one for one in self._places if one not in self.missing]
        if part:
            return [one for one in there if _site(one) == part]
        return list(dict.fromkeys(map(_site, there)))

    def unled(self) -> Iterator[tuple[str, str]]:
        """Yield the steps that fail of those that nobody can let in any more, and why.

        That is so once the grid has lost the front-end that led it. Who led a site may be followed
        by one whose nodes are granted later, but not by one that was opened below it.
        """
        self._router.lead(self._allocator.deployment)
        for name in sorted(self.missing | self._joining):
            place, site = self._places[name], self._router.host_of(_site(name))
            leader = site if place.is_up and site.was_lost else self._router.host_of("")
            if leader.was_lost and not place.was_lost:
                fault = GridError(
                    f"it cannot join without {leader.cluster.path}, which led it and is lost",
                    place=place.cluster.path,
                    cure="Its nodes are given back, and the others go on",
                )
                yield f"front-end:{name}", str(fault)

    def arrived(self) -> Iterator[ClusterPlace]:
        """Yield those that have come, and count as there from now on.

        Who comes to a site that nobody leads yet waits for the first one there.
        """
        for name in sorted(self.missing):
            place, site = self._places[name], self._router.host_of(_site(name))
            if place.is_up and site.is_up and not (place.was_lost or site.was_lost):
                self.missing.remove(name)
                self._joining.add(name)
                yield place

    def join(self, place: ClusterPlace) -> None:
        """Let a cluster take part that has come, once those before it do."""
        self._ready.append(place)
        if not self._in_round:
            self._begin_round()

    def gathered(self) -> None:
        """Let the next one join: the round of the one before is over."""
        self._in_round = ""
        self._begin_round()

    def _begin_round(self) -> None:
        if not self._ready:
            return
        place = self._ready.pop(0)
        name, site = place.identifier, _site(place.identifier)
        self._in_round = name
        self._stage_out.join(name)
        self._ranks.brief(name)
        place.orders.go()
        for part, members in ((name, []), (site, [name]), ("", [site])):
            self._router.host_of(part).orders.expect(part, members)

    def joined(self, cluster: str) -> None:
        """Record that the ranks of a cluster can be started."""
        self._joining.discard(cluster)

    def leave(self, place: ClusterPlace) -> None:
        """Let nobody wait for a cluster that is lost before it has joined."""
        name, site = place.identifier, _site(place.identifier)
        if name in self._joining:
            self._joining.remove(name)
            self._ready = [one for one in self._ready if one is not place]
        if name == self._in_round:
            leads = self._router.host_of(site)
            part, member = ("", site) if leads is place or leads.was_lost else (site, name)
            self._router.host_of(part).orders.forget(part, member)


def _site(cluster: str) -> str:
    return cluster.partition(":")[0]
