"""Every clause of the conformance table is checked, and the document shows the table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.fractal.clause import Clause
from tests.fractal.table import clauses, in_markdown
from tools.on_grids import ROOT


@pytest.mark.parametrize(
    "clause", [pytest.param(one, id=f"{topic.title}-{one.name}") for topic, one in clauses()]
)
def test_the_framework_does_what_the_table_says(clause: Clause) -> None:
    clause.check()


def test_the_document_shows_the_table() -> None:
    text = (ROOT / "docs" / "fractal.md").read_text("utf-8")
    assert in_markdown() in text, "write what `python -m tests.fractal --markdown` prints"


def test_one_command_prints_the_verdicts() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fractal"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    rules = [one.rule for _, one in clauses()]
    assert done.returncode == 0, done.stdout
    assert all(rule in done.stdout for rule in rules)
    differing = sum(bool(one.instead) for _, one in clauses())
    assert f"{len(rules) - differing} conforms, {differing} differs" in done.stdout
