"""The effects of a reservation client: calls of peers, searches, and how a booking ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from gcm.records import dataclass
from runtime.peers.booking.allocation import Demand
from runtime.peers.booking.strategies import Allocation, BookingError
from runtime.peers.model import Key
from runtime.shown_text import listed


@dataclass(frozen=True, slots=True)
class AskPlaces:
    """Call `reserve` of a peer; tell `answered` or `unreachable`."""

    peer: str
    key: Key
    processes: int
    lease: float


@dataclass(frozen=True, slots=True)
class RenewPlaces:
    """Call `renew` of a peer; tell `renewed`."""

    peer: str
    key: Key
    lease: float


@dataclass(frozen=True, slots=True)
class ReleasePlaces:
    """Call `release` of a peer, or end the connection if a job was begun with the key.

    Whether that works does not matter, as leases end by themselves.
    """

    peer: str
    key: Key


@dataclass(frozen=True, slots=True)
class NeedHosts:
    """Look for more hosts, and for what has become of those that are known; tell `known`."""

    hosts: int


@dataclass(frozen=True, slots=True)
class HostSilent:
    """A peer did not answer in time: the host table may mark it dead."""

    peer: str


@dataclass(frozen=True, slots=True)
class BookedHost:
    """A host with the ranks it is to run, and the key with which they are launched there."""

    allocation: Allocation
    key: Key


@dataclass(frozen=True, slots=True)
class Booked:
    """All places are there, the best host first. Everything else was released.

    Said again when a host was lost and another one found. Keys that were there before stay, and
    what is being launched with them is not launched again, as a key is used once.
    """

    hosts: tuple[BookedHost, ...]


@dataclass(frozen=True, slots=True)
class BookingFailed:
    """The strategy has decided what cannot be. Everything was released."""

    error: BookingError


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Not enough was found until the search ended. Everything was released.

    `found` places of `hosts` peers were offered in the last round; `refusals` has for each other
    peer that was asked why it has none; `known` is the number of all that are known.
    """

    demand: Demand
    found: int
    hosts: int
    known: int
    refusals: Mapping[str, str]
    waited: float

    def __str__(self) -> str:
        """Return what was found, what is missing, and why, one reason in each line."""
        demand, missing = self.demand, self.demand.places - self.found
        lines = [
            f"{demand.places} places for {_count(demand.ranks, 'process', 'es')} with "
            f"{_count(demand.replicas, 'replica')} each were not found in {self.waited:.1f} s: "
            f"{_count(self.hosts, 'host')} offered {self.found}, "
            f"{missing} {'is' if missing == 1 else 'are'} missing"
        ]
        if not self.known:
            lines.append("no other peer is known")
        peers = defaultdict(list)
        for peer, why in self.refusals.items():
            peers[why].append(peer)
        for why, names in sorted(peers.items(), key=lambda one: (-len(one[1]), one[0])):
            lines.append(f"{listed(sorted(names))}: {why}")
        return "\n".join(lines)

    @property
    def cure(self) -> str:
        """What may help: waiting does not where the lab has too few hosts, or all lend theirs."""
        replicas = self.demand.replicas
        more = "let more hosts join (gcm-peer boot)"
        if self.known < replicas:
            hosts = _count(self.known, "host") + (" is" if self.known == 1 else " are")
            words = f"each replica of a rank needs a host of its own, and {hosts} known: {more}"
            words += f", or ask for fewer (-r {self.known})" if self.known else ""
        else:
            fewer = "fewer replicas (-r) or ranks (-n)" if replicas > 1 else "fewer ranks (-n)"
            longer = "" if 0 < self.known == self.hosts else ", wait longer (-w SECONDS)"
            words = f"ask for {fewer}{longer}, or {more}"
        return f"{words[0].upper()}{words[1:]}; gcm-peer hosts shows what each one lends"


def _count(number: int, word: str, ending: str = "s") -> str:
    return f"{number} {word}{'' if number == 1 else ending}"


ReservationEffect = (
    AskPlaces
    | RenewPlaces
    | ReleasePlaces
    | NeedHosts
    | HostSilent
    | Booked
    | BookingFailed
    | Shortfall
)
