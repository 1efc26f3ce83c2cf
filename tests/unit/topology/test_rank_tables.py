"""Rank tables of the hierarchical communicators and the translation between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import GridError
from runtime.rank_name import RankName
from runtime.topology.communicators import Communicator, rank_table, translate
from runtime.topology.tree import Cluster, Grid, Node, Site


def grid_of(*sites: tuple[int, ...]) -> Grid:
    return Grid(
        tuple(
            Site(f"s{s}", tuple(Cluster(f"c{c}", (Node("n", ranks=n),)) for c, n in enumerate(row)))
            for s, row in enumerate(sites)
        )
    )


def members(grid: Grid, communicator: Communicator, me: str) -> list[str]:
    return [str(found) for found in rank_table(grid, communicator, RankName.parse(me))]


# Two sites with two and one clusters, seven processes.
SEVEN = grid_of((2, 2), (3,))
shapes = (
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), min_size=1, max_size=3)
    .map(lambda rows: grid_of(*rows))
    .filter(lambda grid: grid.size > 0)
)


@pytest.mark.parametrize("me", ["0:1:0", "0:1:1"])
def test_the_second_cluster_of_the_first_site_sees_the_published_table(me: str) -> None:
    assert members(SEVEN, Communicator.SITE, me) == ["0:0:0", "0:0:1", "0:1:0", "0:1:1"]
    assert members(SEVEN, Communicator.GRID, me) == [
        "0:0:0", "0:0:1", "0:1:0", "0:1:1", "1:0:0", "1:0:1", "1:0:2",
    ]  # fmt: skip


def test_the_cluster_communicator_holds_the_own_cluster_only() -> None:
    assert members(SEVEN, Communicator.CLUSTER, "0:0:1") == ["0:0:0", "0:0:1"]
    assert members(SEVEN, Communicator.CLUSTER, "0:1:1") == ["0:1:0", "0:1:1"]
    assert members(SEVEN, Communicator.CLUSTER, "1:0:2") == ["1:0:0", "1:0:1", "1:0:2"]


def test_gateways_are_the_first_rank_of_each_cluster_and_of_each_site() -> None:
    assert members(SEVEN, Communicator.SITE_GATEWAYS, "0:0:1") == ["0:0:0", "0:1:0"]
    assert members(SEVEN, Communicator.SITE_GATEWAYS, "1:0:1") == ["1:0:0"]
    assert members(SEVEN, Communicator.GRID_GATEWAYS, "0:1:1") == ["0:0:0", "1:0:0"]


def test_a_cluster_without_ranks_gives_no_gateway() -> None:
    grid = grid_of((0, 2), (0,), (1,))
    assert members(grid, Communicator.SITE_GATEWAYS, "0:1:0") == ["0:1:0"]
    assert members(grid, Communicator.GRID_GATEWAYS, "0:1:0") == ["0:1:0", "2:0:0"]


def test_a_process_that_is_no_gateway_has_no_rank_among_them() -> None:
    table = rank_table(SEVEN, Communicator.GRID_GATEWAYS, RankName(0, 1, 0))
    assert table.rank(RankName(0, 1, 0)) is None
    assert table.rank(RankName(1, 0, 1)) is None
    assert table.rank(RankName(1, 0, 0)) == 1


def test_ranks_translate_between_communicators() -> None:
    me = RankName(1, 0, 1)
    cluster, grid = (
        rank_table(SEVEN, which, me) for which in (Communicator.CLUSTER, Communicator.GRID)
    )
    assert translate(1, cluster, grid) == 5
    assert translate(5, grid, cluster) == 1
    assert translate(3, grid, cluster) is None


@pytest.mark.parametrize("rank", [-1, 7])
def test_a_rank_outside_the_communicator_is_refused_with_its_size(rank: int) -> None:
    table = rank_table(SEVEN, Communicator.GRID, RankName(0, 0, 0))
    with pytest.raises(GridError) as caught:
        table.identifier(rank)
    assert str(caught.value) == f"there is no rank {rank}. The communicator has 7 ranks."


def test_only_a_process_of_the_grid_has_tables() -> None:
    with pytest.raises(GridError, match="the grid has no process 0:0:2"):
        rank_table(SEVEN, Communicator.GRID, RankName(0, 0, 2))


@given(shapes, st.sampled_from(Communicator), st.data())
def test_every_table_is_sorted_and_reads_the_same_both_ways(
    grid: Grid, communicator: Communicator, data: st.DataObject
) -> None:
    me = data.draw(st.sampled_from(list(grid.identifiers())))
    table = rank_table(grid, communicator, me)
    listed = list(table)
    assert listed == sorted(listed)
    assert len(listed) == len(table) >= 1
    assert [table.identifier(rank) for rank in range(len(table))] == listed
    assert [table.rank(found) for found in listed] == list(range(len(table)))


@given(shapes, st.data())
def test_everybody_agrees_on_the_grid_and_gateways_belong_to_what_they_lead(
    grid: Grid, data: st.DataObject
) -> None:
    me = data.draw(st.sampled_from(list(grid.identifiers())))
    everyone = list(rank_table(grid, Communicator.GRID, me))
    assert everyone == list(grid.identifiers())
    site = set(rank_table(grid, Communicator.SITE, me))
    assert set(rank_table(grid, Communicator.SITE_GATEWAYS, me)) <= site
    leaders = list(rank_table(grid, Communicator.GRID_GATEWAYS, me))
    assert sorted({found.site for found in everyone}) == [found.site for found in leaders]
