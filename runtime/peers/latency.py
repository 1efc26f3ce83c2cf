"""Round trips between peers: estimates, what to measure next, and which hosts make a site. Pure.

What that costs does not depend on how many peers there are: a few measurements in each period, and
a bounded table. Hosts of networks of which nothing is known (see `network_of`) come first.
A supernode that cannot tell all hosts tells near ones and others.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network
from itertools import islice
from typing import TypeVar

from gcm.records import dataclass

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


@lru_cache(4096)
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


NEAR = 0.003
"""Hosts whose round trip is no longer than this belong together, in seconds."""

SUBMITTER = ""
"""The name under which distances have the host that submits."""


class Distances:
    """Round trips between hosts in seconds, as far as anybody has measured them.

    >>> lab = Distances()
    >>> for one, other, rtt in (("", "lyon1", 0.0105), ("", "rennes1", 0.0116), ("", "pc", 0.0004)):
    ...     lab.learn(one, other, rtt)
    >>> lab.are_near("pc", "lyon1"), lab.are_near("lyon1", "rennes1")
    (False, None)
    >>> lab.learn("rennes1", "lyon1", 0.019)
    >>> lab.are_near("lyon1", "rennes1")
    False
    """

    def __init__(self) -> None:
        self._from: dict[str, dict[str, float]] = {}

    def learn(self, one: str, other: str, rtt: float) -> None:
        """Take note of a round trip; the shortest one counts, whoever has measured it."""
        for here, there in ((one, other), (other, one)):
            known = self._from.setdefault(here, {})
            known[there] = min(rtt, known.get(there, rtt))

    def are_near(self, one: str, other: str) -> bool | None:
        """Tell whether two hosts are near each other; None where that is not known.

        Where nobody has measured the way between them, the triangle inequality tells what their
        distances from a third host say.
        """
        here, there = self._from.get(one, {}), self._from.get(other, {})
        if other in here:
            return here[other] <= NEAR
        thirds = here.keys() & there.keys()
        if any(here[third] + there[third] <= NEAR for third in thirds):
            return True
        if any(abs(here[third] - there[third]) > NEAR for third in thirds):
            return False
        return None


NearTo = Callable[[str, Sequence[str]], Iterable[str]]
"""Which of some hosts are near the first host of a site."""


class Sites:
    """The site of each host: those that are near its first host, whose name is the site's.

    Who has a site keeps it, so that the sites of a run do not change while places are looked for.

    >>> sites = Sites()
    >>> sites.place(["a1", "b1", "a2"], lambda first, rest: [x for x in rest if x[0] == first[0]])
    >>> sites.of
    {'a1': 'a1', 'a2': 'a1', 'b1': 'b1'}
    """

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def place(self, hosts: Iterable[str], near_to: NearTo) -> None:
        """Give a site to each host that has none; the nearest host comes first."""
        rest = [one for one in hosts if one not in self.of]
        for first in dict.fromkeys(self.of.values()):
            rest = self._gathered(first, rest, near_to)
        while rest:
            first, *rest = rest
            self.of[first] = first
            rest = self._gathered(first, rest, near_to)

    def _gathered(self, first: str, rest: list[str], near_to: NearTo) -> list[str]:
        """Put those near the first host of a site into it; return the others."""
        near = set(near_to(first, rest)) if rest else set()
        self.of |= {one: first for one in rest if one in near}
        return [one for one in rest if one not in near]


def sites_as_far_as_known(from_here: Mapping[str, float], between: Distances) -> list[list[str]]:
    """Return the sites, the nearest first, and their hosts, the nearest first.

    Nobody is asked: two hosts that are equally far away are taken to be near each other, unless the
    distances between hosts say something else.

    >>> sites_as_far_as_known({"b": 0.010, "a": 0.001, "c": 0.0115}, Distances())
    [['a'], ['b', 'c']]
    """
    for name, rtt in from_here.items():
        between.learn(SUBMITTER, name, rtt)
    sites = Sites()
    sites.place(
        sorted(from_here, key=lambda one: (from_here[one], one)),
        lambda first, rest: [one for one in rest if between.are_near(first, one) is not False],
    )
    found: dict[str, list[str]] = {}
    for name, first in sorted(sites.of.items(), key=lambda one: (from_here[one[0]], one[0])):
        found.setdefault(first, []).append(name)
    return list(found.values())


T = TypeVar("T")


def near_and_others(
    hosts: Sequence[T],
    is_near: Callable[[T], bool],
    most: int,
    sample: Callable[[Sequence[T], int], list[T]],
) -> list[T]:
    """Return `most` of the hosts: up to half of them near ones, the others by chance.

    Without the near ones somebody in a lab of 10⁵ would hear of one host of its own network; those
    that are drawn by chance show it other networks that may be near. `sample` is `random.sample`.

    >>> near_and_others(range(100), lambda one: one < 30, 4, lambda some, count: list(some)[:count])
    [0, 1, 30, 31]
    """
    if len(hosts) <= most:
        return list(hosts)
    near = [one for one in hosts if is_near(one)]
    others = [one for one in hosts if not is_near(one)]
    count = max(min(len(near), most // 2), most - len(others))
    return [*sample(near, count), *sample(others, most - count)]
