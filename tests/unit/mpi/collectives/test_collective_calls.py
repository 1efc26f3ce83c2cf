"""The kinds of collectives beside the list of calls."""

from __future__ import annotations

from runtime.calls import COLLECTIVES
from runtime.collectives.choice import PLANS
from runtime.mpi.collectives.mismatches import KINDS, tag_of


def test_a_tag_has_room_for_the_number_of_every_kind() -> None:
    assert len({tag_of(kind, 1) for kind in KINDS}) == len(KINDS)


def test_every_plan_is_of_a_collective() -> None:
    assert set(PLANS) <= set(COLLECTIVES)
