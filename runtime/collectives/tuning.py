"""Chooses plans from measurements: pure, `gcm-deploy tune` measures and stores the rules.

Noise must not choose: another plan than the usual one is taken only where its median is a tenth
better, and three quarters of its times are better than three quarters of the usual plan's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median, quantiles

from gcm.records import dataclass
from runtime.collectives.choice import CHAIN, EXCHANGE, SEGMENTED, SPREAD, TREE, Choice
from runtime.collectives.rules import USUAL, PlanRule

SEGMENTS = (64 * 1024, 1024 * 1024)
"""The sizes of segments that are tried beside the usual one."""

GAIN = 0.1
"""How much better than the usual plan another one has to be."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that an operation took by one plan, on a communicator of some shape."""

    operation: str
    size: int
    shape: str
    choice: str
    is_usual: bool
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the seconds."""
        return median(self.seconds)


def candidates(operation: str, size: int, plans: Sequence[str]) -> list[str]:
    """Return what to try for an operation: its plans, with segments that data of that size needs.

    >>> candidates("Bcast", 1 << 20, ("tree", "flat"))
    ['tree', 'flat', 'tree/65536', 'tree/1048576']
    """
    found = [str(Choice(plan)) for plan in plans]
    if operation in SEGMENTED:
        cut = [plan for plan in plans if plan in (TREE, CHAIN, EXCHANGE, SPREAD)]
        sizes = [one for one in SEGMENTS if one <= size]
        found += [str(Choice(plan, one)) for plan in cut for one in sizes]
    return found


def winners(timings: Sequence[Timing]) -> Iterator[tuple[Timing, Timing, Timing]]:
    """Yield for each operation and size the usual, the chosen and the fastest other timing."""
    ordered = sorted(timings, key=lambda one: (one.operation, one.size))
    for _, group in groupby(ordered, key=lambda one: (one.operation, one.size)):
        tried = list(group)
        usual = next(one for one in tried if one.is_usual)
        others = [one for one in tried if one is not usual]
        other = min(others, key=lambda one: one.median)
        yield usual, other if _is_better(other, usual) else usual, other


def _is_better(one: Timing, usual: Timing) -> bool:
    if one.median > (1 - GAIN) * usual.median:
        return False
    return quantiles(one.seconds, n=4)[2] < quantiles(usual.seconds, n=4)[0]


def rules_for(timings: Sequence[Timing]) -> list[PlanRule]:
    """Return the rules that choose the best plans: one for each size at which the choice changes.

    >>> rows = [("tree", True, 2.0), ("flat", False, 1.0)]
    >>> timings = [Timing("Bcast", 8, "2|2", *row[:2], (row[2],) * 4) for row in rows]
    >>> [str(rule) for rule in rules_for(timings)]
    ['Bcast:8@2|2=flat']
    """
    rules: list[PlanRule] = []
    for operation, group in groupby(winners(timings), key=lambda pair: pair[0].operation):
        last = USUAL
        for usual, best, _ in group:
            answer = USUAL if best is usual else best.choice
            if answer != last:
                plan, segment = Choice.read(answer)
                rules.append(PlanRule(plan, operation, best.size, best.shape, segment))
            last = answer
    return rules
