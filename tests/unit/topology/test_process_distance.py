"""How near two processes are, and the hops between them."""

from __future__ import annotations

import pytest

from runtime.errors import GridError
from runtime.topology.distance import (
    Neighbourhood,
    hops,
    hops_through_hierarchy,
    neighbourhood,
)
from runtime.topology.identifiers import Identifier
from runtime.topology.tree import Cluster, Grid, Node, Reachability, Site

PAIR = (Node("a", ranks=2), Node("b", ranks=1))
GRID = Grid((Site("s", (Cluster("c", PAIR), Cluster("d", PAIR))), Site("t", (Cluster("e", PAIR),))))
CASES = [
    ("0:0:0", "0:0:0", Neighbourhood.SAME_PROCESS, 0),
    ("0:0:0", "0:0:1", Neighbourhood.SAME_NODE, 1),
    ("0:0:0", "0:0:2", Neighbourhood.SAME_CLUSTER, 1),
    ("0:0:0", "0:1:0", Neighbourhood.SAME_SITE, 4),
    ("0:0:0", "1:0:0", Neighbourhood.SAME_GRID, 6),
]


@pytest.mark.parametrize(("first", "second", "near", "through"), CASES)
def test_nearness_and_the_way_through_the_hierarchy_are_symmetric(
    first: str, second: str, near: Neighbourhood, through: int
) -> None:
    a, b = Identifier.parse(first), Identifier.parse(second)
    assert neighbourhood(GRID, a, b) is neighbourhood(GRID, b, a) is near
    assert hops_through_hierarchy(a, b) == hops_through_hierarchy(b, a) == through


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (Reachability.DIRECT, Reachability.DIRECT, 1),
        (Reachability.DIRECT, Reachability.OUTWARDS, 1),
        (Reachability.OUTWARDS, Reachability.OUTWARDS, 6),
        (Reachability.DIRECT, Reachability.FRONT_END, 6),
        (Reachability.OUTWARDS, Reachability.FRONT_END, 6),
    ],
)
def test_one_hop_needs_a_side_that_can_open_the_connection(
    here: Reachability, there: Reachability, expected: int
) -> None:
    grid = Grid((Site("s", (Cluster("c", PAIR, here),)), Site("t", (Cluster("d", PAIR, there),))))
    a, b = Identifier(0, 0, 0), Identifier(1, 0, 0)
    assert hops(grid, a, b) == hops(grid, b, a) == expected


def test_reachability_from_outside_does_not_matter_within_a_cluster() -> None:
    grid = Grid((Site("s", (Cluster("c", PAIR, Reachability.OUTWARDS),)),))
    assert hops(grid, Identifier(0, 0, 0), Identifier(0, 0, 2)) == 1
    assert hops(grid, Identifier(0, 0, 0), Identifier(0, 0, 0)) == 0


def test_both_processes_have_to_exist() -> None:
    here, nowhere = Identifier(0, 0, 0), Identifier(0, 0, 3)
    for pair in ((here, nowhere), (nowhere, here)):
        with pytest.raises(GridError, match="no process 0:0:3"):
            neighbourhood(GRID, *pair)
        with pytest.raises(GridError, match="no process 0:0:3"):
            hops(GRID, *pair)
