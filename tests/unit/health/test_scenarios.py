"""The scenario scripts lead to the traces that stand below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts import Script, same, scripts
from tests.unit.health.story import told


@pytest.mark.parametrize("script", scripts(Path(__file__).parent / "testdata"))
def test_a_scenario_leads_to_its_trace(script: Script, request: pytest.FixtureRequest) -> None:
    same(script, told(script.text), request)
