"""Routes: every leg can be opened, the shortest come first, and there is one wherever possible."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import GridError
from runtime.rank_name import RankName
from runtime.routing import FrontEndStop, Rank, Route, RouteKind, routes, with_tunnels
from runtime.topology import Cluster, Grid, Node, Reachability, Site

DIRECT, FRONT_END, OUTWARDS, ISOLATED = Reachability


def grid(*sites: list[Reachability]) -> Grid:
    return Grid(tuple(Site(f"s{n}", tuple(map(cluster, site))) for n, site in enumerate(sites)))


def cluster(reachability: Reachability) -> Cluster:
    return Cluster("c", (Node("n", ranks=2),), reachability)


def between(machine: Grid) -> list[str]:
    return [str(route) for route in routes(machine, RankName(0, 0, 0), RankName(1, 0, 1))]


def test_within_a_cluster_messages_go_by_native_mpi() -> None:
    found = routes(grid([OUTWARDS]), RankName(0, 0, 0), RankName(0, 0, 1))
    assert [(route.kind, route.hops, route.forwarders) for route in found] == [
        (RouteKind.NATIVE, 1, ())
    ]
    assert str(found[0]) == "0:0:0 -native- 0:0:1"


def test_where_all_can_reach_all_the_direct_connection_comes_first() -> None:
    found = between(grid([DIRECT], [DIRECT]))
    assert found[0] == "0:0:0 -> 1:0:1"
    assert found[1] == "0:0:0 <- 1:0:1"
    assert found[2:4] == ["0:0:0 -> 1:0 -> 1:0:1", "0:0:0 -> 0:0 -> 1:0:1"]


def test_where_only_front_ends_are_reached_both_pass_on() -> None:
    assert between(grid([FRONT_END], [FRONT_END])) == ["0:0:0 -> 0:0 -> 1:0 -> 1:0:1"]


def test_a_front_end_is_passed_once_where_one_side_is_open() -> None:
    assert between(grid([DIRECT], [FRONT_END]))[0] == "0:0:0 -> 1:0 -> 1:0:1"
    assert between(grid([FRONT_END], [DIRECT]))[0] == "0:0:0 -> 0:0 -> 1:0:1"


def test_a_cluster_that_can_only_connect_outwards_opens_the_connection_itself() -> None:
    assert between(grid([DIRECT], [OUTWARDS]))[0] == "0:0:0 <- 1:0:1"
    assert between(grid([OUTWARDS], [DIRECT]))[0] == "0:0:0 -> 1:0:1"
    assert between(grid([FRONT_END], [OUTWARDS]))[0] == "0:0:0 -> 0:0 <- 1:0:1"


def test_a_third_cluster_relays_between_two_that_can_only_connect_outwards() -> None:
    assert between(grid([OUTWARDS], [OUTWARDS])) == []
    found = between(grid([OUTWARDS], [OUTWARDS], [FRONT_END]))
    assert found[0] == "0:0:0 -> 2:0 <- 1:0:1"


def test_a_relay_in_the_site_of_either_end_comes_before_others() -> None:
    machine = grid([OUTWARDS], [OUTWARDS, DIRECT], [DIRECT])
    assert between(machine)[:2] == ["0:0:0 -> 1:1 <- 1:0:1", "0:0:0 -> 2:0 <- 1:0:1"]


def test_a_tunnel_is_the_last_route_and_the_longest() -> None:
    both = [(0, 0), (1, 0)]
    machine = with_tunnels(grid([OUTWARDS], [OUTWARDS]), both, both)
    (found,) = routes(machine, RankName(0, 0, 0), RankName(1, 0, 1))
    assert str(found) == "0:0:0 -> 0:0 => 1:0 -> 1:0:1"
    assert (found.kind, found.hops) == (RouteKind.TUNNELLED, 3)

    relayed = Grid((*machine.sites, *grid([FRONT_END]).sites))
    assert between(relayed)[0] == "0:0:0 -> 2:0 <- 1:0:1"
    assert between(relayed)[-1] == str(found)
    relay, last = routes(relayed, RankName(0, 0, 0), RankName(1, 0, 1))[-2:]
    assert relay.length < last.length


def test_a_process_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(GridError):
        routes(grid([DIRECT]), RankName(0, 0, 0), RankName(1, 0, 0))


machines = st.lists(
    st.lists(st.sampled_from(list(Reachability)), min_size=1, max_size=2), min_size=2, max_size=3
)


@given(machines)
def test_every_leg_can_be_opened_and_no_stop_is_passed_twice(
    sites: list[list[Reachability]],
) -> None:
    machine = grid(*sites)
    for route in routes(machine, RankName(0, 0, 0), RankName(1, 0, 1)):
        assert len(set(route.stops)) == len(route.stops)
        for (before, after), leg in zip(pairwise(route.stops), route.legs, strict=True):
            assert {leg.dialler, leg.listener} == {before, after}
            to, by = leg.listener, leg.dialler
            if to.cluster != by.cluster:
                reach = machine.cluster_at(*to.cluster).reachability
                assert reach is DIRECT or (reach is FRONT_END and isinstance(to, FrontEndStop))
                leaves = machine.cluster_at(*by.cluster).reachability
                assert leaves is not ISOLATED
                assert leaves is not FRONT_END or isinstance(by, FrontEndStop)


@given(machines)
def test_there_is_a_route_unless_nobody_can_be_reached(sites: list[list[Reachability]]) -> None:
    machine = grid(*sites)
    found = routes(machine, RankName(0, 0, 0), RankName(1, 0, 1))
    assert [route.hops for route in found] == sorted(route.hops for route in found)
    flat = [reachability for site in sites for reachability in site]
    is_cut_off = ISOLATED in (sites[0][0], sites[1][0])
    assert bool(found) == (not is_cut_off and any(one in (DIRECT, FRONT_END) for one in flat))


@given(machines)
def test_the_way_back_is_as_short_as_the_way_there(sites: list[list[Reachability]]) -> None:
    machine = grid(*sites)
    there = routes(machine, RankName(0, 0, 0), RankName(1, 0, 1))
    back = routes(machine, RankName(1, 0, 1), RankName(0, 0, 0))
    assert [route.hops for route in there[:1]] == [route.hops for route in back[:1]]


def test_a_route_knows_its_kind_and_forwarders() -> None:
    a, b, front = Rank(RankName(0, 0, 0)), Rank(RankName(1, 0, 0)), FrontEndStop((1, 0))
    found: dict[tuple[object, ...], Route] = {
        route.stops: route for route in routes(grid([DIRECT], [DIRECT]), a.identifier, b.identifier)
    }
    assert found[a, b].kind is RouteKind.DIRECT
    assert (found[a, front, b].kind, found[a, front, b].forwarders) == (
        RouteKind.FORWARDED,
        (front,),
    )
    assert found[a, front, b].hops == 2
