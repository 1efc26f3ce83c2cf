"""What `.ci/run` prints of tests that failed first and were run again alone."""

from __future__ import annotations

from pathlib import Path

from tools.retried import LAST_LINES, LONGEST_REPORT, MOST_RUNS, cases, history, keep

CASE = '<testcase classname="tests.faults.test_odd" name="{name}" time="{time}">{report}</testcase>'
FAILED = '<failure message="E">{}</failure>'
LONG = "\n".join([*map(str, range(40)), "E  AssertionError: the reason"])


def results(path: Path, *tests: tuple[str, float, str]) -> Path:
    """Write a file of results as pytest does: each test has a name, its seconds and a report."""
    text = "".join(CASE.format(name=name, time=time, report=one) for name, time, one in tests)
    path.write_text(f"<testsuites><testsuite>{text}</testsuite></testsuites>")
    return path


def test_each_test_that_ran_again_is_named_with_its_reason_and_what_became_of_it(
    tmp_path: Path,
) -> None:
    first = results(
        tmp_path / "first.xml",
        ("test_good", 1.0, ""),
        ("test_it[odd]", 31.2, FAILED.format(LONG)),
        ("test_end", 2.0, ""),  # at its end it failed, which pytest tells apart
        ("test_end", 0.1, '<error message="E">E  left a process</error>'),
        ("test_never", 3.0, FAILED.format("E  ValueError: always")),
    )
    again = results(
        tmp_path / "again.xml",
        ("test_it[odd]", 1.2, ""),
        ("test_end", 2.0, ""),
        ("test_never", 3.0, FAILED.format("E  ValueError: always")),
    )
    told = list(history(cases(first), cases(again)))
    assert [line for line in told if "test_" in line] == [
        "tests/faults/test_odd::test_it[odd] failed after 31.2 s, alone it passed in 1.2 s",
        "tests/faults/test_odd::test_end failed after 2.1 s, alone it passed in 2.0 s",
        "tests/faults/test_odd::test_never failed after 3.0 s, alone it FAILED again in 3.0 s",
    ]
    assert told[1 + LAST_LINES - 1] == "    E  AssertionError: the reason"
    assert told[-3] == "    E  left a process"
    assert told[-1] == "    E  ValueError: always"
    assert len(told) == 3 + LAST_LINES + 2


def test_a_run_in_which_nothing_failed_has_no_history(tmp_path: Path) -> None:
    assert list(history(cases(tmp_path / "none.xml"), cases(tmp_path / "again.xml"))) == []


def test_whole_reports_and_what_was_printed_are_kept_of_a_few_runs(tmp_path: Path) -> None:
    printed = "<system-out>said before</system-out>"
    first = results(
        tmp_path / "first.xml",
        ("test_it[a/b c]", 31.2, FAILED.format(LONG) + printed),
        ("test_loud", 1.0, FAILED.format("E" * 2 * LONGEST_REPORT)),
    )
    again = results(
        tmp_path / "again.xml",
        ("test_it[a/b c]", 1.2, ""),
        ("test_loud", 1.0, FAILED.format("E  still")),
    )
    kept = tmp_path / "kept"
    for run in range(MOST_RUNS + 3):
        keep(cases(first), cases(again), kept / f"run{run:02}")
    assert sorted(one.name for one in kept.iterdir()) == [
        f"run{run:02}" for run in range(3, MOST_RUNS + 3)
    ]
    odd, loud = sorted((kept / "run10").iterdir())
    assert (odd.name, loud.name) == ("0-test_it-a-b-c-.txt", "1-test_loud.txt")
    assert odd.read_text().startswith("tests/faults/test_odd::test_it[a/b c]\n\nfirst:\n0\n1\n")
    assert "the reason\n\n\nsaid before\n\nalone:\npassed" in odd.read_text()
    assert LONGEST_REPORT < len(loud.read_text()) < 1.1 * LONGEST_REPORT
    assert "alone:\nE  still" in loud.read_text()


def test_a_run_in_which_nothing_failed_keeps_nothing(tmp_path: Path) -> None:
    keep({}, {}, tmp_path / "kept" / "run")
    assert not (tmp_path / "kept").exists()
