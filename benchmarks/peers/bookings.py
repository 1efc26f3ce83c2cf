"""Bookings of many places in large labs, among dying peers and by many users at once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from statistics import median

from benchmarks.peers.lab import Lab
from benchmarks.peers.simulated_bookings import BookingWorld
from runtime.peers.booking import (
    AdmissionRules,
    Demand,
    Offer,
    ReservationClient,
    ReservationSettings,
    strategy_named,
)
from runtime.peers.model import Key

STALE = 0.014
"""Which share of the hosts that are known has died lately, with 1 % of them dying in a minute."""


@dataclass(frozen=True)
class BookingCase:
    """Users who want `ranks` with `replicas` each, `apart` seconds after one another.

    `churn` is which share of the peers dies in a minute; `job` is how long what was booked runs.
    """

    peers: int
    ranks: int
    replicas: int = 1
    strategy: str = "spread"
    users: int = 1
    apart: float = 0.0
    churn: float = 0.0
    job: float = 30.0
    search: float = 60.0


@dataclass(frozen=True)
class BookingFound:
    """What came of it: bookings that had all their places, and seconds from asking to all begun."""

    booked: int
    first: float
    median: float
    last: float
    rounds: float
    messages: float
    took: float


class BookingRun:
    """A lab in which users book."""

    def __init__(self, case: BookingCase, seed: int = 1) -> None:
        self._case = case
        self._lab = Lab(case.peers, seed)
        self._random = Random(seed)
        self.world = BookingWorld(random=self._random, latency=self._latency)
        self._names = [f"h{number}" for number in range(case.peers)]
        for number, name in enumerate(self._names):
            self.world.add_peer(name, AdmissionRules(self._lab.peer(number).share))
        self.world.needs = lambda _: self._some(2 * Demand(case.ranks, case.replicas).overbooked)

    def _latency(self, random: Random) -> float:
        """Return how long a message takes: a few milliseconds, sometimes a tenth of a second."""
        return random.uniform(0.001, 0.015) + (random.random() < 0.02) * random.uniform(0, 0.1)

    def _some(self, hosts: int) -> Iterable[Offer]:
        numbers = self._random.sample(range(self._lab.size), min(hosts, self._lab.size))
        own = self._random.randrange(self._lab.size)
        for one in numbers:
            share = self._lab.peer(one).share
            yield Offer(
                f"h{one}", share.processes, self._lab.rtt(own, one), str(self._lab.site(one))
            )

    def found(self) -> BookingFound:
        """Let everybody book; return what came of it."""
        begun = time.perf_counter()
        case, world = self._case, self.world
        if case.churn:
            self._kill(int(STALE * case.peers))
            world.at(1.0, self._churn)
        for number in range(case.users):
            world.at(number * case.apart, self._book)
        world.run(case.users * case.apart + case.search + 10)
        times = [
            user.booked_at - user.begun_at for user in world.users if user.booked_at is not None
        ]
        return BookingFound(
            booked=len(times),
            first=min(times, default=float("nan")),
            median=median(times or [float("nan")]),
            last=max(times, default=float("nan")),
            rounds=sum(user.client.rounds for user in world.users) / len(world.users),
            messages=sum(user.messages for user in world.users) / len(world.users),
            took=time.perf_counter() - begun,
        )

    def _book(self) -> None:
        case, random = self._case, Random(self._random.random())
        demand = Demand(case.ranks, case.replicas)
        client = ReservationClient(
            demand,
            strategy_named(case.strategy),
            random=random.random,
            new_key=lambda: Key(f"{random.getrandbits(128):032x}"),
            settings=ReservationSettings(search=case.search),
        )
        self.world.begin("somebody", client, self._some(2 * demand.overbooked), case.job)

    def _churn(self) -> None:
        """Let peers die; as many others come back, so that the lab stays as large as it was."""
        deaths = self._case.churn / 60 * self._case.peers
        self._kill(int(deaths) + (self._random.random() < deaths % 1))
        self.world.at(self.world.now + 1.0, self._churn)

    def _kill(self, peers: int) -> None:
        for _ in range(peers):
            name = self._random.choice(self._names)
            self.world.kill_peer(name)
            self.world.at(
                self.world.now + 84.0,
                lambda name=name: self._revive(name),  # type: ignore[misc]
            )

    def _revive(self, name: str) -> None:
        rules = self.world.peers[name].admission.rules
        self.world.add_peer(name, rules)
