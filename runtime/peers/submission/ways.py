"""The ways between peers: each one tries to reach the others before anything is launched there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from gcm.records import dataclass
from runtime.peers.contracts import Reservation
from runtime.peers.errors import PeerError
from runtime.peers.model import Address
from runtime.peers.submission.lab import Lab

TRIED_WITHIN = 20.0
"""Seconds for a peer to try all ways to others."""

AT_A_TIME = 32


@dataclass(frozen=True, slots=True)
class ClosedWay:
    """One peer does not reach another one where it says it is."""

    source: str
    target: str
    address: Address
    why: str

    def __str__(self) -> str:
        """Say what is closed.

        >>> str(ClosedWay("a", "b", Address("lab7", 7701), "no answer"))
        'a does not reach b at lab7:7701: no answer'
        """
        return f"{self.source} does not reach {self.target} at {self.address}: {self.why}"


@dataclass(frozen=True, slots=True)
class PeerWays:
    """What peers have found; `silent` says of those that have not tried why."""

    closed: tuple[ClosedWay, ...]
    silent: Mapping[str, str]

    @property
    def one_way(self) -> tuple[ClosedWay, ...]:
        """The closed ways whose other direction is open, so that messages go directly."""
        apart = {one for pair in self.apart for one in pair}
        return tuple(one for one in self.closed if one not in apart)

    @property
    def apart(self) -> tuple[tuple[ClosedWay, ClosedWay], ...]:
        """The pairs none of which reaches the other one."""
        found = {(one.source, one.target): one for one in self.closed}
        return tuple(
            (one, found[target, source])
            for (source, target), one in found.items()
            if source < target and (target, source) in found
        )

    def given_up(self, order: Sequence[str]) -> dict[str, str]:
        """Return the fewest peers without which all others reach each other, and why.

        The peer with most closed pairs goes first, of several the last one in `order`.

        >>> at = Address("x", 7701)
        >>> ways = [ClosedWay(a, b, at, "no") for a, b in ("ab", "ba", "bc", "cb")]
        >>> list(PeerWays(tuple(ways), {}).given_up("abc"))
        ['b']
        """
        gone = {peer: f"it cannot try to reach the others: {why}" for peer, why in
                self.silent.items() if peer in order}  # fmt: skip
        left = [one for one in self.apart if not {one[0].source, one[0].target} & set(gone)]
        while left:
            counts = Counter(end for one, _ in left for end in (one.source, one.target))
            worst = max(counts, key=lambda peer: (counts[peer], order.index(peer)))
            first = next(pair for pair in left if worst in (pair[0].source, pair[0].target))
            gone[worst] = "; ".join(map(str, first)) + f"; open {opened(first)}"
            left = [one for one in left if worst not in (one[0].source, one[0].target)]
        return gone


def opened(pair: Iterable[ClosedWay]) -> str:
    """Return what to open, so that one direction of a pair works."""
    return " or ".join(f"TCP to {one.address} from {one.source}" for one in pair)


def ways_between(lab: Lab, peers: Sequence[str]) -> PeerWays:
    """Let each of these peers try to reach all others."""
    silent: dict[str, str] = {}

    def closed_from(source: str) -> list[ClosedWay]:
        others = [one for one in peers if one != source]
        try:
            service = lab.service(source, Reservation, TRIED_WITHIN)
            answers = service.reach(lab.me, [lab.peers[one].plain() for one in others])
        except PeerError as fault:
            silent[source] = " ".join(str(fault).split())
            return []
        return [
            ClosedWay(source, target, lab.peers[target].addresses[0], str(why))
            for target, why in zip(others, answers, strict=False)
            if why
        ]

    if len(peers) < 2:
        return PeerWays((), {})
    with ThreadPoolExecutor(min(AT_A_TIME, len(peers)), "ways") as threads:
        found = [one for ways in threads.map(closed_from, peers) for one in ways]
    return PeerWays(tuple(found), silent)
