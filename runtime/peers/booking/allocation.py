"""From hosts that have said yes to the ranks that each of them runs."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log2
from typing import TypeVar

from gcm.records import dataclass
from runtime.peers.booking.strategies import (
    Allocation,
    BookingError,
    Copy,
    Offer,
    Strategy,
    best_first,
    by_site,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Demand:
    """What a user asks for: `ranks` processes (N) with `replicas` copies of each (R).

    >>> Demand(100).places, Demand(100).overbooked, Demand(1).overbooked
    (100, 120, 1)
    """

    ranks: int
    replicas: int = 1

    def __post_init__(self) -> None:
        """Refuse what nobody can book; raises BookingError."""
        for count, name in ((self.ranks, "processes"), (self.replicas, "replicas")):
            if count < 1:
                raise BookingError(f"{count} {name} cannot be booked", cure="Ask for one at least")

    @property
    def places(self) -> int:
        """The processes in all: N·R."""
        return self.ranks * self.replicas

    @property
    def overbooked(self) -> int:
        """How many hosts are asked: N·R + ⌈3·log2(N·R)⌉, as some of them will say no."""
        return self.places + _ceiling(3 * log2(self.places))


def _ceiling(number: float) -> int:
    return -int(-number // 1)


def missing(offers: Sequence[Offer], demand: Demand) -> int:
    """Return how many places the offers lack; none are lacking if the booking is feasible.

    A host counts for N places at most, since it must not run two copies of a rank. That is also why
    hosts with enough places in all are at least R hosts.

    >>> missing([Offer("a", 8), Offer("b", 3)], Demand(ranks=4, replicas=2))
    1
    """
    return max(0, demand.places - sum(min(one.places, demand.ranks) for one in offers))


def allocate(offers: Sequence[Offer], demand: Demand, strategy: Strategy) -> list[Allocation]:
    """Return the hosts that are needed with their ranks: the best first, site by site.

    Ranks are handed out along the hosts, 0 to N-1 and again for each replica. As no host gets more
    than N processes, none gets two copies of a rank; nor does a site, if it has at most N.

    >>> from runtime.peers.booking.strategies import ConcentrateStrategy
    >>> for one in allocate([Offer("a", 2), Offer("b", 9)], Demand(2, 2), ConcentrateStrategy()):
    ...     print(one.offer.peer, [(copy.rank, copy.replica) for copy in one.copies])
    a [(0, 0), (1, 0)]
    b [(0, 1), (1, 1)]

    Raises:
        BookingError: places are missing, or the strategy does not keep to its contract.
    """
    lacking = missing(offers, demand)
    if lacking:
        raise BookingError(
            f"{lacking} of {demand.places} places are missing: no host runs two copies of a rank"
        )
    chosen = [
        replace(one, places=min(one.places, demand.ranks)) for one in in_order(offers, strategy)
    ]
    chosen = best_first(chosen[: demand.places])
    placed = _asked(strategy, "place", lambda: strategy.place(chosen, demand.places))
    counts = _checked(placed, chosen, demand, strategy)
    found, at = [], 0
    hosts = zip(chosen, counts, strict=True)
    for offer, count in by_site(hosts, lambda host: host[0]):
        copies = tuple(
            Copy(number % demand.ranks, number // demand.ranks)
            for number in range(at, at + count)
        )  # fmt: skip
        at += count
        if count:
            found.append(Allocation(offer, copies))
    return found


def in_order(offers: Sequence[Offer], strategy: Strategy) -> list[Offer]:
    """Return the offers in the order of a strategy; raises BookingError if it has none."""
    found = _asked(strategy, "order", lambda: strategy.order(offers))
    if Counter(found) != Counter(offers):
        raise BookingError(
            f"strategy '{_name(strategy)}' decided what cannot be",
            cause=f"'order' returned {len(found)} hosts for {len(offers)}, or others",
            cure="'order' returns all hosts that it was given, each once",
        )
    return found


def _asked(strategy: Strategy, method: str, call: Callable[[], Sequence[T]]) -> list[T]:
    try:
        return list(call())
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise BookingError(
            f"strategy '{_name(strategy)}' failed in '{method}'",
            place=f"{at.filename}:{at.lineno}",
            cause=f"{type(error).__name__}: {error}",
        ) from error


def _name(strategy: Strategy) -> str:
    return f"{type(strategy).__module__}.{type(strategy).__qualname__}"


def _checked(
    counts: Sequence[int], offers: Sequence[Offer], demand: Demand, strategy: Strategy
) -> Sequence[int]:
    """Return what a strategy has decided, if it has kept to its contract."""
    faults = []
    if len(counts) != len(offers):
        faults.append(f"it returned {len(counts)} numbers for {len(offers)} hosts")
    for count, offer in zip(counts, offers, strict=False):
        if not 0 <= count <= offer.places:
            faults.append(f"it gave {count} processes to {offer.peer}, which has {offer.places}")
    if sum(counts) != demand.places:
        faults.append(f"it placed {sum(counts)} of {demand.places} processes")
    if faults:
        raise BookingError(
            f"strategy '{_name(strategy)}' decided what cannot be",
            cause="\n".join(faults),
            cure="'place' returns a number for each host, at most its places, in all the processes",
        )
    return counts
