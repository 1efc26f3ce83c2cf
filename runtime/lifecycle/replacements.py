"""Ranks that are started again in place of lost ones: the process states of FT-MPI, as a table.

Each place in the machine is taken by one process at a time, which is known by its incarnation. A
pure machine: what happens goes in, what has to be done about it comes out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from gcm.records import dataclass
from runtime.collectives.recovery_modes import ProcessState
from runtime.membership.whereabouts import RankArrival, Report, replacement
from runtime.rank_name import RankName

FIRST = 1
"""The incarnation of ranks that are started with all others."""


class ProcessEvent(StrEnum):
    """What happens to a process."""

    READY = "is ready"
    WANTED = "another one is wanted in its place"
    ENDED = "has ended"


class Deed(StrEnum):
    """What has to be done."""

    NOTHING = "nothing"
    END = "end it"
    START = "start another one"
    TELL_WHERE = "tell all where it is"
    TELL_NOT = "tell all that it did not come"


_S, _E, _D = ProcessState, ProcessEvent, Deed
TRANSITIONS: dict[tuple[ProcessState, ProcessEvent], tuple[ProcessState, Deed]] = {
    (_S.OK, _E.WANTED): (_S.UNAVAILABLE, _D.END),
    (_S.OK, _E.ENDED): (_S.FAILED, _D.NOTHING),
    (_S.UNAVAILABLE, _E.WANTED): (_S.UNAVAILABLE, _D.NOTHING),
    (_S.UNAVAILABLE, _E.ENDED): (_S.JOINING, _D.START),
    (_S.FAILED, _E.WANTED): (_S.JOINING, _D.START),
    (_S.FAILED, _E.ENDED): (_S.FAILED, _D.NOTHING),
    (_S.JOINING, _E.WANTED): (_S.JOINING, _D.NOTHING),
    (_S.JOINING, _E.READY): (_S.OK, _D.TELL_WHERE),
    (_S.JOINING, _E.ENDED): (_S.FAILED, _D.TELL_NOT),
}
"""What each event leads to in each state: the next state, and what has to be done."""


@dataclass(frozen=True, slots=True)
class StartAgain:
    """Start a rank, in the incarnation that its name has."""

    rank: RankName


@dataclass(frozen=True, slots=True)
class EndRank:
    """End the process of a rank."""

    rank: RankName


@dataclass(frozen=True, slots=True)
class TellMoved:
    """Tell all front-ends who has taken the place of a lost rank."""

    report: Report


ReplacementEffect = StartAgain | EndRank | TellMoved


class _Process:
    __slots__ = ("incarnation", "state")

    def __init__(self) -> None:
        self.incarnation = FIRST
        self.state = ProcessState.OK


class Replacements:
    """Who has which rank now, of so many ranks at the start.

    >>> ranks, lost = Replacements(4), RankName(0, 1, 0, 1)
    >>> ranks.ended(lost)
    []
    >>> ranks.wanted([lost]) == [StartAgain(RankName(0, 1, 0, 2))], ranks.wanted([lost])
    (True, [])
    """

    def __init__(self, size: int) -> None:
        self._processes: dict[RankName, _Process] = {}
        self._next = size

    def incarnation(self, rank: RankName) -> int:
        """Return which incarnation of a rank is the present one."""
        return self._of(rank).incarnation

    def state(self, rank: RankName) -> ProcessState:
        """Return the state of the process that has a rank."""
        return self._of(rank).state

    def joining(self, cluster: str) -> list[RankName]:
        """Return the ranks of a cluster that are being started again."""
        known = self._processes.items()
        joining = (rank for rank, one in known if one.state is ProcessState.JOINING)
        return [rank for rank in joining if rank.cluster == cluster]

    def wanted(self, lost: Iterable[RankName]) -> list[ReplacementEffect]:
        """Take the wish for other processes in place of lost ones, by names with incarnations.

        What is past is passed over: another one has taken that place already.
        """
        found = []
        for rank in lost:
            if rank.incarnation == self._of(rank).incarnation:
                found += self._happens(rank, ProcessEvent.WANTED)
        return found

    def ready(self, rank: RankName, arrival: RankArrival) -> list[ReplacementEffect]:
        """Take in what a rank says of itself that was started again."""
        if self._of(rank).state is not ProcessState.JOINING:
            return []
        return self._happens(rank, ProcessEvent.READY, arrival)

    def ended(self, rank: RankName) -> list[ReplacementEffect]:
        """Record that the present process of a rank has ended."""
        return self._happens(rank, ProcessEvent.ENDED)

    def _of(self, rank: RankName) -> _Process:
        return self._processes.setdefault(rank.place, _Process())

    def _happens(
        self, rank: RankName, event: ProcessEvent, arrival: RankArrival | None = None
    ) -> list[ReplacementEffect]:
        one = self._of(rank)
        one.state, deed = TRANSITIONS[one.state, event]
        if deed is Deed.END:
            return [EndRank(rank.place)]
        if deed is Deed.START:
            one.incarnation += 1
            return [StartAgain(replace(rank, incarnation=one.incarnation))]
        if deed in (Deed.TELL_WHERE, Deed.TELL_NOT):
            index, self._next = self._next, self._next + 1
            return [TellMoved(replacement(index, str(rank.place), one.incarnation, arrival))]
        return []
