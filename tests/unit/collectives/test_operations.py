"""The list of collective operations beside the lists that belong to single ones."""

from __future__ import annotations

from runtime.collectives.choice import PLANS
from runtime.collectives.operations import ROWS


def test_every_plan_is_of_an_operation() -> None:
    assert set(PLANS) <= set(ROWS)
