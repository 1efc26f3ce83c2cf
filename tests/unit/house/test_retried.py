"""What `.ci/run` prints of tests that failed first and were run again alone."""

from __future__ import annotations

from pathlib import Path

from tools.retried import LAST_LINES, cases, history

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
