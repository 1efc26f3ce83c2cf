"""Round trips: what is believed, whom it costs to know them, and who is near whom."""

from __future__ import annotations

import doctest
import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.peers.latency import (
    RttSettings,
    RttTable,
    RttTarget,
    SiteGrouping,
    grouped_by_distance,
    hint,
    near_and_others,
    network_of,
    sites,
    table,
)


def targets(networks: int, hosts: int) -> list[RttTarget]:
    return [RttTarget(f"h{n}-{h}", f"10.0.{n}.0/24") for n in range(networks) for h in range(hosts)]


def test_the_estimate_is_the_minimum_of_a_window() -> None:
    rtts = RttTable(RttSettings(samples=3, window=100.0))
    for now, rtt in enumerate((0.010, 0.050, 0.020, 0.030)):
        rtts.record(RttTarget("a"), rtt, now)
    assert rtts.measured("a", 3.0) == 0.020  # the first one has left the window of three
    assert rtts.measured("a", 102.5) == 0.030
    assert rtts.measured("a", 200.0) == float("inf")


def test_a_peer_that_was_never_measured_is_as_far_as_its_network() -> None:
    rtts = RttTable()
    rtts.record(RttTarget("a", "lab"), 0.004, 0.0)
    assert rtts.expected(RttTarget("b", "lab"), 1.0) == 0.004
    assert rtts.expected(RttTarget("b", "elsewhere"), 1.0) == float("inf")
    rtts.record(RttTarget("b", "lab"), 0.002, 1.0)
    assert rtts.expected(RttTarget("a", "lab"), 1.0) == 0.004


def test_one_busy_host_moves_its_network_by_a_quarter() -> None:
    rtts = RttTable()
    rtts.record(RttTarget("a", "lab"), 0.001, 0.0)
    rtts.record(RttTarget("busy", "lab"), 0.101, 0.0)
    assert rtts.expected(RttTarget("c", "lab"), 0.0) == pytest.approx(0.026)


def test_peers_are_ranked_by_round_trip_and_the_unknown_come_last() -> None:
    rtts = RttTable()
    for name, rtt in (("far", 0.017), ("near", 0.001), ("middle", 0.010)):
        rtts.record(RttTarget(name, name), rtt, 0.0)
    names = ["stranger", "far", "near2", "middle", "near"]
    ranked = rtts.ranked([RttTarget(one, one.rstrip("2")) for one in names], 0.0)
    assert [one.peer for one in ranked] == ["near", "near2", "middle", "far", "stranger"]


def test_the_ranking_holds_although_single_samples_are_late() -> None:
    """As in Grid'5000, sites are 1 ms apart and samples up to 20 ms too late."""
    random, rtts = Random(3), RttTable()
    true = {f"s{n}": 0.010 + n / 1000 for n in range(6)}
    for now in range(8):
        for name, rtt in true.items():
            late = random.choice([0.0, 0.0001, random.uniform(0, 0.02)])
            rtts.record(RttTarget(name), rtt + late, now)
    assert [one.peer for one in rtts.ranked([RttTarget(one) for one in true], 8.0)] == list(true)


