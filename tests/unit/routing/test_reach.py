"""Who opens the connections, told for each two kinds of clusters."""

from __future__ import annotations

import pytest

from runtime.routing.reach import clusters_by_reachability, ways
from runtime.topology import Cluster, Grid, Node, Reachability, Site

DIRECT, FRONT_END, OUTWARDS = Reachability


def grid(*kinds: Reachability) -> Grid:
    clusters = [Cluster(f"c{n}", (Node("n", ranks=2),), kind) for n, kind in enumerate(kinds)]
    return Grid(tuple(Site(f"s{n}", (cluster,)) for n, cluster in enumerate(clusters)))


def words(machine: Grid) -> dict[tuple[Reachability, Reachability], str]:
    return {(way.source, way.target): way.words for way in ways(machine)}


def test_clusters_without_ranks_do_not_count() -> None:
    empty = Site("e", (Cluster("e", ()),))
    found = clusters_by_reachability(Grid((*grid(DIRECT, OUTWARDS, DIRECT).sites, empty)))
    assert found == {DIRECT: [(0, 0), (2, 0)], OUTWARDS: [(1, 0)]}


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        (DIRECT, DIRECT, "rank → rank"),
        (DIRECT, OUTWARDS, "rank ← rank"),
        (OUTWARDS, DIRECT, "rank → rank"),
        (DIRECT, FRONT_END, "rank → their front-end → rank"),
        (FRONT_END, DIRECT, "rank → its front-end → rank"),
        (FRONT_END, FRONT_END, "rank → its front-end → their front-end → rank"),
        (OUTWARDS, OUTWARDS, "rank → a third front-end ← rank"),
        (FRONT_END, OUTWARDS, "rank → its front-end ← rank"),
    ],
)
def test_each_connection_points_from_who_dials_to_who_listens(
    source: Reachability, target: Reachability, told: str
) -> None:
    assert words(grid(*(2 * list(Reachability))))[source, target] == told


def test_two_that_only_connect_outwards_have_no_way_without_a_third() -> None:
    assert words(grid(OUTWARDS, OUTWARDS)) == {(OUTWARDS, OUTWARDS): "no way"}


def test_a_kind_that_only_one_cluster_is_of_has_no_way_to_itself() -> None:
    assert words(grid(DIRECT, OUTWARDS))[OUTWARDS, OUTWARDS] == ""
