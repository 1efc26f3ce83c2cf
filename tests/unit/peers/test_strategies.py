"""Who runs which ranks: the published table, and what holds for all tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runtime.peers.booking import (
    Allocation,
    BookingError,
    ConcentrateStrategy,
    Demand,
    MixedStrategy,
    Offer,
    SpreadStrategy,
    Strategy,
    allocate,
    missing,
    strategy_named,
)

GRID5000 = (
    ("Nancy", 60, 4, 0.0),
    ("Lyon", 50, 2, 10.5),
    ("Rennes", 90, 2, 11.6),
    ("Bordeaux", 60, 4, 12.6),
    ("Grenoble", 8, 2, 13.2),
    ("Grenoble", 12, 4, 13.2),
    ("Sophia", 32, 2, 17.1),
    ("Sophia", 38, 4, 17.1),
)
"""Site, hosts, cores of each, and the round trip from Nancy in milliseconds."""

BOTH = [ConcentrateStrategy(), SpreadStrategy(), MixedStrategy()]


def grid5000() -> list[Offer]:
    return [
        Offer(f"{site}-{cores}-{number:02}", cores, rtt / 1000, site)
        for site, hosts, cores, rtt in GRID5000
        for number in range(hosts)
    ]


def booked(ranks: int, strategy: Strategy, replicas: int = 1) -> list[Allocation]:
    return allocate(grid5000(), Demand(ranks, replicas), strategy)


@pytest.mark.parametrize(
    ("ranks", "hosts"),
    [
        (100, "N25(100)"),
        (200, "N50(200)"),
        (250, "N60(240) L5(10)"),
        (300, "N60(240) L30(60)"),
        (400, "N60(240) L50(100) R30(60)"),
        (600, "N60(240) L50(100) R90(180) B20(80)"),
    ],
)
def test_concentrate_books_the_published_hosts(ranks: int, hosts: str) -> None:
    found = booked(ranks, ConcentrateStrategy())
    count = Counter(one.offer.site[0] for one in found)
    cores = processes_of_sites(found)
    assert " ".join(f"{site}{count[site]}({cores[site]})" for site in count) == hosts


@pytest.mark.parametrize(
    ("ranks", "cores"),
    [
        (100, "N60 L40"),
        (200, "N60 L50 R90"),
        (250, "N60 L50 R90 B50"),
        (300, "N60 L50 R90 B60 G20 S20"),
        (400, "N110 L50 R90 B60 G20 S70"),
        (600, "N120 L100 R180 B110 G20 S70"),
    ],
)
def test_spread_books_the_published_cores(ranks: int, cores: str) -> None:
    count = processes_of_sites(booked(ranks, SpreadStrategy()))
    assert " ".join(f"{site}{count[site]}" for site in count) == cores


def processes_of_sites(found: Sequence[Allocation]) -> Counter[str]:
    count: Counter[str] = Counter()
    for one in found:
        count[one.offer.site[0]] += len(one.copies)
    return count


def test_mixed_gives_each_site_its_share_and_fills_hosts_inside() -> None:
    found = booked(60, MixedStrategy())
    assert processes_of_sites(found) == dict.fromkeys("NLRBGS", 10)
    hosts = Counter(one.offer.site[0] for one in found)
    assert hosts == {"N": 3, "L": 5, "R": 5, "B": 3, "G": 5, "S": 5}


def test_mixed_puts_a_whole_copy_of_the_program_at_each_site_where_sites_are_as_many() -> None:
    sites = [Offer(f"{site}{number}", 4, 0.01 * at, site)
             for at, site in enumerate("ab") for number in range(4)]  # fmt: skip
    found = allocate(sites, Demand(8, 2), MixedStrategy())
    assert {(one.offer.site, copy.replica) for one in found for copy in one.copies} == {
        ("a", 0),
        ("b", 1),
    }


def test_a_host_counts_for_as_many_places_as_there_are_ranks() -> None:
    assert missing([Offer("a", 100)], Demand(3, 2)) == 3
    with pytest.raises(BookingError, match="3 of 6 places are missing"):
        allocate([Offer("a", 100)], Demand(3, 2), SpreadStrategy())


@pytest.mark.parametrize(("ranks", "replicas"), [(0, 1), (1, 0), (-1, 1)])
def test_nothing_cannot_be_booked(ranks: int, replicas: int) -> None:
    with pytest.raises(BookingError, match="Ask for one at least"):
        Demand(ranks, replicas)


@pytest.mark.parametrize(("places", "asked"), [(1, 1), (2, 5), (3, 8), (8, 17), (100, 120)])
def test_the_surplus_is_three_times_the_logarithm_rounded_up(places: int, asked: int) -> None:
    assert Demand(places).overbooked == asked


OFFERS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 5), st.sampled_from("xyz")), min_size=1, max_size=30
).map(
    lambda found: [
        Offer(f"h{number}", places, rtt / 100, site)
        for number, (places, rtt, site) in enumerate(found)
    ]
)


@given(OFFERS, st.integers(1, 12), st.integers(1, 4), st.sampled_from(BOTH))
def test_every_copy_has_one_place_and_no_host_has_two_copies_of_a_rank(
    offers: list[Offer], ranks: int, replicas: int, strategy: Strategy
) -> None:
    demand = Demand(ranks, replicas)
    assume(not missing(offers, demand))
    found = allocate(offers, demand, strategy)
    copies = [(copy.rank, copy.replica) for one in found for copy in one.copies]
    assert sorted(copies) == [(rank, copy) for rank in range(ranks) for copy in range(replicas)]
    for one in found:
        assert 0 < len(one.copies) <= one.offer.places
        assert len({copy.rank for copy in one.copies}) == len(one.copies)


@given(OFFERS, st.integers(1, 12), st.integers(1, 4), st.sampled_from(BOTH))
def test_what_is_feasible_does_not_depend_on_the_strategy(
    offers: list[Offer], ranks: int, replicas: int, strategy: Strategy
) -> None:
    demand = Demand(ranks, replicas)
    enough = len(offers) >= replicas and (
        sum(min(one.places, ranks) for one in offers) >= demand.places
    )
    assert enough == (not missing(offers, demand))
    if not enough:
        with pytest.raises(BookingError):
            allocate(offers, demand, strategy)


@given(OFFERS, st.integers(1, 12))
def test_no_strategy_takes_fewer_hosts_than_concentrate_or_more_than_spread(
    offers: list[Offer], ranks: int
) -> None:
    demand = Demand(ranks)
    assume(not missing(offers, demand))
    same = [Offer(one.peer, one.places, one.rtt, "here") for one in offers]
    spread = allocate(same, demand, SpreadStrategy())
    mixed = allocate(same, demand, MixedStrategy())
    concentrate = allocate(same, demand, ConcentrateStrategy())
    assert len(mixed) == len(concentrate) <= len(spread)
    assert [one.offer.rtt for one in spread] == sorted(one.offer.rtt for one in spread)


@given(OFFERS, st.integers(1, 40))
def test_spread_loads_no_host_twice_more_than_another_one_with_places_left(
    offers: list[Offer], processes: int
) -> None:
    assume(sum(one.places for one in offers) >= processes)
    counts = SpreadStrategy().place(offers, processes)
    free = [count for count, one in zip(counts, offers, strict=True) if count < one.places]
    assert all(count <= least + 1 for least in free for count in counts)
    assert all(one >= later for one, later in pairwise(free))


class Backwards(SpreadStrategy):
    """Fills the farthest host first."""

    def place(self, offers: Sequence[Offer], processes: int) -> Sequence[int]:
        return list(reversed(ConcentrateStrategy().place(list(reversed(offers)), processes)))


class Greedy(SpreadStrategy):
    """Places all on the first host, and forgets the others."""

    def place(self, offers: Sequence[Offer], processes: int) -> Sequence[int]:
        return [processes]


class NoStrategy:
    """Lacks both methods."""


@pytest.fixture
def own_module(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name under which this module can be imported."""
    import sys

    monkeypatch.setitem(sys.modules, "strategies_of_a_user", sys.modules[__name__])
    return "strategies_of_a_user"


