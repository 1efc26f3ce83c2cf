"""The scenario scripts lead to the traces that stand below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.health.story import MARK, told

SCRIPTS = sorted((Path(__file__).parent / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_scenario_leads_to_its_trace(path: Path) -> None:
    script, _, trace = path.read_text().partition(MARK)
    assert told(script) == trace
    assert trace
