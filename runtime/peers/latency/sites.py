"""Puts hosts that are near each other into one site, by the round trips between them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["ASKER", "NEAR", "Distances", "Sites", "sites_as_far_as_known"]

NEAR = 0.003
"""Hosts whose round trip is no longer than this belong together, in seconds."""

ASKER = ""
"""How distances call the host that asks."""


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
        between.learn(ASKER, name, rtt)
    sites = Sites()
    sites.place(
        sorted(from_here, key=lambda one: (from_here[one], one)),
        lambda first, rest: [one for one in rest if between.are_near(first, one) is not False],
    )
    found: dict[str, list[str]] = {}
    for name, first in sorted(sites.of.items(), key=lambda one: (from_here[one[0]], one[0])):
        found.setdefault(first, []).append(name)
    return list(found.values())
