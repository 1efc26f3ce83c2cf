"""What a figure of a source claims, and what measurements say of it; pure.

A claim is written before anything is measured: in each repetition, `left` takes at most so many
times `right`. The ways to do something are measured in turns, so that what else the machine does
meets them alike, and their ratio is taken within each repetition.

A claim is judged cell by cell: a cell is one case at one size, since a mean over sizes hides the
one that is slow. It holds in a cell if the interval of the median ratio lies below its bound, and
does not if it lies above; in between nobody knows. What one session finds the next one may not:
where a figure was measured in several, the interval spans those of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

FEWEST = 3
"""Repetitions without which there is no verdict."""


class Verdict(StrEnum):
    """What the measurements say of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    """It holds in some of its cells, and does not or may not in others."""
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    """The bound lies inside of the interval."""
    UNTESTED = "cannot be tested here"
    """For a stated reason, or since measuring failed."""
    OPEN = "not measured yet"
    """There are too few repetitions, or none."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one repetition: what was done, at which size or number, in which way.

    `by` is the MPI that did it where a way was measured with several: the fastest one counts.
    """

    case: str
    at: int
    way: str
    value: float
    by: str = ""


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


def spanning(sessions: Sequence[Interval]) -> Interval:
    """Return the interval that spans those of all sessions, around the median of their medians.

    >>> spanning([Interval(1.0, 2.0, 3.0, 5), Interval(2.5, 4.0, 6.0, 5)])
    Interval(low=1.0, middle=3.0, high=6.0, count=10)
    """
    return Interval(
        min(one.low for one in sessions),
        median(one.middle for one in sessions),
        max(one.high for one in sessions),
        sum(one.count for one in sessions),
    )


