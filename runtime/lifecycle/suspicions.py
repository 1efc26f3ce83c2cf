"""Ranks that cannot reach each other, by names with incarnations. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from gcm.records import dataclass
from runtime.lifecycle.cluster_life import ClusterLife, PlaceEvent, PlaceStage
from runtime.lifecycle.events import Announce, Condemn, CondemnRank, Suspected, TellUnreachable
from runtime.lifecycle.rank_life import ENDS, RankEvent, RankLife, RankStage
from runtime.rank_name import RankName

AFTER_STANDSTILL = 12.0
"""Seconds for a rank that was stopped to be reached again: as long as a broken connection has."""


@dataclass(frozen=True, slots=True, eq=False)
class Suspicion:
    """One rank, `by`, cannot reach another one; each time that is told it is another suspicion."""

    by: RankName
    rank: RankName
    why: str

    @property
    def places(self) -> set[RankName]:
        """Return the two ranks, without their incarnations."""
        return {self.by.place, self.rank.place}


class Suspicions:
    """Who believes whom to be lost, until it is withdrawn or one of the two is no more.

    `present` returns which incarnation of a rank is the present one. About a rank that is stopped
    nothing is decided: it answers nobody, and lives.

    >>> known, near, far = Suspicions(lambda _: 1), RankName(0, 0, 0, 1), RankName(0, 1, 0, 1)
    >>> one = known.add(near, far, "no route")
    >>> known.is_due(one)
    True
    >>> known.withdraw(near, far)
    >>> known.is_due(one)
    False
    """

    def __init__(self, present: Callable[[RankName], int]) -> None:
        self._present = present
        self._open: dict[tuple[RankName, RankName], Suspicion] = {}
        self._stopped: set[RankName] = set()

    def add(self, by: RankName, rank: RankName, why: str) -> Suspicion:
        """Record that a rank cannot reach another one; what is returned is decided after a while.

        A suspicion that was withdrawn and comes back has that while anew.
        """
        return self._keep(Suspicion(by, rank, why))

    def withdraw(self, by: RankName, rank: RankName) -> None:
        """Record that it has reached it again."""
        self._open.pop((by, rank), None)

    def stopped(self, rank: RankName) -> None:
        """Record that a rank stands still: a signal or a debugger has stopped it."""
        self._stopped.add(rank.place)

    def goes_on(self, rank: RankName) -> list[Suspicion]:
        """Record that it goes on, or has ended; return what is to be decided after a while."""
        if rank.place not in self._stopped:
            return []
        self._stopped.discard(rank.place)
        return [self._keep(replace(one)) for one in self._about(rank)]

    def begins(self, rank: RankName) -> None:
        """Record that a process takes a rank: what was told by or of a former one is over."""
        for one in self._about(rank):
            self.withdraw(one.by, one.rank)

    def is_due(self, suspicion: Suspicion) -> bool:
        """Tell whether it has to be decided now which of two ranks is lost."""
        pair = suspicion.by, suspicion.rank
        if any(one.incarnation != self._present(one) for one in pair):
            self.withdraw(*pair)  # another one has taken the place of one of them
        return self._open.get(pair) is suspicion and not suspicion.places & self._stopped

    def blamed(self, suspicion: Suspicion) -> RankName:
        """Return which of two ranks cannot reach more others, or is not reached by more.

        Of two equals it is the later one.

        >>> known = Suspicions(lambda _: 1)
        >>> for number in (1, 2):
        ...     last = known.add(RankName(0, 0, number, 1), RankName(0, 0, 0, 1), "no route")
        >>> str(known.blamed(last))
        '0:0:0'
        """
        others = Counter(one for pair in {frozenset(pair) for pair in self._open} for one in pair)
        pair = suspicion.by, suspicion.rank
        return max(pair, key=lambda one: (others[one], one)).place

    def _keep(self, suspicion: Suspicion) -> Suspicion:
        self._open[suspicion.by, suspicion.rank] = suspicion
        return suspicion

    def _about(self, rank: RankName) -> list[Suspicion]:
        return [one for one in self._open.values() if rank.place in one.places]


def decided(
    event: Suspected,
    ranks: Mapping[RankName, RankLife],
    clusters: Mapping[str, ClusterLife],
    *,
    is_steered: bool,
) -> Iterator[Announce | TellUnreachable | Condemn | CondemnRank]:
    """Decide for all which of two ranks is lost that live and cannot reach each other.

    Of one cluster it is one of them. Else it is one's whole cluster, since both cannot go on: that
    with fewer ranks, or the later one. What others say of a rank or a cluster that is to end
    already is no reason to end another one. Where nobody goes on without others the run fails for
    the line between the two clusters; of two ranks of one cluster, or if one has ended, it is their
    affair, and so it is in a steered run, which outlives its codes.
    """
    by, rank = ranks[event.by], ranks[event.rank]
    names = [event.by.cluster, event.rank.cluster]
    pair = [clusters[name] for name in dict.fromkeys(names)]
    is_decided = any(one.place is PlaceStage.CONDEMNED for one in pair)
    is_decided |= RankStage.CONDEMNED in (by.stage, rank.stage)
    if rank.announced is not None:
        yield Announce(rank.announced, is_new=False)
    elif not any(one.goes_on for one in pair):
        if is_steered or len(pair) == 1 or ENDS & {by.stage, rank.stage}:
            yield TellUnreachable(event.by, event.rank, event.why)
        elif not is_decided:
            pair[-1].advance_place(PlaceEvent.CONDEMNED, event.why)
            yield Condemn(names[-1], event.why, (names[0], names[1]))
    elif by.has_ended_well:  # its process is there until the other one has all
        yield TellUnreachable(event.by, event.rank, event.why)
    elif by.announced is not None or is_decided:
        return
    elif len(pair) == 1:
        ranks[event.blamed].advance(RankEvent.CONDEMNED, event.why)
        yield CondemnRank(event.blamed, event.why)
    elif all(one.goes_on for one in pair):
        order = list(clusters)
        chosen = min(pair, key=lambda one: (one.living, -order.index(one.identifier)))
        chosen.advance_place(PlaceEvent.CONDEMNED, event.why)
        yield Condemn(chosen.identifier, event.why)
