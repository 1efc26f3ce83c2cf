"""What a booking is about: hosts that offer places, and which copy of which rank is put where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from gcm.records import dataclass
from runtime.peers.errors import PeerError

T = TypeVar("T")


class BookingError(PeerError):
    """A booking cannot be made as it was asked for."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A host that may run `places` processes of one application.

    `rtt` is the round trip to it in seconds; hosts of one `site` are near each other.
    """

    peer: str
    places: int
    rtt: float = 0.0
    site: str = ""


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


def nearest_first(offers: list[Offer]) -> list[Offer]:
    """Return the offers by round trip; those of one round trip by name.

    >>> [one.peer for one in nearest_first([Offer("b", 1, 0.2), Offer("c", 1, 0.1)])]
    ['c', 'b']
    """
    return sorted(offers, key=lambda one: (one.rtt, one.site, one.peer))
