"""How near two processes are."""

from __future__ import annotations

import pytest

from runtime.errors import GridError
from runtime.rank_name import RankName
from runtime.topology.tree import Cluster, Grid, Neighbourhood, Node, Site, neighbourhood

PAIR = (Node("a", ranks=2), Node("b", ranks=1))
GRID = Grid((Site("s", (Cluster("c", PAIR), Cluster("d", PAIR))), Site("t", (Cluster("e", PAIR),))))
CASES = [
    ("0:0:0", "0:0:0", Neighbourhood.SAME_PROCESS),
    ("0:0:0", "0:0:1", Neighbourhood.SAME_NODE),
    ("0:0:0", "0:0:2", Neighbourhood.SAME_CLUSTER),
    ("0:0:0", "0:1:0", Neighbourhood.SAME_SITE),
    ("0:0:0", "1:0:0", Neighbourhood.SAME_GRID),
]


@pytest.mark.parametrize(("first", "second", "near"), CASES)
def test_nearness_is_symmetric(first: str, second: str, near: Neighbourhood) -> None:
    a, b = RankName.parse(first), RankName.parse(second)
    assert neighbourhood(GRID, a, b) is neighbourhood(GRID, b, a) is near


def test_both_processes_have_to_exist() -> None:
    here, nowhere = RankName(0, 0, 0), RankName(0, 0, 3)
    for pair in ((here, nowhere), (nowhere, here)):
        with pytest.raises(GridError, match="no process 0:0:3"):
            neighbourhood(GRID, *pair)
