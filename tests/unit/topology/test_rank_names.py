"""Who a rank is, as a value, and how messages name it."""

from __future__ import annotations

import pytest

from runtime.rank_name import RankName
from runtime.topology import Cluster, Grid, NamedCluster, Node, RankNames, Site


@pytest.mark.parametrize(
    ("text", "parts"),
    [("0:1:2", (0, 1, 2, 0)), ("10:0:0", (10, 0, 0, 0)), ("0:1:2#3", (0, 1, 2, 3))],
)
def test_a_name_is_the_text_that_travels(text: str, parts: tuple[int, ...]) -> None:
    name = RankName.parse(text)
    assert name == RankName(*parts)
    assert str(name) == text
    assert name.cluster == text.rpartition(":")[0]
    assert str(name.place) == text.partition("#")[0]


@pytest.mark.parametrize(
    "text",
    ["", "0", "0:1", "0:1:2:3", "0:1:x", "0:1:", "0:1:2#", "0:1:2#x", "0:1:-2", "a:0:0 lane"],
)
def test_nothing_else_is_a_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a rank, such as 0:1:2 or 0:1:2#3"):
        RankName.parse(text)


def test_names_sort_by_place_then_by_incarnation() -> None:
    sorted_names = ["0:0:2", "0:0:10#1", "0:0:10#2", "0:2:0", "0:10:0", "1:0:0"]
    names = [RankName.parse(one) for one in sorted_names]
    names.reverse()
    assert [str(one) for one in sorted(names)] == sorted_names


def cluster(name: str, ranks: int) -> Cluster:
    return Cluster(name, (Node("n", ranks=ranks),))


GRID = Grid(
    (
        Site("north", (cluster("alder", 2), cluster("birch", 0))),
        Site("south", (cluster("cedar", 3),)),
    )
)


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        (["1:0:1"], "rank 3 (south/cedar 1)"),
        (["1:0:1#2"], "rank 3 (south/cedar 1)"),
        (["1:0:1", "0:0:0", "1:0:0"], "rank 0 (north/alder 0), ranks 2-3 (south/cedar 0-1)"),
        (["0:0:0", "0:0:1", "1:0:0"], "ranks 0-1 (north/alder 0-1), rank 2 (south/cedar 0)"),
        (["1:0:0", "ranks:0:0", "0:1"], "rank 2 (south/cedar 0), ranks:0:0, north/birch"),
        ([], ""),
    ],
)
def test_ranks_are_named_by_their_numbers(ranks: list[str], text: str) -> None:
    assert RankNames.of_grid(GRID).names(ranks) == text


def test_where_there_is_one_cluster_the_number_says_it_all() -> None:
    names = RankNames.of_grid(Grid((Site("here", (cluster("local", 4),)),)))
    assert names.name("0:0:3") == "rank 3"
    assert names.names(["0:0:1", "0:0:2", "0:0:3"]) == "ranks 1-3"
    assert names.where("0:0:3") == ""


def test_a_cluster_may_have_a_world_of_its_own() -> None:
    names = RankNames.of_grid(GRID, is_of_cluster=True)
    assert names.name("1:0:1") == "rank 1 (south/cedar 1)"
    assert names.tag("1:0:1") == "south/cedar 1"


def test_replicas_have_the_number_of_their_rank() -> None:
    grid = Grid((Site("s", (cluster("a", 2), cluster("b", 2))),))
    names = RankNames.of_grid(grid, world=2)
    assert [names.number(one) for one in ("0:0:0", "0:0:1", "0:1:0", "0:1:1")] == [0, 1, 0, 1]
    assert names.name("0:0:1") == "rank 1, replica 0 (s/a 1)"
    assert names.name("0:1:1#2") == "rank 1, replica 1 (s/b 1)"
    assert names.rank("0:1:1") == "rank 1"
    assert names.names(["0:0:0", "0:0:1"]) == "ranks 0-1"


def test_coupled_codes_are_named() -> None:
    names = RankNames(
        {"0:0": NamedCluster("s/a", 0, code="ocean"), "0:1": NamedCluster("s/b", 0, code="air")}
    )
    assert names.name("0:1:2") == "rank 2 of air (s/b 2)"
    assert names.names(["0:1:0", "0:0:0", "0:0:1"]) == (
        "ranks 0-1 of ocean (s/a 0-1), rank 0 of air (s/b 0)"
    )
    assert (names.tag("0:1:2"), names.tag("0:1"), names.tag("lab/rack/n7")) == (
        "air 2", "s/b", "lab/rack/n7",
    )  # fmt: skip
