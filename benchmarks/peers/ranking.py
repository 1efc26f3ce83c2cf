"""How near the hosts are that a user books, who measures all that a supernode has told of."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from benchmarks.peers.lab import Lab
from runtime.peers.booking import Demand
from runtime.peers.latency import near_and_others
from runtime.peers.submission.lab import FEWEST_HOSTS

BOOKED = 50
"""Hosts that are booked."""


@dataclass(frozen=True)
class RankingFound:
    """What users book, in the mean over several ones.

    A user is told of `told` hosts. `recall` is which share of the booked ones are among the nearest
    of these, give or take 0.5 ms; `rtt` is their mean round trip, `best` that of the nearest of
    those told of, `best_of_all` that of the nearest of the lab.
    """

    peers: int
    told: int
    recall: float
    rtt: float
    best: float
    best_of_all: float


def ranking(peers: int, users: int = 10) -> RankingFound:
    """Let some users measure the hosts that a supernode tells them of, and book the nearest."""
    lab = Lab(peers)
    told = min(peers - 1, max(FEWEST_HOSTS, 2 * Demand(BOOKED, 1).overbooked))
    rows = [_booked(lab, lab.random.randrange(peers), told) for _ in range(users)]
    return RankingFound(peers, told, *(mean(column) for column in zip(*rows, strict=True)))


def _booked(lab: Lab, own: int, told: int) -> tuple[float, ...]:
    others = [one for one in range(lab.size) if one != own]
    known = near_and_others(
        others, lambda one: lab.site(one) == lab.site(own), told, lab.random.sample
    )
    samples = {one: lab.sample(own, one) for one in known}
    found = [lab.rtt(own, one) for one in sorted(samples, key=samples.__getitem__)[:BOOKED]]
    best = sorted(lab.rtt(own, one) for one in known)[:BOOKED]
    best_of_all = sorted(lab.rtt(own, one) for one in others)[:BOOKED]
    recall = mean(one <= best[-1] + 0.0005 for one in found)
    return recall, mean(found), mean(best), mean(best_of_all)
