"""The runs of the ranks of a cluster: one for each incarnation of its code, and who is where.

Ranks are released once the launcher lets them run and it is known where all others are, whichever
comes first. A code that is started again waits for the launcher's word again, and for no more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum

from runtime.machine.contracts import Facts
from runtime.machine.table import encoded
from runtime.membership.whereabouts import RankArrival, Whereabouts
from runtime.processes.front_end.cluster_ranks import FIRST
from runtime.processes.front_end.components import Components
from runtime.processes.front_end.ranks_run import RanksRun
from runtime.rank_name import RankName
from runtime.transitions import change
from runtime.transport.channel import Channel
from runtime.transport.reactor import Reactor


class CodeStage(StrEnum):
    """What the ranks of a code still wait for."""

    WAITING = "waiting"
    """For the launcher, and to know who is where."""
    ALLOWED = "allowed"
    """To know who is where."""
    LOCATED = "located"
    """For the launcher."""
    RELEASED = "released"


class CodeEvent(StrEnum):
    """What happens to a code in its cluster."""

    ALLOWED = "the launcher lets it run"
    LOCATED = "it is known who is where"
    RESTARTED = "it is started again"


_S, _E = CodeStage, CodeEvent
TRANSITIONS: dict[tuple[CodeStage, CodeEvent], CodeStage] = {
    (_S.WAITING, _E.ALLOWED): _S.ALLOWED,
    (_S.WAITING, _E.LOCATED): _S.LOCATED,
    (_S.ALLOWED, _E.LOCATED): _S.RELEASED,
    (_S.LOCATED, _E.ALLOWED): _S.RELEASED,
    (_S.ALLOWED, _E.RESTARTED): _S.WAITING,
    (_S.RELEASED, _E.RESTARTED): _S.LOCATED,
}
"""What each event leads to in each stage; a pair that has no row changes nothing."""


class CodeRuns:
    """Has the present run, `new` makes that of an incarnation; None where there are no ranks.

    Nothing begins any more once it is `over`. All methods but `close` are for the reactor's thread.
    """

    def __init__(
        self,
        reactor: Reactor,
        components: Components,
        new: Callable[[int], RanksRun] | None,
        over: threading.Event,
    ) -> None:
        self._reactor = reactor
        self._components = components
        self._new = new
        self._over = over
        self._stage = CodeStage.WAITING
        self.whereabouts = Whereabouts()
        """Who is where, as far as it is known."""
        self._lost: list[Facts] = []  # where others go on without these
        self._limits: tuple[float, float] | None = None  # by the monotonic clock here
        self._past: list[tuple[int, int, int]] = []
        self._ended: list[RanksRun] = []  # runs of which something may be left
        self.present = None if new is None else new(FIRST)
        """The run of the present incarnation."""

    @property
    def arrivals(self) -> dict[str, RankArrival]:
        """What the ranks that are here have told about themselves."""
        return {} if self.present is None else self.present.arrivals

    @property
    def is_running(self) -> bool:
        """Whether the program runs."""
        return self.present is not None and self.present.is_released and not self.present.is_over

    @property
    def traffic(self) -> tuple[int, ...]:
        """What went between the front-end and the ranks, in all runs; nothing without ranks."""
        runs = [*self._past, *([] if self.present is None else [self.present.traffic])]
        return tuple(sum(numbers) for numbers in zip(*runs, strict=True))

    def find(self, rank: str) -> Channel | None:
        """Return the way to a rank; None if it is not there."""
        return None if self.present is None else self.present.find(rank)

    def start_ranks(self, incarnation: int) -> None:
        """Start the ranks, or start them again when they have ended."""
        ranks = self.present
        if ranks is None or self._new is None:
            return
        if ranks.is_over:  # it may be without ever having begun
            ranks.shut()
            self._past.append(ranks.traffic)
            self._ended.append(ranks)
            self._lost = []
            self._advance(CodeEvent.RESTARTED)
            fresh = self.present = self._new(incarnation)
            # Deferred: the listener of the run before has to be closed first.
            self._reactor.soon(lambda: self._begin_again(fresh))
        elif not ranks.has_begun:
            ranks.start()

    def _begin_again(self, fresh: RanksRun) -> None:
        if not self._over.is_set() and fresh.open():
            fresh.start(self._ended)
            self._ended = []

    def go(self) -> None:
        """Let the ranks run; those that nobody has asked for yet will be allowed when they came."""
        if self.present is not None and self.present.has_begun:
            self._advance(CodeEvent.ALLOWED)

    def locate(self) -> None:
        """Let the ranks run as far as it has to be known who is where, which it is now."""
        self._advance(CodeEvent.LOCATED)

    def limit_time(self, ends: float, saves: float) -> None:
        """Let the ranks know how long the run may go on, or tell them when they may run."""
        now = self._reactor.now()
        self._limits = now + ends, now + saves
        if self.present is not None and self.present.is_released:
            self._tell_limits()

    def _tell_limits(self) -> None:
        if self._limits is not None:
            now, (ends, saves) = self._reactor.now(), self._limits
            self._components.control.limit_time(ends - now, saves - now)

    def _advance(self, event: CodeEvent) -> None:
        before, self._stage = self._stage, change(TRANSITIONS, self._stage, event, "the code here")
        is_new = self._stage is CodeStage.RELEASED and before is not self._stage
        if is_new and self.present is not None:
            self._tell_limits()
            self.present.go(encoded(self.whereabouts.everybody), self._lost)

    def replaced(self, reports: list[Facts]) -> None:
        """Let the ranks know which others have taken the place of lost ones, and admit own ones."""
        replacing = [one["rank"] for one in reports if "index" in one]
        if replacing and self.present is not None and self.present.is_released:
            table = encoded(self.whereabouts.everybody)
            self._components.views.view(table)
            self._tell_limits()
            for rank in replacing:
                if RankName.parse(rank).cluster == self.present.cluster:
                    self.present.admit(rank, table, self._lost)

    def lost(self, reports: list[Facts]) -> None:
        """Let the ranks know which others have ended."""
        self._lost += reports
        if self.present is not None and self.present.is_released:
            self._components.views.lost(reports)

    def close(self) -> None:
        """End all runs; waits until that is so."""
        for run in (*self._ended, self.present):
            if run is not None:
                run.close()
