"""How soon a peer knows who is near, measuring a few hosts in each period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from benchmarks.peers.lab import Lab
from runtime.peers.latency import RttTable, RttTarget, near_and_others

PING_EVERY = 10
REFRESH_EVERY = 300
BOOKED = 50
"""Hosts that are booked."""


@dataclass(frozen=True)
class RankingFound:
    """What a new peer knows after some minutes, in the mean over several ones.

    `recall` is which share of the fifty hosts that it would book are among the fifty nearest of
    those it knows, give or take 0.5 ms; `rtt` their mean round trip, `best` that of the nearest
    fifty, `best_of_all` that of the nearest fifty of the lab. `pings` are sent in a minute, and
    `before_booking` in addition for the booking.
    """

    peers: int
    minutes: int
    recall: float
    rtt: float
    best: float
    best_of_all: float
    pings: float
    before_booking: float


def ranking(
    peers: int, minutes: Sequence[int], known_hosts: int, observers: int = 10
) -> list[RankingFound]:
    """Simulate some new peers; return what they know after so many minutes each."""
    lab = Lab(peers)
    rows: dict[int, list[tuple[float, ...]]] = {one: [] for one in minutes}
    for _ in range(observers):
        own = lab.random.randrange(peers)
        _observe(lab, own, rows, min(known_hosts, peers - 1))
    return [
        RankingFound(peers, after, *(mean(column) for column in zip(*found, strict=True)))
        for after, found in rows.items()
    ]


def _observe(lab: Lab, own: int, rows: dict[int, list[tuple[float, ...]]], known: int) -> None:
    table, pings = RttTable(), 0
    others = [one for one in range(lab.size) if one != own]
    numbers = near_and_others(
        others, lambda one: lab.site(one) == lab.site(own), known, lab.random.sample
    )
    targets = [lab.target(one) for one in numbers]
    nearest = sorted(lab.rtt(own, one) for one in range(lab.size) if one != own)[:BOOKED]
    last = max(rows)
    for period in range(last * 60 // PING_EVERY + 1):
        now = float(period * PING_EVERY)
        minute, rest = divmod(period * PING_EVERY, 60)
        if minute in rows and not rest and period:
            rows[minute].append(
                (
                    *_quality(lab, own, table, targets, now),
                    mean(nearest),
                    pings / minute,
                    _extra(table, targets, now),
                )
            )
        for one in table.next_targets(targets, now, lab.random.random):
            pings += 1
            table.record(one, lab.sample(own, int(one.peer[1:])), now)


def _extra(table: RttTable, targets: Sequence[RttTarget], now: float) -> int:
    return len(table.for_booking(targets, BOOKED, now))


def _quality(
    lab: Lab, own: int, table: RttTable, targets: Sequence[RttTarget], now: float
) -> tuple[float, float, float]:
    """Return recall, round trip and the best one, for a booking now; nothing is kept of it."""
    measured = {
        one.peer: min(lab.sample(own, int(one.peer[1:])) for _ in range(2))
        for one in table.for_booking(targets, BOOKED, now)
    }
    chosen = sorted(
        targets, key=lambda one: min(measured.get(one.peer, 9.0), table.measured(one.peer, now))
    )[:BOOKED]
    best = sorted(lab.rtt(own, int(one.peer[1:])) for one in targets)[:BOOKED]
    found = [lab.rtt(own, int(one.peer[1:])) for one in chosen]
    return sum(one <= best[-1] + 0.0005 for one in found) / len(found), mean(found), mean(best)
