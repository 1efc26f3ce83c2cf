"""The table of what works with which batch system, from results of tests as pytest writes them."""

from __future__ import annotations

from pathlib import Path

from tools.batch_table import words

CASE = """<testcase classname="tests.{system}" name="test_{cell}"><properties>
<property name="{word}" value="{system}: {cell}"/></properties>{end}</testcase>"""


def results(path: Path, *cases: tuple[str, str, str, str]) -> str:
    """Write a file of results: each a word, a system, a cell, and how the test ended."""
    names = ("word", "system", "cell", "end")
    text = "".join(CASE.format(**dict(zip(names, one, strict=True))) for one in cases)
    path.write_text(f"<testsuites><testsuite>{text}</testsuite></testsuites>")
    return str(path)


def test_a_test_that_ran_again_counts_as_it_ended_then(tmp_path: Path) -> None:
    first = results(
        tmp_path / "first.xml",
        ("real", "slurm", "start", "<failure/>"),
        ("real", "oar", "start", "<failure/>"),
        ("real", "oar", "cancel", ""),
    )
    again = results(
        tmp_path / "again.xml",
        ("real", "slurm", "start", ""),
        ("real", "oar", "start", "<failure/>"),
    )
    assert words([first]) == {("oar", "cancel"): "real"}
    assert words([first, again]) == {("slurm", "start"): "real", ("oar", "cancel"): "real"}


def test_a_cell_of_which_a_test_was_skipped_stays_recorded(tmp_path: Path) -> None:
    file = results(
        tmp_path / "results.xml",
        ("recorded", "slurm", "script", ""),
        ("real", "slurm", "script", "<skipped/>"),
        ("real", "slurm", "script", ""),
    )
    assert words([file]) == {("slurm", "script"): "recorded"}
