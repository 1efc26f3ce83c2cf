"""What the table of streams makes of what was measured."""

from __future__ import annotations

import pytest

from benchmarks.mpi_launch import RunFailed
from benchmarks.streams import CASES, Found, arguments, lines, share

FULL = 1e9 / 8 * 1448 / 1538


def test_the_first_seconds_do_not_count() -> None:
    notes = [(10.0, 0), (12.0, 0), (14.0, 0), (15.0, int(FULL / 2)), (16.0, int(FULL))]
    assert share(notes, 4.0) == pytest.approx(0.5)
    with pytest.raises(RunFailed, match="too little"):
        share(notes[:3], 4.0)


def test_ours_is_judged_by_the_line_and_shown_beside_plain_tcp() -> None:
    tcp, ours = lines(CASES["windows"], {"tcp": Found(0.25, 1), "ours": Found(0.95, 4)})
    assert tcp.goal is None
    assert tcp.what == "windows of at most 1 MiB: plain TCP, 1 connection"
    assert ours.what == "windows of at most 1 MiB: ours, 4 connections"
    assert ours.ratio == "3.80 x"
    assert ours.goal is not None
    assert ours.goal.is_met


def test_where_one_connection_does_there_has_to_be_one() -> None:
    *_, last = lines(CASES["usual"], {"ours": Found(0.95, 2)})
    assert last.goal is not None
    assert not last.goal.is_met
    *_, last = lines(CASES["usual"], {"ours": Found(0.95, 1)})
    assert last.goal is not None
    assert last.goal.is_met


def test_unknown_cases_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert arguments([]).cases == list(CASES)
    with pytest.raises(SystemExit):
        arguments(["nothing"])
    assert "unknown: nothing" in capsys.readouterr().err