def test_a_strategy_may_be_a_class_of_the_user(own_module: str) -> None:
    strategy = strategy_named(f"{own_module}.Backwards")
    found = allocate([Offer("near", 2, 0.1), Offer("far", 2, 0.2)], Demand(2), strategy)
    assert [one.offer.peer for one in found] == ["far"]


def test_a_strategy_that_breaks_its_contract_is_told_all_its_faults(own_module: str) -> None:
    strategy = strategy_named(f"{own_module}.Greedy")
    with pytest.raises(BookingError) as caught:
        allocate([Offer("a", 2, 0.1), Offer("b", 2, 0.2)], Demand(3), strategy)
    assert caught.value.cause.splitlines() == [
        "it returned 1 numbers for 2 hosts",
        "it gave 3 processes to a, which has 2",
    ]
    assert "Greedy" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("spreed", "there is no strategy 'spreed'; did you mean 'spread'"),
        ("nowhere_at_all.Mine", "there is no module 'nowhere_at_all'"),
        ("{own}.NoStrategy", "a strategy has a method 'order'"),
        ("{own}.GRID5000", "it is not a class"),
        ("{own}.Missing", "has no class 'Missing'"),
    ],
)
def test_a_name_that_is_no_strategy_is_refused_with_what_could_be_meant(
    own_module: str, name: str, told: str
) -> None:
    with pytest.raises(BookingError, match=told):
        strategy_named(name.format(own=own_module))


@pytest.mark.parametrize(("one", "other"), [("gather", "concentrate"), ("scatter", "spread")])
def test_strategies_have_the_names_of_the_source_too(one: str, other: str) -> None:
    assert type(strategy_named(one)) is type(strategy_named(other))


class _Broken(SpreadStrategy):
    def order(self, offers: Sequence[Offer]) -> Sequence[Offer]:
        raise KeyError("rack")


class _Forgetful(SpreadStrategy):
    def order(self, offers: Sequence[Offer]) -> Sequence[Offer]:
        return offers[:1]


@pytest.mark.parametrize(
    ("strategy", "told"),
    [(_Broken(), r"test_strategies.py:\d+: .*_Broken' failed in 'order'.*KeyError: 'rack'"),
     (_Forgetful(), "_Forgetful' decided what cannot be.*'order' returned 1 hosts for 2")],
)  # fmt: skip
def test_a_class_of_the_user_that_fails_is_named_with_what_it_raised(
    strategy: Strategy, told: str
) -> None:
    with pytest.raises(BookingError) as raised:
        allocate([Offer("a", 1), Offer("b", 1)], Demand(2), strategy)
    assert re.search(told, str(raised.value), re.DOTALL)
