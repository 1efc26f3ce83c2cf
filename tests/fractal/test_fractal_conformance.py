"""Every clause of the conformance table is checked, and the document shows the table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gcm import placed
from gcm.factory import ComponentPlace
from tests.fractal.clause import Clause
from tests.fractal.table import clauses, in_markdown
from tests.on_nodes import known, numbers
from tests.running_nodes import running_nodes
from tools.on_grids import ROOT

EACH = pytest.mark.parametrize(
    "clause", [pytest.param(one, id=f"{topic.title}-{one.name}") for topic, one in clauses()]
)


@pytest.fixture(scope="module")
def nodes() -> Iterator[ComponentPlace]:
    with running_nodes(4) as place:
        yield place


@EACH
def test_the_framework_does_what_the_table_says(clause: Clause) -> None:
    clause.check()


@EACH
def test_it_does_so_where_primitives_are_on_nodes(clause: Clause, nodes: ComponentPlace) -> None:
    with placed(nodes):
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


def test_what_differs_on_nodes_is_documented_and_there() -> None:
    page = (ROOT / "docs" / "fractal.md").read_text(encoding="utf-8")
    on_nodes = page.partition("## On nodes")[2].partition("\n## ")[0]
    documented = [int(number) for number in re.findall(r"^(\d+)\. ", on_nodes, re.MULTILINE)]
    assert documented == list(range(1, len(documented) + 1))
    assert len(documented) <= 10
    assert set(numbers()) <= set(documented)
    for test, _ in known():
        file, name = test.split("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")