Cell = tuple[str, int]
"""A case at a size or number."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a claim in one cell: its verdict, the interval, and whom it was up against.

    `against` is the MPI on the right, where several were measured and this one was the fastest.
    """

    verdict: Verdict
    interval: Interval
    against: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is known of a claim: one verdict over all of its cells, and each of them."""

    verdict: Verdict
    cells: Mapping[Cell, Finding] = field(default_factory=dict)

    @property
    def fails(self) -> bool:
        """Whether there is a cell in which it does not hold."""
        return any(one.verdict is Verdict.FAILS for one in self.cells.values())

    @property
    def count(self) -> int:
        """The repetitions that it follows from, at the fewest in any cell."""
        return min((one.interval.count for one in self.cells.values()), default=0)


@dataclass(frozen=True, slots=True)
class Claim:
    """`left` takes at most `bound` times `right`, in each case and at each size.

    Both are ways; `way@case` is a way in one case, to be compared with that in another one. Without
    `right`, the values of `left` are at most `bound` themselves. Only `cases` and `sizes` count,
    where there are any.
    """

    text: str
    left: str
    bound: float
    right: str = ""
    cases: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    above: bool = False
    """The source says that it takes more: `left` is above `bound` times `right`."""
    exact: bool = False
    """Every repetition would give the same: computed, or simulated with one seed."""
    untestable: str = ""
    """Why this cannot be tested on one machine."""

    def ratios(self, turns: Sequence[Sequence[Sample]]) -> dict[Cell, tuple[str, list[float]]]:
        """Return, for each cell, the MPI on the right, if any, and the ratio of each repetition."""
        left = self._fastest(turns, self.left)
        if not self.right:
            return {cell: ("", list(values.values())) for cell, (_, values) in left.items()}
        right = self._fastest(turns, self.right)
        both = {
            cell: (right[cell][0], _divided(left[cell][1], right[cell][1]))
            for cell in left.keys() & right.keys()
        }
        return {cell: (by, ratios) for cell, (by, ratios) in both.items() if ratios}

    def _fastest(
        self, turns: Sequence[Sequence[Sample]], named: str
    ) -> dict[Cell, tuple[str, dict[int, float]]]:
        """Return the values of a way in each cell by repetition, with the MPI that is fastest."""
        way, _, case = named.partition("@")
        found: dict[Cell, dict[str, dict[int, float]]] = {}
        for turn, samples in enumerate(turns):
            for one in samples:
                if (
                    one.way == way
                    and case in ("", one.case)
                    and (not self.cases or one.case in self.cases)
                    and (not self.sizes or one.at in self.sizes)
                ):
                    cell = ("" if case else one.case, one.at)
                    found.setdefault(cell, {}).setdefault(one.by, {})[turn] = one.value
        return {
            cell: min(some.items(), key=lambda item: median(item[1].values()))
            for cell, some in found.items()
        }

    def judged(self, sessions: Iterable[Sequence[Sequence[Sample]]]) -> Judgement:
        """Return what the repetitions of all sessions say; two in a session are too few."""
        if self.untestable:
            return Judgement(Verdict.UNTESTED)
        found: dict[Cell, list[tuple[str, Interval]]] = {}
        for turns in sessions:
            for cell, (against, ratios) in self.ratios(turns).items():
                if self.exact or len(ratios) >= FEWEST:
                    found.setdefault(cell, []).append((against, interval(ratios)))
        cells = {cell: self._finding(some) for cell, some in sorted(found.items())}
        return Judgement(_overall([one.verdict for one in cells.values()]), cells)

    def _finding(self, sessions: Sequence[tuple[str, Interval]]) -> Finding:
        spanned = spanning([one for _, one in sessions])
        below, above = spanned.high <= self.bound, spanned.low > self.bound
        if above if self.above else below:
            verdict = Verdict.HOLDS
        else:
            verdict = Verdict.FAILS if above or below else Verdict.UNDECIDED
        return Finding(verdict, spanned, " or ".join(dict.fromkeys(by for by, _ in sessions)))


def _divided(left: Mapping[int, float], right: Mapping[int, float]) -> list[float]:
    return [left[turn] / right[turn] for turn in sorted(left.keys() & right.keys())]


def _overall(verdicts: Sequence[Verdict]) -> Verdict:
    if not verdicts:
        return Verdict.OPEN
    different = set(verdicts)
    if len(different) == 1:
        return different.pop()
    if Verdict.HOLDS in different:
        return Verdict.IN_PART
    return Verdict.FAILS  # in some cells, and in the others it may


@dataclass(frozen=True, slots=True)
class Setting:
    """How to measure one repetition: its number, whether in the short form, and of which figure."""

    turn: int
    short: bool = False
    figure: str = ""

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
class Session:
    """What was measured of a figure at one time: samples by repetition, and where and when.

    `commit` and `mpi` are those that were measured; `loads` is what the machine had to do besides,
    at the end of each repetition.
    """

    turns: list[list[Sample]] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)
    machine: str = ""
    day: str = ""
    commit: str = ""
    mpi: str = ""


@dataclass(slots=True)
class Record:
    """All sessions of a figure, the oldest first, and what went wrong in the last one."""

    sessions: list[Session] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def comparable(self) -> list[Session]:
        """The sessions on the machine of the last one: others say nothing of its ratios."""
        last = self.sessions[-1].machine if self.sessions else ""
        return [one for one in self.sessions if one.machine == last and one.turns]

    def judged(self, claim: Claim) -> Judgement:
        """Return what is known of a claim; it cannot be tested where measuring has failed."""
        found = claim.judged(one.turns for one in self.comparable)
        if found.verdict is Verdict.OPEN and not self.comparable and self.faults:
            return Judgement(Verdict.UNTESTED)
        return found

    def medians(self) -> dict[tuple[str, int, str], Interval]:
        """Return the median of each case, size and way, by the fastest MPI of each session."""
        found: dict[tuple[str, int, str], list[Interval]] = {}
        for session in self.comparable:
            values: dict[tuple[str, int, str], dict[str, list[float]]] = {}
            for samples in session.turns:
                for one in samples:
                    key = (one.case, one.at, one.way)
                    values.setdefault(key, {}).setdefault(one.by, []).append(one.value)
            for key, by in values.items():
                found.setdefault(key, []).append(interval(min(by.values(), key=median)))
        return {key: spanning(some) for key, some in found.items()}
