"""Several users book at the same peers at once, while peers and users die."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.peers.simulated_bookings import BookingWorld, SimulatedUser
from runtime.peers.booking import (
    AdmissionRules,
    Demand,
    Offer,
    ReservationClient,
    ReservationSettings,
    Shortfall,
    strategy_named,
)
from runtime.peers.model import Key, Share


class Lab:
    """Peers that lend the same share, and users who book there; all from one seed."""

    def __init__(self, peers: int, share: Share, seed: int, *, skew: float = 0.0) -> None:
        self.random = Random(seed)
        self.world = BookingWorld(
            random=self.random, latency=lambda random: random.uniform(0.001, 0.02)
        )
        for number in range(peers):
            rules = AdmissionRules(share, lease=20.0)
            self.world.add_peer(f"p{number}", rules, self.random.uniform(-skew, skew))

    def book(
        self, ranks: int, replicas: int = 1, strategy: str = "spread", search: float = 60.0
    ) -> SimulatedUser:
        random = Random(self.random.random())
        client = ReservationClient(
            Demand(ranks, replicas),
            strategy_named(strategy),
            random=random.random,
            new_key=lambda: Key(f"{random.getrandbits(128):032x}"),
            settings=ReservationSettings(search=search),
        )
        known = [
            Offer(name, peer.admission.rules.share.processes, random.uniform(0.001, 0.02))
            for name, peer in self.world.peers.items()
        ]
        return self.world.begin(f"user{len(self.world.users)}", client, known)

    @property
    def reservations(self) -> int:
        return sum(
            len(peer.admission.holds) for peer in self.world.peers.values() if not peer.is_dead
        )

    def check(self, most: int) -> None:
        """No place was given twice, and no host runs two copies of a rank."""
        assert all(running <= most for running in self.world.most_running.values())
        for user in self.world.users:
            for booked in user.bookings:
                demand = user.client.demand
                copies = [copy for one in booked.hosts for copy in one.allocation.copies]
                assert len(copies) == len(set(copies)) == demand.places
                for one in booked.hosts:
                    ranks = [copy.rank for copy in one.allocation.copies]
                    assert len(ranks) == len(set(ranks))


@given(
    st.integers(0, 1 << 30),
    st.integers(2, 6),
    st.integers(0, 2),
    st.sampled_from(["spread", "concentrate", "mixed"]),
)
@settings(max_examples=30, deadline=None)
def test_no_place_is_given_twice_whoever_books_and_dies(
    seed: int, users: int, deaths: int, strategy: str
) -> None:
    lab = Lab(12, Share(1, 2), seed)
    for number in range(users):
        at = lab.random.uniform(0, 0.05)
        ranks = lab.random.randint(1, 6)
        lab.world.at(at, lambda ranks=ranks: lab.book(ranks, 2, strategy))  # type: ignore[misc,arg-type]
        if number < deaths:
            victim = f"p{lab.random.randrange(12)}"
            lab.world.at(lab.random.uniform(0, 0.1), lambda name=victim: lab.world.kill_peer(name))  # type: ignore[misc]
    lab.world.run(400)
    lab.check(1)
    assert lab.reservations == 0
    for user in lab.world.users:
        assert user.booked_at is not None or user.ended_with is not None


@pytest.mark.parametrize("seed", range(5))
def test_users_that_need_more_than_half_of_the_lab_all_get_it_one_after_the_other(
    seed: int,
) -> None:
    lab = Lab(16, Share(1, 1), seed)
    users = [lab.book(10, search=600.0) for _ in range(4)]
    lab.world.run(600)
    lab.check(1)
    assert all(user.booked_at is not None for user in users)
    starts = sorted(user.booked_at or 0 for user in users)
    assert all(later - earlier > 59 for earlier, later in pairwise(starts))


def test_clocks_an_hour_apart_do_not_matter() -> None:
    found = []
    for skew in (0.0, 3600.0):
        lab = Lab(8, Share(1, 2), 7)
        for peer in lab.world.peers.values():
            peer.skew = lab.random.uniform(-1, 1) * skew
        user = lab.book(6)
        vanished = lab.book(3)
        lab.world.kill_user(vanished)
        lab.world.run(100)
        assert user.booked_at is not None
        assert lab.reservations == 0
        found.append(user.booked_at)
    assert found[0] == found[1]


def test_what_a_user_held_who_vanished_is_free_when_the_lease_is_over() -> None:
    lab = Lab(8, Share(1, 1), 3)
    vanished = lab.book(8)
    lab.world.run(0.02)
    lab.world.kill_user(vanished)
    lab.world.run(1)
    held = lab.reservations
    assert held > 0
    user = lab.book(8)
    lab.world.run(25)
    assert user.booked_at is not None
    assert 18 < user.booked_at < 26
    lab.check(1)


def test_a_peer_that_dies_before_its_job_has_begun_is_replaced() -> None:
    lab = Lab(9, Share(1, 1), 4)
    user = lab.book(6)
    lab.world.run(1)
    assert user.booked_at is not None
    assert len(user.bookings) == 1

    lab = Lab(9, Share(1, 1), 4)
    user = lab.book(6)
    while not user.bookings:
        lab.world.run(0.001)
    victim = user.bookings[0].hosts[0].allocation.offer.peer
    lab.world.kill_peer(victim)
    lab.world.run(10)
    assert user.booked_at is not None
    assert victim not in {one.allocation.offer.peer for one in user.bookings[-1].hosts}
    lab.check(1)


def test_a_lab_that_is_too_small_says_so_when_the_search_is_over_and_holds_nothing() -> None:
    lab = Lab(3, Share(1, 1), 5)
    user = lab.book(4, search=10.0)
    lab.world.run(15)
    assert isinstance(user.ended_with, Shortfall)
    assert user.ended_with.found == 3
    assert 4 < user.ended_with.waited <= 13
    assert lab.reservations == 0
