"""A farm: one call is spread over workers that run in parallel, and their reports come in as one.

    gcm run examples/03_farm/farm.fractal

The farmer calls its multicast interface once with a list of ranges. `round_robin` distributes the
list, one call per range, and `total` adds up the results. The workers are active objects: each has
its own thread. When they report, the gathercast interface of the barn waits for all of them and is
then called once, with a list of their reports, and returns a result for each.
"""

from __future__ import annotations

from typing import Annotated, Protocol

from gcm import Cardinality, Runnable, distribute, provides, requires, round_robin, total


class Search(Protocol):
    """What the farmer sees: a list goes out, one number comes back."""

    @distribute(round_robin)
    def count_primes(self, ranges: list[range]) -> Annotated[int, total]: ...

    def finish(self) -> list[str]: ...


class Work(Protocol):
    """What each worker sees: one element of the list."""

    def count_primes(self, ranges: range) -> int: ...

    def finish(self) -> str: ...


class Report(Protocol):
    def hand_in(self, done: int) -> str: ...


@provides("work", Work)
class Worker:
    barn: Annotated[Report, requires()]

    def __init__(self) -> None:
        self.done = 0

    def count_primes(self, ranges: range) -> int:
        self.done += len(ranges)
        return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in ranges if n > 1)

    def finish(self) -> str:
        return self.barn.hand_in(self.done)


@provides("reports", Report, cardinality=Cardinality.GATHERCAST)
class Barn:
    # Gathered: the arguments of all workers in one list, and a list with a result for each.
    def hand_in(self, done: list[int]) -> list[str]:
        print(f"the barn is told once: {done}")
        return [f"{100 * part // sum(done)} % of the work" for part in done]


@provides("run", Runnable)
class Farmer:
    workers: Annotated[Search, requires(cardinality=Cardinality.MULTICAST)]

    def run(self) -> None:
        ranges = [range(start, start + 1000) for start in range(0, 10_000, 1000)]
        print("primes below 10000:", self.workers.count_primes(ranges))
        print("the workers did:", self.workers.finish())
