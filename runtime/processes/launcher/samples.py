"""Looks at a run from time to time, while somebody wants to see it: what ranks do and have sent.

A look is as cheap as `ps`, and what has not changed is not told again, so that a recorded run of
hours stays small. Without a listener that wants them there are no looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from runtime.coupling.deployed_codes import CallLater
from runtime.lifecycle.run_life import RunPhase
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.wait_reports import WaitReports
from runtime.views.facts import MACHINE, RankSeen, Record, RunSeen
from runtime.views.stream import FactStream

SELDOM = 5
"""After so many looks it is told of all ranks: how much memory and processor time they used."""


class Sampling(NamedTuple):
    """Every how many seconds a run is looked at, 0 for never, and how long after its begin."""

    seconds: float = 0.0
    first: float = 0.0


UNSAMPLED = Sampling()
"""Nobody looks."""


class Samples:
    """Tells what ranks do from time to time. For the engine's thread."""

    def __init__(
        self,
        places: Iterable[ClusterPlace],
        waits: WaitReports,
        facts: FactStream,
        later: CallLater,
        *,
        sampling: Sampling,
    ) -> None:
        self._places = places
        self._waits = waits
        self._facts = facts
        self._later = later
        self._seconds, self._first = sampling
        self._is_running = False
        self._is_due = False
        self._is_looking = False
        self._looks = 0
        self._reported: dict[str, RankSeen] = {}

    def begin(self) -> None:
        """Look from now on: the application runs."""
        self._is_running = True
        self._sample_later(self._first)

    def every(self, seconds: float) -> None:
        """Look every so many seconds from now on, and tell all once more."""
        self._seconds = seconds
        self._reported.clear()
        self._sample_later(0.0)

    def end(self) -> None:
        """Look no more."""
        self._is_running = False

    def _sample_later(self, seconds: float) -> None:
        if self._is_running and self._seconds and not self._is_due:
            self._is_due = True
            self._later(seconds, self._sample)

    def _sample(self) -> None:
        self._is_due = False
        if self._is_running and self._seconds:
            for place in self._places:
                place.orders.count_messages()
            if not self._is_looking:  # it takes longer than to count
                self._is_looking = True
                self._waits.ask_facts(self._publish)
            self._sample_later(self._seconds)

    def _publish(self, seen: list[tuple[str, Record]]) -> None:
        self._is_looking = False
        if not self._is_running:
            return
        self._looks += 1
        is_for_all = self._looks % SELDOM == 1
        self._facts.tell(MACHINE, RunSeen(str(RunPhase.RUNNING)))
        for name, record in seen:
            if not isinstance(record, RankSeen):
                self._facts.tell(name, record)
            elif is_for_all or _lasting(record) != _lasting(self._reported.get(name)):
                self._reported[name] = record
                self._facts.tell(name, record)


def _lasting(seen: RankSeen | None) -> RankSeen | None:
    """Return it without what differs at each look."""
    if seen is None:
        return None
    calls = tuple(replace(one, seconds=0.0) for one in seen.calls)
    return replace(seen, doing="", calls=calls, memory=0, cpu=0.0, in_mpi=0.0)
