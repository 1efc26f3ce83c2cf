"""The evaluation: what a claim needs to hold, how runs are resumed, whether its page is current."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.detectors.reliability import failure_probability
from benchmarks.evaluate.coverage import ELSEWHERE
from benchmarks.evaluate.figure import Claim, Figure, Record, Sample, Setting, Verdict, interval
from benchmarks.evaluate.figures import FIGURES
from benchmarks.evaluate.figures.failures import bounds
from benchmarks.evaluate.page import page
from benchmarks.evaluate.store import Store
from benchmarks.mpi_launch import RunFailed
from runtime.health import DetectorProtocol
from tools.on_grids import ROOT

CLAIM = Claim("ours ≤ 1.1 × flat", "ours", 1.1, "flat")


def turns(*ratios: float) -> list[list[Sample]]:
    return [[Sample("a", 8, "ours", 2 * one), Sample("a", 8, "flat", 2.0)] for one in ratios]


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.0, 1.05, 1.02, 1.09, 0.9), Verdict.HOLDS),
        ((1.0, 1.05, 1.02, 1.2, 0.9), Verdict.FAILS),
        ((1.3, 1.2, 1.5), Verdict.FAILS),
        ((0.5, 0.5), Verdict.OPEN),
        ((), Verdict.OPEN),
    ],
)
def test_a_claim_holds_only_if_its_whole_interval_does(
    ratios: tuple[float, ...], verdict: Verdict
) -> None:
    assert CLAIM.judged(turns(*ratios))[0] == verdict


def test_ratios_are_of_the_cases_and_sizes_that_both_ways_have() -> None:
    samples = [
        Sample("a", 8, "ours", 4.0), Sample("a", 8, "flat", 2.0),
        Sample("a", 64, "ours", 1.0), Sample("a", 64, "flat", 2.0),
        Sample("b", 8, "ours", 9.0),
    ]  # fmt: skip
    assert CLAIM.ratios([samples]) == [1.0]
    assert Claim("", "ours", 1, "flat", sizes=(8,)).ratios([samples]) == [2.0]
    assert Claim("", "ours@b", 1, "ours@a").ratios([samples]) == [2.25]
    assert Claim("", "ours", 1, cases=("a",)).ratios([samples]) == [4.0]


def test_bounds_of_more_repetitions_leave_out_the_outermost() -> None:
    assert interval([float(one) for one in range(20, 0, -1)]) == interval(
        [float(one) for one in range(1, 21)]
    )
    found = interval([float(one) for one in range(1, 21)])
    assert (found.low, found.middle, found.high) == (6.0, 10.5, 15.0)


def figure(failing: tuple[int, ...] = ()) -> tuple[Figure, list[int]]:
    asked: list[int] = []

    def measure(setting: Setting) -> Iterator[Sample]:
        asked.append(setting.turn)
        if len(asked) in failing:
            raise RunFailed("the network is down", [])
        yield Sample("a", 8, "ours", 1.23456)
        yield Sample("a", 8, "flat", 1.0)

    made = Figure("some", "Some", ("004 1",), "nothing.", (CLAIM,), measure, needs_grid=False)
    return made, asked


def test_a_run_that_was_broken_off_goes_on_where_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path)
    some, asked = figure()
    assert len(store.measure(some, short=True).turns) == 1
    record = store.measure(some, short=False)
    assert asked == [0, 1, 2, 3, 4]
    assert record.turns[4] == [Sample("a", 8, "ours", 1.235), Sample("a", 8, "flat", 1.0)]
    assert store.measure(some, short=False).turns == record.turns
    assert asked == [0, 1, 2, 3, 4]


def test_what_cannot_be_measured_is_named_and_has_no_verdict(tmp_path: Path) -> None:
    store = Store(tmp_path)
    some, _ = figure(failing=(1, 2))
    record = store.measure(some, short=False)
    assert record.faults == ["the network is down", "the network is down"]
    said = page([(some, record)])
    assert "ours ≤ 1.1 × flat|**cannot be tested here**: the network is down|-|0\n" in said
    assert "Of 1 claims 1 cannot be tested here." in said
    absolute = replace(some, unit="µs", factor=1e6, claims=(Claim("≤ 3 µs", "ours", 3e-6),))
    record = Record([[Sample("a", 8, "ours", 2e-6)]] * 3, [1.0])
    assert "≤ 3 µs|holds|2 µs|3\n" in page([(absolute, record)])


def test_bounds_for_large_groups_enclose_the_exact_probability() -> None:
    for protocol in (DetectorProtocol.BRR, DetectorProtocol.DBRR):
        low, high = bounds(protocol, 8, 0.05)
        exact = failure_probability(protocol, 8, 0.05)
        assert low <= exact * 1.000001
        assert exact <= high * 1.01


IN_SOURCES = (
    "000 1 to 10, table 1, 2.1 to 2.2, 3.1 to 3.10, table 3.1 to 3.2, 4.1 to 4.18, 5.1 to 5.11, "
    "table 5.1, A.1, table B.1, table C.1 to C.2, D.1 to D.4",
    "001 1 to 13, table 1",
    "002 1 to 4, table 1",
    "003 1 to 9, table 1 to 2",
    "004 3.1 to 3.6, 4.1, 6.1 to 6.4, table 6.1, 7.1 to 7.20, table 7.1, A.1 to A.7, table A.1",
)
"""All numbered figures and tables."""


def numbered(row: str) -> Iterator[str]:
    """Yield each figure and table of a row; what has no number there is in parentheses."""
    for part in row.split("; "):
        source, _, names = part.partition(" ")
        for name in names.split(", "):
            if match := re.fullmatch(r"(.*?)(\d+)(?: to .*?(\d+))?", name):
                begin, first, last = match.groups()
                for number in range(int(first), int(last or first) + 1):
                    yield f"{source} {begin}{number}"


def test_names_are_unique_and_each_figure_of_a_source_has_one_row() -> None:
    assert len({one.name for one in FIGURES}) == len(FIGURES)
    rows = [*(name for name, _ in ELSEWHERE), *(name for one in FIGURES for name in one.shows)]
    named = [label for row in rows for label in numbered(row)]
    assert sorted(named) == sorted(label for row in IN_SOURCES for label in numbered(row))


def test_it_is_said_why_a_claim_does_not_hold() -> None:
    store = Store(ROOT / "docs" / "evaluation")
    for figure in FIGURES:
        verdicts = [store.read(figure).judged(claim)[0] for claim in figure.claims]
        assert figure.why_not or Verdict.FAILS not in verdicts, figure.name


def test_the_page_is_that_of_the_records_beside_it() -> None:
    store = Store(ROOT / "docs" / "evaluation")
    records = [(one, store.read(one)) for one in FIGURES]
    told = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    assert told == page(records), "run `python -m benchmarks.evaluate --page docs/evaluation.md`"
