"""Pictures of fifty flat components, by numbers: crossings and the length of the wires.

The bounds are what Graphviz 2.43 does with the same boxes and interfaces, and wires on the same
sides of the boxes; `python -m benchmarks.drawings` computes them.
"""

from __future__ import annotations

import pytest

from benchmarks import drawings
from benchmarks.drawings import COUNT, KINDS, flat, measured
from gcm.drawing.placing import place

WIDEST = 2200
CHAIN = {(here, here + 1) for here in range(COUNT - 1)}


@pytest.mark.parametrize(
    ("kind", "graphviz_crossings", "graphviz_length"),
    [
        ("layered", 149, 19985),
        ("a tree with short cuts", 89, 31127),
        ("four services for all", 966, 166433),
        ("with cycles", 134, 103327),
    ],
)
def test_fifty_flat_components_are_drawn_as_well_as_graphviz_draws_them(
    kind: str, graphviz_crossings: int, graphviz_length: int
) -> None:
    crossed, drawn = measured(KINDS[kind])
    assert crossed <= graphviz_crossings
    # Our wires run along two axes only, where those of Graphviz take short cuts.
    assert drawn <= 4 / 3 * graphviz_length


@pytest.mark.parametrize(
    "branches",
    [
        pytest.param({(here, COUNT - 1) for here in range(0, COUNT - 2, 4)}, id="one end for many"),
        pytest.param({(0, there) for there in range(5, COUNT, 5)}, id="one start for many"),
        pytest.param({(here, here - 7) for here in range(10, COUNT, 6)}, id="ways back"),
        pytest.param(set(), id="none"),
    ],
)
def test_a_long_chain_with_branches_is_not_drawn_in_one_row(branches: set[tuple[int, int]]) -> None:
    assert place(flat(CHAIN | branches)).width <= WIDEST


@pytest.mark.parametrize(
    ("count", "branches"),
    [
        pytest.param(60, {(here, 60 + here % 5) for here in range(60)}, id="five shared services"),
        pytest.param(50, {(here, 49) for here in range(48)}, id="all bound to last"),
    ],
)
def test_a_long_chain_is_not_drawn_in_one_row_whatever_crosses(
    count: int, branches: set[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = {(here, here + 1) for here in range(count - 1)}
    monkeypatch.setattr(drawings, "COUNT", 1 + max(end for _, end in stages | branches))
    assert place(flat(stages | branches)).width <= WIDEST