@pytest.mark.parametrize("hosts", [10, 1000, 20_000])
def test_what_is_measured_in_a_period_does_not_depend_on_the_number_of_peers(hosts: int) -> None:
    random, rtts, known = Random(1), RttTable(), targets(10, hosts // 10)
    settings = rtts.settings
    count = 0
    for period in range(60):
        found = rtts.next_targets(known, period * 30.0, random.random)
        count += len(found)
        assert len(found) <= settings.refreshed + settings.explored
        for one in found:
            rtts.record(one, random.random(), period * 30.0)
    assert count > 60
    assert len(rtts) <= 60 * 8 + 10


def test_networks_of_which_nothing_is_known_are_explored_first() -> None:
    random, rtts, known = Random(5), RttTable(), targets(40, 25)
    seen: Counter[str] = Counter()
    for period in range(20):
        for one in rtts.next_targets(known, period * 30.0, random.random):
            rtts.record(one, 0.001 * int(one.network.split(".")[2] or 0), period * 30.0) \
                if one.network else None  # fmt: skip
            seen[one.network] += 1
    del seen[""]  # those that are measured again
    assert len(seen) >= 38
    assert max(seen.values()) <= 6


def test_the_nearest_are_kept_fresh_and_the_farther_are_not() -> None:
    rtts = RttTable(RttSettings(nearest=4, refreshed=2, explored=0, fresh=60.0))
    for number in range(20):
        rtts.record(RttTarget(f"h{number:02}"), number / 1000, 0.0)
    assert rtts.next_targets([], 30.0, Random(1).random) == []
    asked = rtts.next_targets([], 61.0, Random(1).random)
    assert [one.peer for one in asked] == ["h00", "h01"]
    for one in asked:
        rtts.record(one, 0.0, 61.0)
    assert [one.peer for one in rtts.next_targets([], 62.0, Random(1).random)] == ["h02", "h03"]


def test_before_a_booking_only_those_are_measured_that_may_be_nearest() -> None:
    random, rtts, known = Random(2), RttTable(), targets(50, 100)
    for number in range(0, 5000, 100):
        rtts.record(known[number], 0.001 * (number // 100), 0.0)
    asked = rtts.for_booking(known, 30, 1.0)
    assert len(asked) <= 60
    assert {one.network for one in asked} == {"10.0.0.0/24"}
    for one in asked:
        rtts.record(one, random.uniform(0, 0.001), 1.0)
    assert not {one.peer for one in asked} & {one.peer for one in rtts.for_booking(known, 30, 2.0)}


def test_a_table_never_grows_beyond_its_bound_and_keeps_the_near() -> None:
    rtts = RttTable(RttSettings(most=50, window=1e6))
    for number, one in enumerate(targets(100, 20)):
        rtts.record(one, 0.001 if number % 40 == 0 else 0.050, float(number))
    assert len(rtts) == 100
    kept = [rtts.measured(one.peer, 2000.0) for one in targets(100, 20)[::40]]
    assert sum(rtt == 0.001 for rtt in kept) > 20  # the last 50 of all have two such


def test_a_peer_that_has_left_is_forgotten() -> None:
    rtts = RttTable()
    rtts.record(RttTarget("a"), 0.001, 0.0)
    rtts.forget("a")
    assert rtts.measured("a", 0.0) == float("inf")


PLACES = st.lists(st.tuples(st.integers(0, 4), st.floats(0, 0.0005)), min_size=1, max_size=25).map(
    lambda found: {f"h{n}": place for n, place in enumerate(found)}
)

AT = {0: (0.0, 0.0), 1: (0.010, 0.0), 2: (0.0, 0.0105), 3: (0.030, 0.0), 4: (0.030, 0.02)}
"""Where five sites are, in seconds; the asker is at the first one."""


@given(PLACES)
def test_hosts_of_one_place_become_one_site_although_others_are_as_far(
    places: dict[str, tuple[int, float]],
) -> None:
    def rtt(one: str, other: str) -> float:
        (x, y), (u, v) = AT[places[one][0]], AT[places[other][0]]
        return math.dist((x, y), (u, v)) + places[one][1] + places[other][1]

    distances = {name: math.hypot(*AT[site]) + own for name, (site, own) in places.items()}
    grouping, measured = SiteGrouping(distances), 0
    while wanted := grouping.wanted():
        for leader, others in wanted.items():
            measured += len(others)
            grouping.measured(leader, {one: rtt(leader, one) for one in others})
    found = grouping.sites()
    assert sorted(name for site in found for name in site) == sorted(places)
    assert all(len({places[name][0] for name in site}) == 1 for site in found)
    assert len(found) == len({site for site, _ in places.values()})
    assert measured <= len(places) * len(found)


def test_a_lab_around_the_asker_is_one_site_and_costs_no_measurement() -> None:
    grouping = SiteGrouping({f"h{number}": 0.0001 * number for number in range(15)})
    assert grouping.wanted() == {}
    assert len(grouping.sites()) == 1


def test_where_nobody_can_measure_the_distances_decide() -> None:
    assert grouped_by_distance({"a": 0.010, "b": 0.0105, "c": 0.020}) == [["a", "b"], ["c"]]


def test_what_an_earlier_leader_says_too_late_changes_nothing() -> None:
    grouping = SiteGrouping({"a": 0.010, "b": 0.011, "c": 0.020, "d": 0.021})
    assert grouping.wanted() == {"a": ["b"]}
    grouping.measured("a", {"b": 0.001})
    assert grouping.wanted() == {"c": ["d"]}
    grouping.measured("a", {"b": 0.9})
    grouping.measured("c", {"d": None})
    assert grouping.sites() == [["a", "b"], ["c", "d"]]


def test_the_network_of_an_address_is_what_a_lab_is_likely_to_share() -> None:
    assert network_of("2001:db8:1:2::9") == "2001:db8:1:2::/64"
    assert network_of("host7") == "host7"


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 50))
def test_a_supernode_tells_half_near_hosts_and_half_others_or_all(
    near: int, others: int, most: int
) -> None:
    hosts = [*range(near), *range(1000, 1000 + others)]
    told = near_and_others(hosts, lambda one: one < 1000, most, Random(1).sample)
    assert len(told) == len(set(told)) == min(most, near + others)
    count = sum(one < 1000 for one in told)
    assert count == near if near + others <= most else count >= min(near, most // 2)


@pytest.mark.parametrize("module", [hint, sites, table])
def test_the_examples_in_the_documentation_of_latency_hold(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed
