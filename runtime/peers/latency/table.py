"""Round trips to other peers: what is known of them, and whom to measure next.

What that costs does not depend on how many peers there are: a few measurements in each period, and
a bounded table. Hosts of networks of which nothing is known (see `network_of`) come first.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_network
from itertools import islice

from gcm.records import dataclass

__all__ = ["RttSettings", "RttTable", "RttTarget", "network_of"]

UNKNOWN = float("inf")


@dataclass(frozen=True, slots=True)
class RttSettings:
    """What is measured and kept; times in seconds.

    In each period up to `refreshed` of the `nearest` peers are measured whose last sample is older
    than `fresh`, and `explored` others. The estimate is the minimum of the last `samples` that are
    not older than `window`. `most` peers and as many networks are kept at most.
    """

    nearest: int = 16
    refreshed: int = 4
    explored: int = 4
    fresh: float = 120.0
    samples: int = 8
    window: float = 900.0
    most: int = 512


@dataclass(frozen=True, slots=True)
class RttTarget:
    """A peer that may be measured, and the network it is in."""

    peer: str
    network: str = ""


_PREFIXES = {4: 24, 6: 64}


def network_of(host: str) -> str:
    """Return the network of an address; of a host name, its domain.

    >>> network_of("10.1.2.3"), network_of("2001:db8::1"), network_of("pc7.lab.example.org")
    ('10.1.2.0/24', '2001:db8::/64', 'lab.example.org')
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host.partition(".")[2] or host
    return str(ip_network(f"{address}/{_PREFIXES[address.version]}", strict=False))


class RttTable:
    """The round trips that one peer has measured."""

    def __init__(self, settings: RttSettings | None = None) -> None:
        self.settings = settings or RttSettings()
        # Both in the order of the last measurement, the oldest first.
        self._samples: OrderedDict[str, deque[tuple[float, float]]] = OrderedDict()
        self._networks: OrderedDict[str, float] = OrderedDict()

    def record(self, target: RttTarget, rtt: float, now: float) -> None:
        """Note a round trip of so many seconds."""
        samples = self._samples.setdefault(target.peer, deque(maxlen=self.settings.samples))
        samples.append((now, rtt))
        self._samples.move_to_end(target.peer)
        if target.network:
            before = self._networks.get(target.network, rtt)
            self._networks[target.network] = before + (rtt - before) / 4
            self._networks.move_to_end(target.network)
        self._forget_surplus(now)

    def forget(self, peer: str) -> None:
        """Forget a peer that has left or does not answer."""
        self._samples.pop(peer, None)

    def measured(self, peer: str, now: float) -> float:
        """Return the estimate for a peer, infinity for one that was not measured lately."""
        oldest = now - self.settings.window
        samples = self._samples.get(peer, ())
        return min((rtt for when, rtt in samples if when >= oldest), default=UNKNOWN)

    def is_fresh(self, peer: str, now: float) -> bool:
        """Tell whether a peer was measured lately.

        One with few samples is measured again sooner: they may all have been late.
        """
        samples = self._samples.get(peer)
        if samples is None:
            return False
        share = len(samples) / self.settings.samples
        return samples[-1][0] > now - self.settings.fresh * share**2

    def next_targets(
        self, targets: Sequence[RttTarget], now: float, random: Callable[[], float]
    ) -> list[RttTarget]:
        """Return whom to measure in this period; `random` returns numbers from 0 to 1.

        The nearest that are no longer fresh, and a few others: first those of networks of which
        nothing is known.
        """
        settings = self.settings
        drawn = {
            one.peer: one
            for one in (
                targets[int(random() * len(targets))]
                for _ in range(4 * settings.explored if targets else 0)
            )
            if not self.is_fresh(one.peer, now)
        }
        strange = sorted(drawn.values(), key=lambda one: one.network in self._networks)
        return [*self._stale_neighbours(now), *strange[: settings.explored]]

    def _stale_neighbours(self, now: float) -> list[RttTarget]:
        nearest = sorted(self._samples, key=lambda peer: self.measured(peer, now))
        stale = [peer for peer in nearest[: self.settings.nearest] if not self.is_fresh(peer, now)]
        return [RttTarget(peer) for peer in stale[: self.settings.refreshed]]

    def _forget_surplus(self, now: float) -> None:
        """Forget the farthest of those that were measured longest ago: peers, and networks."""
        most = self.settings.most
        while len(self._samples) > most:
            oldest = islice(self._samples, most // 2)
            del self._samples[max(oldest, key=lambda peer: self.measured(peer, now))]
        while len(self._networks) > most:
            networks = islice(self._networks, most // 2)
            del self._networks[max(networks, key=self._networks.__getitem__)]

    def __len__(self) -> int:
        """Return how many peers and networks something is known of."""
        return len(self._samples) + len(self._networks)
