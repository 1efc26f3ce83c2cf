"""Hosts that offer places, and how many processes each gets: spread, concentrate, mixed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Protocol, TypeVar

from gcm.records import dataclass
from runtime.peers.errors import PeerError

T = TypeVar("T")


class BookingError(PeerError):
    """A booking cannot be made as it was asked for."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A host that may run `places` processes of one application.

    `rtt` is the round trip to it in seconds; hosts of one `site` are near each other. `busy` is its
    load for each core, rounded to a tenth, where the run goes by that; else 0.
    """

    peer: str
    places: int
    rtt: float = 0.0
    site: str = ""
    busy: float = 0.0


@dataclass(frozen=True, slots=True)
class Copy:
    """One replica of a rank."""

    rank: int
    replica: int = 0


@dataclass(frozen=True, slots=True)
class Allocation:
    """Which copies a host runs."""

    offer: Offer
    copies: tuple[Copy, ...]


def by_site(offers: Iterable[T], offer: Callable[[T], Offer]) -> list[T]:
    """Return things with offers so that those of one site follow each other, else as they come.

    >>> mixed = [Offer("a", 1, 0.1, "near"), Offer("x", 1, 0.2, "far"), Offer("b", 1, 0.3, "near")]
    >>> [one.peer for one in by_site(mixed, lambda one: one)]
    ['a', 'b', 'x']
    """
    sites: dict[str, list[T]] = {}
    for one in offers:
        sites.setdefault(offer(one).site, []).append(one)
    return [one for site in sites.values() for one in site]


def best_first(offers: list[Offer]) -> list[Offer]:
    """Return the offers: idle ones first where their load counts, then near ones; then by name.

    >>> [one.peer for one in best_first([Offer("b", 1, 0.2), Offer("c", 1, 0.1)])]
    ['c', 'b']
    >>> [one.peer for one in best_first([Offer("b", 1, 0.2), Offer("c", 1, 0.1, busy=0.9)])]
    ['b', 'c']
    """
    return sorted(offers, key=lambda one: (one.busy, one.rtt, one.site, one.peer))


class Strategy(Protocol):
    """Decides which hosts are asked first, and how many processes each one gets.

    A class of your own is named `module.Class`; it is constructed without arguments:

        class Alternate(SpreadStrategy):
            def place(self, offers, processes): ...
    """

    def order(self, offers: Sequence[Offer]) -> Sequence[Offer]:
        """Return all offers in the order in which the hosts are asked and chosen."""

    def place(self, offers: Sequence[Offer], processes: int) -> Sequence[int]:
        """Return the number of processes of each host, in the order of `offers`.

        The best host comes first. No host gets more than its `places`, which are enough in all.
        """


class _BestFirst:
    """Asks idle hosts first where their load counts, then near ones."""

    def order(self, offers: Sequence[Offer]) -> Sequence[Offer]:
        """Return the offers, the best first."""
        return best_first(list(offers))


class SpreadStrategy(_BestFirst):
    """As few processes on a host as possible: most memory for each."""

    def place(self, offers: Sequence[Offer], processes: int) -> Sequence[int]:
        """Give one process to each host in turn, until all are placed.

        >>> SpreadStrategy().place([Offer("a", 3), Offer("b", 1), Offer("c", 3)], 5)
        [2, 1, 2]
        """
        return _in_turn([one.places for one in offers], processes)


class ConcentrateStrategy(_BestFirst):
    """As few hosts as possible: most locality."""

    def place(self, offers: Sequence[Offer], processes: int) -> Sequence[int]:
        """Fill the best host, then the next one.

        >>> ConcentrateStrategy().place([Offer("a", 3), Offer("b", 1), Offer("c", 3)], 5)
        [3, 1, 1]
        """
        placed = []
        for one in offers:
            placed.append(min(one.places, processes))
            processes -= placed[-1]
        return placed


class MixedStrategy:
    """All sites have the same share, and as few hosts as possible in each."""

    def order(self, offers: Sequence[Offer]) -> Sequence[Offer]:
        """Return the best host of each site, then the second one of each, and so on.

        >>> far = [Offer(name, 1, 0.2, "far") for name in "xy"]
        >>> near = [Offer(name, 1, 0.1, "near") for name in "abc"]
        >>> "".join(one.peer for one in MixedStrategy().order(far + near))
        'axbyc'
        """
        rounds = zip_longest(*_sites(best_first(list(offers))).values())
        return [one for each in rounds for one in each if one is not None]

    def place(self, offers: Sequence[Offer], processes: int) -> Sequence[int]:
        """Give one process to each site in turn; inside a site fill the best host first.

        >>> MixedStrategy().place([Offer("a", 4), Offer("b", 4), Offer("x", 2, site="far")], 6)
        [4, 0, 2]
        """
        sites = _sites(offers)
        shares = _in_turn([sum(one.places for one in site) for site in sites.values()], processes)
        placed: dict[str, int] = {}
        for site, share in zip(sites.values(), shares, strict=True):
            inside = ConcentrateStrategy().place(site, share)
            placed.update((one.peer, count) for one, count in zip(site, inside, strict=True))
        return [placed[one.peer] for one in offers]


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "spread": SpreadStrategy,
    "scatter": SpreadStrategy,
    "concentrate": ConcentrateStrategy,
    "gather": ConcentrateStrategy,
    "mixed": MixedStrategy,
}
"""What users call them; a strategy of one's own is `module.Class`."""


def _in_turn(places: Sequence[int], processes: int) -> list[int]:
    """Give one to each in turn who has places left, until there are no more to give."""
    placed = [0] * len(places)
    while processes > 0:
        before = processes
        for at, most in enumerate(places):
            if processes and placed[at] < most:
                placed[at] += 1
                processes -= 1
        if processes == before:
            break
    return placed


def _sites(offers: Sequence[Offer]) -> dict[str, list[Offer]]:
    sites: dict[str, list[Offer]] = {}
    for one in offers:
        sites.setdefault(one.site, []).append(one)
    return sites
