"""What a figure of a source claims, and what measurements say of it; pure.

A claim is written before anything is measured: in each repetition, `left` takes at most so many
times `right`. The ways to do something are measured in turns, so that what else the machine does
meets them alike, and their ratio is taken within each repetition. A claim holds if the interval of
the median ratio lies below its bound: not if its median does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import geometric_mean, median

FEWEST = 3
"""Repetitions without which there is no verdict."""


class Verdict(StrEnum):
    """What the measurements say of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNTESTED = "cannot be tested here"
    """For a stated reason, or since measuring failed."""
    OPEN = "not decided yet"
    """There are too few repetitions, or none."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one repetition: what was done, at which size or number, in which way."""

    case: str
    at: int
    way: str
    value: float


@dataclass(frozen=True, slots=True)
class Interval:
    """The median of ratios, and between which bounds the true one lies with some 94 %."""

    low: float
    middle: float
    high: float
    count: int


def interval(values: Sequence[float]) -> Interval:
    """Return the median and its bounds by order statistics, which assume nothing of the values.

    With five values the bounds are the least and the greatest (94 %), with fewer they say less.

    >>> interval([3.0, 1.0, 2.0, 5.0, 4.0])
    Interval(low=1.0, middle=3.0, high=5.0, count=5)
    """
    ordered, count = sorted(values), len(values)
    cut, outside = 0, 2 * 0.5**count
    while cut + 1 < count / 2:
        outside += 2 * math.comb(count, cut + 1) * 0.5**count
        if outside > 0.07:
            break
        cut += 1
    return Interval(ordered[cut], median(ordered), ordered[count - 1 - cut], count)


@dataclass(frozen=True, slots=True)
class Claim:
    """`left` takes at most `bound` times `right`, in the mean over cases and sizes.

    Both are ways; `way@case` is a way in one case, to be compared with that in another one.
    Without `right`, the values of `left` are at most `bound` themselves. Only `cases` and `sizes`
    count, where there are any.
    """

    text: str
    left: str
    bound: float
    right: str = ""
    cases: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    exact: bool = False
    """Every repetition would give the same: computed, or simulated with one seed."""
    untestable: str = ""
    """Why this cannot be tested on one machine."""

    def ratios(self, turns: Iterable[Sequence[Sample]]) -> list[float]:
        """Return the ratio of each repetition that has both ways."""
        found = []
        for samples in turns:
            left, right = self._of(samples, self.left), self._of(samples, self.right)
            if not self.right:
                found += [max(left.values())] if left else []
            elif both := left.keys() & right.keys():
                found.append(geometric_mean(left[one] / right[one] for one in both))
        return found

    def _of(self, samples: Sequence[Sample], named: str) -> dict[tuple[str, int], float]:
        way, _, case = named.partition("@")
        return {
            ("" if case else one.case, one.at): one.value
            for one in samples
            if one.way == way
            and case in ("", one.case)
            and (not self.cases or one.case in self.cases)
            and (not self.sizes or one.at in self.sizes)
        }

    def judged(self, turns: Iterable[Sequence[Sample]]) -> tuple[Verdict, Interval | None]:
        """Return the verdict, and the interval that it follows from; two are too few for one."""
        if self.untestable:
            return Verdict.UNTESTED, None
        ratios = self.ratios(turns)
        if not ratios:
            return Verdict.OPEN, None
        if len(ratios) < FEWEST and not self.exact:
            return Verdict.OPEN, interval(ratios)
        found = interval(ratios)
        return (Verdict.HOLDS if found.high <= self.bound else Verdict.FAILS), found


@dataclass(frozen=True, slots=True)
class Setting:
    """How to measure one repetition: its number, and whether the short form is wanted."""

    turn: int
    short: bool = False

    def order(self, ways: Sequence[str]) -> list[str]:
        """Return the ways in turns: each repetition begins with another one.

        >>> Setting(1).order(["a", "b", "c"])
        ['b', 'c', 'a']
        """
        first = self.turn % len(ways)
        return [*ways[first:], *ways[:first]]


Measure = Callable[[Setting], Iterator[Sample]]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: where the sources have it, what they found, what is claimed, how to measure."""

    name: str
    title: str
    shows: tuple[str, ...]
    """Figures and tables of the sources, such as "004 7.1"."""
    found: str
    """What the source found: values where it prints them."""
    claims: tuple[Claim, ...]
    measure: Measure
    across: str = "bytes"
    unit: str = "ms"
    factor: float = 1e3
    """From values to the unit."""
    turns: int = 5
    seconds: float = 90.0
    """The budget of all repetitions together; at least one is done."""
    needs_grid: bool = True
    is_long: bool = False
    """One repetition takes so long that the short form leaves it out."""
    drawn: tuple[str, ...] = ()
    """The ways that are drawn; all if there are none."""
    remark: str = ""
    """What is different here: simulated, smaller, of another kind."""
    why_not: str = ""
    """Why claims do not hold, as far as the figure shows it."""


def untestable(text: str, why: str) -> Claim:
    """Return a claim that is only named, with the reason why it is not tested."""
    return Claim(text, "", 0.0, untestable=why)


@dataclass(slots=True)
class Record:
    """What was measured of a figure: samples by repetition, and where and when."""

    turns: list[list[Sample]] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    machine: str = ""
    day: str = ""

    def judged(self, claim: Claim) -> tuple[Verdict, Interval | None]:
        """Return the verdict on a claim; it cannot be tested where measuring has failed."""
        verdict, found = claim.judged(self.turns)
        if verdict is Verdict.OPEN and found is None and self.faults:
            return Verdict.UNTESTED, None
        return verdict, found

    def medians(self) -> dict[tuple[str, int, str], Interval]:
        """Return the median of each case, size and way over the repetitions."""
        values: dict[tuple[str, int, str], list[float]] = {}
        for samples in self.turns:
            for one in samples:
                values.setdefault((one.case, one.at, one.way), []).append(one.value)
        return {key: interval(some) for key, some in values.items()}
