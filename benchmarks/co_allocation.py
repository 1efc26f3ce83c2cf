"""`python -m benchmarks.co_allocation`: how long several queues take to grant nodes together.

The planner of runs, `CoAllocation`, decides over queues whose waits are drawn at random, in
simulated time. Each cell has the median of the hours until all have begun, the mean of the
core-hours for which nodes were held without use, with one core in each cluster, and the mean number
of jobs that were submitted, by the way in which clusters ask again.

The waits are from stated distributions with heavy tails, each drawn independently of all others:

- `lognormal`: median 30 min, sigma 1.5, so one in ten waits longer than 3.4 h;
- `pareto`: at least 1 min, exponent 1.1, so one in ten waits longer than 8 min, one in a hundred
  longer than 66 min;
- `one full`: the first cluster as `lognormal`, all others 20 s (exponential): sites that are empty.

`until all` holds nodes until the last cluster has its own, and so gives nothing back. `all but one`
begins once one cluster is missing, which joins later (`start="2 of 3"`). `reserved`
is where all systems take reservations: each for any start that is not before that of a job which
was submitted at the beginning, without telling when that is. The same seeds give the same table. A
run that has not begun within ten days counts as ten days.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from runtime.allocations.co_allocation import (
    AskingWay,
    CoAllocation,
    Effect,
    GiveBack,
    QueueRequest,
    Submit,
    UseNodes,
)

Draw = Callable[[random.Random, str], float]

GIVEN_UP = 10 * 86400.0
CLUSTERS = (2, 3, 4, 6, 8)
MEDIAN, SIGMA = 1800.0, 1.5
LEAST, EXPONENT = 60.0, 1.1
EMPTY = 20.0
FIRST = "c0"

WAYS: dict[str, tuple[AskingWay, float, int]] = {
    "reserved": (AskingWay.RESERVE, 300.0, 0),
    "until all": (AskingWay.HOLD, math.inf, 0),
    "hold, 5 min": (AskingWay.HOLD, 300.0, 0),
    "surplus, 5 min": (AskingWay.SURPLUS, 300.0, 0),
    "chosen, 5 min": (AskingWay.CHOSEN, 300.0, 0),
    "all but one, 5 min": (AskingWay.CHOSEN, 300.0, 1),
    "hold, 30 min": (AskingWay.HOLD, 1800.0, 0),
    "surplus, 30 min": (AskingWay.SURPLUS, 1800.0, 0),
    "chosen, 30 min": (AskingWay.CHOSEN, 1800.0, 0),
    "all but one, 30 min": (AskingWay.CHOSEN, 1800.0, 1),
}
"""Of each column: how clusters ask again, how long nodes may be idle, and how many may be late."""


def _lognormal(chance: random.Random, _: str) -> float:
    return chance.lognormvariate(math.log(MEDIAN), SIGMA)


def _pareto(chance: random.Random, _: str) -> float:
    return LEAST * chance.paretovariate(EXPONENT)


def _one_full(chance: random.Random, cluster: str) -> float:
    return _lognormal(chance, cluster) if cluster == FIRST else chance.expovariate(1 / EMPTY)


WAITS: dict[str, Draw] = {"lognormal": _lognormal, "pareto": _pareto, "one full": _one_full}


@dataclass(slots=True)
class Simulated:
    """One start in simulated time: when it began, if it did, and what that took.

    `held` are the seconds for which each job had nodes before the start, by request; `chosen` are
    the requests by which it began, `queued` those whose jobs are left in a queue, with the times at
    which they will be granted. `free` is from when on each cluster reserves nodes, `answers` says
    of requests whether it does.
    """

    now: float = 0.0
    jobs: int = 0
    held: dict[QueueRequest, float] = field(default_factory=dict)
    chosen: tuple[QueueRequest, ...] = ()
    queued: list[tuple[float, int, QueueRequest]] = field(default_factory=list)
    holding: dict[QueueRequest, float] = field(default_factory=dict)
    free: dict[str, float] = field(default_factory=dict)
    answers: list[tuple[QueueRequest, bool]] = field(default_factory=list)

    def do(self, effects: Sequence[Effect], wait: Callable[[str], float]) -> None:
        """Do what the planner says."""
        for effect in effects:
            match effect:
                case Submit(request, None):
                    self.jobs += 1
                    self._queue(self.now + wait(request.cluster), request)
                case Submit(request, float(after)):
                    self.jobs += 1
                    start, cluster = self.now + after, request.cluster
                    is_taken = start >= self.free.setdefault(cluster, wait(cluster))
                    self.answers.append((request, is_taken))
                    if is_taken:
                        self._queue(start, request)
                case GiveBack(request):
                    if request in self.holding:
                        self.held[request] = self.now - self.holding.pop(request)
                    else:
                        self.queued = [one for one in self.queued if one[-1] != request]
                        heapq.heapify(self.queued)
                case UseNodes(requests):
                    self.chosen = requests
                    for request in requests:
                        self.held[request] = self.now - self.holding.pop(request)

    def _queue(self, granted: float, request: QueueRequest) -> None:
        heapq.heappush(self.queued, (granted, self.jobs, request))


def simulate(
    draw: Draw, clusters: int, way: AskingWay, idle: float, seed: int, *, late: int = 0
) -> Simulated:
    """Let the planner start a run over so many clusters; the same seed gives the same.

    So many of them may be `late`.
    """
    chance = random.Random(seed)
    names = [f"c{number}" for number in range(clusters)]
    planner = CoAllocation(dict.fromkeys(names, idle), chance.random, way, clusters - late)
    seen = Simulated()

    def wait(cluster: str) -> float:
        return draw(chance, cluster)

    for name in names:
        seen.do(planner.ask(name, 0.0), wait)
    while not planner.has_begun and seen.now < GIVEN_UP:
        if seen.answers:
            request, is_taken = seen.answers.pop(0)
            now = seen.now
            told = (
                planner.reserved(request, now) if is_taken else planner.refused(request, 0.0, now)
            )
            seen.do(told, wait)
            continue
        granted = seen.queued[0][0] if seen.queued else math.inf
        due = planner.wakes_at
        if due is not None and due <= granted:
            seen.now = due
            seen.do(planner.wake(due), wait)
        else:
            seen.now, _, request = heapq.heappop(seen.queued)
            seen.holding[request] = seen.now
            seen.do(planner.granted(request, seen.now), wait)
    return seen


def table(waits: str, starts: int) -> Table:
    """Return the table of one distribution, each cell over so many starts."""
    shown = Table("clusters", *WAYS, title=f"{waits}: hours to the start / hours idle / jobs")
    for clusters in CLUSTERS:
        cells = []
        for way, idle, late in WAYS.values():
            seeds = range(starts)
            draw = WAITS[waits]
            seen = [simulate(draw, clusters, way, idle, one, late=late) for one in seeds]
            cells.append(_cell(seen))
        shown.add_row(str(clusters), *cells)
    return shown


def _cell(seen: Sequence[Simulated]) -> str:
    late = sum(not one.chosen for one in seen)
    if late > len(seen) / 2:
        return f"{late} of {len(seen)} not"
    hours = statistics.median(one.now for one in seen) / 3600
    idle = statistics.mean(sum(one.held.values()) for one in seen) / 3600
    return f"{hours:.2f} / {idle:.2f} / {statistics.mean(one.jobs for one in seen):.0f}"


def main() -> None:
    """Print the table of each distribution."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.co_allocation", description=__doc__)
    parser.add_argument("--starts", type=int, default=100, help="how many for each cell (100)")
    options = parser.parse_args()
    console = Console(width=max(120, Console().width))
    for waits in WAITS:
        console.print(table(waits, options.starts))


if __name__ == "__main__":
    main()
