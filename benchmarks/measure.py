"""How everything here is measured: alternately, several times, and told by medians."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

Work = Callable[[int], object]
"""Does something as often as it is told."""

Clock = Callable[[], float]

ROUND_SECONDS = 0.01
REPETITIONS = 31


@dataclass(frozen=True, slots=True)
class Times:
    """The seconds that each case took per unit of work, one figure for each round."""

    rounds: Mapping[str, list[float]]

    def of(self, case: str) -> float:
        """Return the median time of a case."""
        return median(self.rounds[case])

    def ratio(self, case: str, peer: str) -> float:
        """Return how many times longer `case` took than `peer`: the median over the rounds.

        The two ran right after each other in every round, so that what disturbed the machine
        disturbed both.
        """
        pairs = zip(self.rounds[case], self.rounds[peer], strict=True)
        return median(one / other for one, other in pairs)


def compare(cases: Mapping[str, Work], clock: Clock = time.perf_counter) -> Times:
    """Run all cases in turn, again and again, each about as long as a round takes.

    What happens in one thread is best timed by `time.thread_time`: it stands still while other
    programs have the processor.
    """
    loops = {name: _calibrated(work, clock) for name, work in cases.items()}
    rounds: dict[str, list[float]] = {name: [] for name in cases}
    gc.collect()
    gc.disable()
    try:
        for _ in range(REPETITIONS):
            for name, work in cases.items():
                rounds[name].append(seconds(work, loops[name], clock) / loops[name])
    finally:
        gc.enable()
    return Times(rounds)


def seconds(work: Work, loops: int, clock: Clock) -> float:
    """Return how long `work` takes for so many loops."""
    begin = clock()
    work(loops)
    return clock() - begin


def _calibrated(work: Work, clock: Clock) -> int:
    """Return the number of loops that takes about one round."""
    loops = 1
    while (spent := seconds(work, loops, clock)) < ROUND_SECONDS / 4:
        loops *= 4
    return max(1, round(loops * ROUND_SECONDS / spent))
