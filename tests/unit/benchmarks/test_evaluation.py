"""The evaluation: what a claim needs to hold, how runs are resumed, whether its page is current."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.detectors.reliability import failure_probability
from benchmarks.evaluate.coverage import ELSEWHERE
from benchmarks.evaluate.figure import (
    Claim,
    Figure,
    Record,
    Sample,
    Session,
    Setting,
    Verdict,
    interval,
)
from benchmarks.evaluate.figures import FIGURES
from benchmarks.evaluate.figures.failures import bounds
from benchmarks.evaluate.page import page
from benchmarks.evaluate.store import RecordError, Store, due
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
        ((1.0, 1.05, 1.02, 1.2, 0.9), Verdict.UNDECIDED),
        ((1.3, 1.2, 1.5), Verdict.FAILS),
        ((0.5, 0.5), Verdict.OPEN),
        ((), Verdict.OPEN),
    ],
)
def test_a_claim_holds_only_if_its_whole_interval_does(
    ratios: tuple[float, ...], verdict: Verdict
) -> None:
    assert CLAIM.judged([turns(*ratios)]).verdict == verdict


def test_what_another_session_finds_counts_as_much() -> None:
    good, bad = turns(1.0, 1.0, 1.0, 0.9, 1.05), turns(1.0, 1.2, 1.3, 1.4, 1.2)
    judged = CLAIM.judged([good, bad])
    assert judged.verdict is Verdict.UNDECIDED
    assert (judged.cells["a", 8].interval.low, judged.cells["a", 8].interval.high) == (0.9, 1.4)
    assert judged.count == 10


def test_the_mean_of_sizes_hides_no_slow_one() -> None:
    both = [
        [*one, Sample("a", 64, "ours", 1.0), Sample("a", 64, "flat", 4.0)]
        for one in turns(1.3, 1.3, 1.4)
    ]
    judged = CLAIM.judged([both])
    assert judged.verdict is Verdict.IN_PART
    assert {cell: one.verdict for cell, one in judged.cells.items()} == {
        ("a", 8): Verdict.FAILS,
        ("a", 64): Verdict.HOLDS,
    }


def test_ours_is_up_against_the_fastest_mpi_of_each_cell() -> None:
    some = [
        [
            Sample("a", 8, "ours", 2.0),
            Sample("a", 8, "flat", 4.0, "MPICH/OFI"),
            Sample("a", 8, "flat", 1.0, "MPICH/UCX"),
        ]
    ] * 3
    (finding,) = CLAIM.judged([some]).cells.values()
    assert (finding.verdict, finding.interval.middle) == (Verdict.FAILS, 2.0)
    assert finding.against == "MPICH/UCX"


def test_ratios_are_of_the_cases_and_sizes_that_both_ways_have() -> None:
    samples = [
        Sample("a", 8, "ours", 4.0), Sample("a", 8, "flat", 2.0),
        Sample("a", 64, "ours", 1.0), Sample("a", 64, "flat", 2.0),
        Sample("b", 8, "ours", 9.0),
    ]  # fmt: skip
    assert CLAIM.ratios([samples]) == {("a", 8): ("", [2.0]), ("a", 64): ("", [0.5])}
    assert Claim("", "ours", 1, "flat", sizes=(8,)).ratios([samples]) == {("a", 8): ("", [2.0])}
    assert Claim("", "ours@b", 1, "ours@a").ratios([samples]) == {("", 8): ("", [2.25])}
    assert Claim("", "ours", 1, cases=("b",)).ratios([samples]) == {("b", 8): ("", [9.0])}


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
    assert len(store.measure(some, 1, short=True).sessions[0].turns) == 1
    assert due([(some, store.read(some))]) == 1
    record = store.measure(some, 1, short=False)
    assert asked[:5] == [0, 1, 2, 3, 4]
    assert record.sessions[0].turns[4] == [
        Sample("a", 8, "ours", 1.235),
        Sample("a", 8, "flat", 1.0),
    ]
    assert store.read(some).sessions == record.sessions
    assert due([(some, record)]) == 2
    assert len(store.measure(some, 2, short=False).sessions) == 2


def test_what_is_undecided_is_measured_up_to_twice_as_often(tmp_path: Path) -> None:
    values = iter([1.0, 1.3, 1.0, 1.3] * 5)

    def measure(_setting: Setting) -> Iterator[Sample]:
        yield Sample("a", 8, "ours", next(values))
        yield Sample("a", 8, "flat", 1.0)

    some = replace(figure()[0], measure=measure)
    assert len(Store(tmp_path).measure(some, 1, short=False).sessions[0].turns) == 2 * some.turns


def test_one_more_session_begins_where_all_figures_have_the_same(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first, second = figure()[0], replace(figure()[0], name="other")
    store.measure(first, 1, short=False)
    both = [(one, store.read(one)) for one in (first, second)]
    assert due(both) == 1  # the other one lacks the first session
    store.measure(second, 1, short=False)
    assert due([(one, store.read(one)) for one in (first, second)]) == 2


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda text: text[:-40], "it is no whole record"),
        (lambda text: text.replace("1.235", "0.235", 1), "its values are not those that were"),
    ],
)
def test_records_that_were_cut_off_or_changed_are_refused(
    tmp_path: Path, spoil: Callable[[str], str], why: str
) -> None:
    store = Store(tmp_path)
    some, _ = figure()
    store.measure(some, 1, short=False)
    file = tmp_path / "some.json"
    file.write_text(spoil(file.read_text("utf-8")), "utf-8")
    with pytest.raises(RecordError, match=why):
        store.read(some)


def test_another_machine_says_nothing_of_this_one(tmp_path: Path) -> None:
    elsewhere = Session(turns(9.0, 9.0, 9.0), machine="64 cores")
    here = Session(turns(1.0, 1.0, 1.0), machine="2 cores")
    assert Record([elsewhere, here]).judged(CLAIM).verdict is Verdict.HOLDS


def test_what_cannot_be_measured_is_named_and_has_no_verdict(tmp_path: Path) -> None:
    store = Store(tmp_path)
    some, _ = figure(failing=(1, 2))
    record = store.measure(some, 1, short=False)
    assert record.faults == ["the network is down", "the network is down"]
    said = page([(some, record)])
    assert "ours ≤ 1.1 × flat|**cannot be tested here**: the network is down|-|0\n" in said
    assert "Of 1 claims 1 cannot be tested here." in said
    absolute = replace(some, unit="µs", factor=1e6, claims=(Claim("≤ 3 µs", "ours", 3e-6),))
    record = Record([Session([[Sample("a", 8, "ours", 2e-6)]] * 3, [1.0])])
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
        record = store.read(figure)
        fails = any(record.judged(claim).fails for claim in figure.claims)
        assert figure.why_not or not fails, figure.name


def test_the_page_is_that_of_the_records_beside_it() -> None:
    store = Store(ROOT / "docs" / "evaluation")
    records = [(one, store.read(one)) for one in FIGURES]
    told = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    assert told == page(records), "run `python -m benchmarks.evaluate --page docs/evaluation.md`"
