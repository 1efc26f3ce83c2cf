"""Round trips: what is believed, whom it costs to know them, and who is near whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.peers.latency import (
    SUBMITTER,
    Distances,
    RttSettings,
    RttTable,
    RttTarget,
    Sites,
    near_and_others,
    network_of,
    sites_as_far_as_known,
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


def test_the_ranking_holds_although_single_samples_are_late() -> None:
    """As in Grid'5000, sites are 1 ms apart and samples up to 20 ms too late."""
    random, rtts = Random(3), RttTable()
    true = {f"s{n}": 0.010 + n / 1000 for n in range(6)}
    for now in range(8):
        for name, rtt in true.items():
            late = random.choice([0.0, 0.0001, random.uniform(0, 0.02)])
            rtts.record(RttTarget(name), rtt + late, now)
    assert sorted(true, key=lambda one: rtts.measured(one, 8.0)) == list(true)


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
    rtts = RttTable(RttSettings(nearest=4, refreshed=2, explored=0, fresh=60.0, samples=1))
    for number in range(20):
        rtts.record(RttTarget(f"h{number:02}"), number / 1000, 0.0)
    assert rtts.next_targets([], 30.0, Random(1).random) == []
    asked = rtts.next_targets([], 61.0, Random(1).random)
    assert [one.peer for one in asked] == ["h00", "h01"]
    for one in asked:
        rtts.record(one, 0.0, 61.0)
    assert [one.peer for one in rtts.next_targets([], 62.0, Random(1).random)] == ["h02", "h03"]


def test_a_near_peer_with_few_samples_is_measured_again_soon() -> None:
    rtts = RttTable(RttSettings(fresh=120.0, samples=4, explored=0))
    measured = []
    for second in range(600):
        if not second or rtts.next_targets([], float(second), Random(1).random):
            rtts.record(RttTarget("a"), 0.001, float(second))
            measured.append(second)
    pauses = [later - earlier for earlier, later in pairwise(measured)]
    assert pauses[:6] == [8, 30, 68, 120, 120, 120]


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


def test_hosts_that_are_about_as_far_away_are_one_site() -> None:
    from_here = {"a": 0.010, "b": 0.0105, "c": 0.020}
    assert sites_as_far_as_known(from_here, Distances()) == [["a", "b"], ["c"]]
    between = Distances()
    between.learn("b", "a", 0.019)
    assert sites_as_far_as_known(from_here, between) == [["a"], ["b"], ["c"]]


def test_the_towns_of_the_published_testbed_are_sites_of_their_own() -> None:
    """Seen from Nancy, five of them are 10 to 17 ms away, and 12 ms from each other."""
    towns = {"lyon": 10.5, "rennes": 11.6, "bordeaux": 12.6, "grenoble": 13.2, "sophia": 17.1}
    hosts = [f"{town}{number}" for town in towns for number in range(3)]
    known, sites = Distances(), Sites()
    for host in hosts:
        known.learn(SUBMITTER, host, (towns[host[:-1]] + 0.1 * int(host[-1])) / 1000)

    def near_to(first: str, others: Sequence[str]) -> list[str]:
        for one in others:
            if known.are_near(first, one) is None:
                known.learn(first, one, 0.0004 if one[:-1] == first[:-1] else 0.012)
        return [one for one in others if known.are_near(first, one)]

    sites.place(hosts, near_to)
    assert sites.of == {host: f"{host[:-1]}0" for host in hosts}


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
