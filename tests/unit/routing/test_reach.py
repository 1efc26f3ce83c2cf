"""Who opens the connections, told for each two kinds of clusters."""

from __future__ import annotations

import pytest

from runtime.routing.reach import clusters_by_reachability, ways, with_tunnels, without_way
from runtime.topology import Cluster, Grid, Node, Reachability, Site

DIRECT, FRONT_END, OUTWARDS, ISOLATED = Reachability


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
        (ISOLATED, DIRECT, "no way"),
        (OUTWARDS, ISOLATED, "no way"),
    ],
)
def test_each_connection_points_from_who_dials_to_who_listens(
    source: Reachability, target: Reachability, told: str
) -> None:
    assert words(grid(*(2 * list(Reachability))))[source, target] == told


@pytest.mark.parametrize("kind", [DIRECT, FRONT_END, OUTWARDS, ISOLATED])
def test_an_isolated_cluster_has_a_tunnel_to_all_others(kind: Reachability) -> None:
    both = [(0, 0), (1, 0)]
    machine = with_tunnels(grid(ISOLATED, kind), both, both)
    assert words(machine)[ISOLATED, kind] == "rank → its front-end ⇒ their front-end → rank"
    assert without_way(machine, both) == []


def test_who_has_another_way_has_no_tunnel() -> None:
    places = [(0, 0), (1, 0), (2, 0)]
    relayed = grid(OUTWARDS, OUTWARDS, FRONT_END)
    assert with_tunnels(relayed, places, places) is relayed
    mixed = with_tunnels(grid(OUTWARDS, OUTWARDS, FRONT_END, ISOLATED), [*places, (3, 0)], places)
    assert [one.has_tunnel for _, _, one in mixed.clusters()] == [True, True, True, False]


def test_what_cannot_have_a_tunnel_stays_without_way() -> None:
    both = [(0, 0), (1, 0)]
    assert without_way(with_tunnels(grid(OUTWARDS, OUTWARDS), both, both[:1]), both) == both


def test_two_that_only_connect_outwards_have_no_way_without_a_third() -> None:
    assert words(grid(OUTWARDS, OUTWARDS)) == {(OUTWARDS, OUTWARDS): "no way"}


def test_a_kind_that_only_one_cluster_is_of_has_no_way_to_itself() -> None:
    assert words(grid(DIRECT, OUTWARDS))[OUTWARDS, OUTWARDS] == ""
