"""The grid as a tree of values."""

from __future__ import annotations

import pytest

from runtime.errors import GridError
from runtime.rank_name import RankName
from runtime.topology.tree import Cluster, Grid, Node, Site

UNEVEN = Cluster("c", (Node("a", ranks=2), Node("b", ranks=0), Node("d", ranks=1)))
GRID = Grid((Site("s", (UNEVEN,)), Site("t", (Cluster("e", (Node("f", ranks=1),)),))))


def test_sizes_add_up_over_the_levels() -> None:
    assert (UNEVEN.size, GRID.sites[0].size, GRID.size) == (3, 3, 4)


@pytest.mark.parametrize(("rank", "node"), [(0, "a"), (1, "a"), (2, "d")])
def test_ranks_fill_the_nodes_one_after_the_other(rank: int, node: str) -> None:
    assert UNEVEN.node_of(rank).name == node


@pytest.mark.parametrize("rank", [-1, 3])
def test_a_rank_outside_the_cluster_has_no_node(rank: int) -> None:
    with pytest.raises(GridError) as caught:
        UNEVEN.node_of(rank)
    assert str(caught.value) == f"cluster 'c' has no rank {rank}. It has 3 ranks."


def test_the_processes_come_in_the_order_of_their_identifiers() -> None:
    assert [str(found) for found in GRID.identifiers()] == ["0:0:0", "0:0:1", "0:0:2", "1:0:0"]


@pytest.mark.parametrize("wrong", ["2:0:0", "0:1:0"])
def test_a_cluster_that_is_not_there_is_named(wrong: str) -> None:
    with pytest.raises(GridError, match=f"the grid has no cluster {wrong[:3]}"):
        GRID.cluster_of(RankName.parse(wrong))


def test_a_rank_that_is_not_there_is_named_with_the_size_of_its_cluster() -> None:
    with pytest.raises(GridError) as caught:
        GRID.cluster_of(RankName(1, 0, 1))
    assert str(caught.value) == "the grid has no process 1:0:1. Cluster 'e' has 1 ranks."
