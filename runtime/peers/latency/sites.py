"""Puts booked hosts that are near each other into one site, by measuring as little as possible.

The asker knows how far each host is from itself. Two hosts that are both very near to it are near
each other, and two whose distances differ by much cannot be (the triangle inequality); only what
lies between has to be measured, each time by one host, its leader, to those that may belong to it.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NEAR", "SiteGrouping", "grouped_by_distance"]

NEAR = 0.003
"""Hosts whose round trip is no longer than this belong together, in seconds."""


class SiteGrouping:
    """Groups hosts round by round, until `wanted` is empty.

    >>> grouping = SiteGrouping({"a": 0.0002, "b": 0.0004, "x": 0.0101, "y": 0.0102, "z": 0.0103})
    >>> grouping.wanted()
    {'x': ['y', 'z']}
    >>> grouping.measured("x", {"y": 0.0005, "z": 0.0204})
    >>> grouping.wanted(), grouping.sites()
    ({}, [['a', 'b'], ['x', 'y'], ['z']])
    """

    def __init__(self, distances: Mapping[str, float], near: float = NEAR) -> None:
        self._near = near
        self._distances = distances
        self._open = sorted(distances, key=lambda peer: (distances[peer], peer))
        self._sites: list[list[str]] = []
        self._asked: list[str] = []
        self._found: dict[str, float] = {}
        self._close()

    def wanted(self) -> dict[str, list[str]]:
        """Return which host has to measure the round trips to which others, if any."""
        missing = [one for one in self._asked if one not in self._found]
        return {self._open[0]: missing} if missing else {}

    def measured(self, leader: str, round_trips: Mapping[str, float | None]) -> None:
        """Note what a leader has measured; None where nobody answered.

        For those that are left out the distances decide, as they do where a leader cannot measure.
        """
        if not self._open or leader != self._open[0]:
            return
        for peer in self._asked:
            rtt = round_trips.get(peer)
            if rtt is None:
                rtt = abs(self._distances[peer] - self._distances[leader])
            self._found[peer] = rtt
        self._close()

    def sites(self) -> list[list[str]]:
        """Return the sites, the nearest first, and their hosts, the nearest first."""
        return [list(site) for site in self._sites]

    def _close(self) -> None:
        """Close all sites that can be told by now; what is left needs to be measured."""
        while self._open:
            leader = self._open[0]
            sure, perhaps = self._candidates(leader)
            if any(one not in self._found for one in perhaps):
                self._asked = perhaps
                return
            site = {leader, *sure, *(one for one in perhaps if self._found[one] <= self._near)}
            self._sites.append([one for one in self._open if one in site])
            self._open = [one for one in self._open if one not in site]
            self._asked, self._found = [], {}

    def _candidates(self, leader: str) -> tuple[list[str], list[str]]:
        """Return who is certainly near a leader, and who may be."""
        own = self._distances[leader]
        sure, perhaps = [], []
        for other in self._open[1:]:
            far = self._distances[other]
            if own + far <= self._near:
                sure.append(other)
            elif far - own <= self._near:
                perhaps.append(other)
        return sure, perhaps


def grouped_by_distance(distances: Mapping[str, float], near: float = NEAR) -> list[list[str]]:
    """Return the sites as far as the distances alone can tell them.

    >>> grouped_by_distance({"a": 0.001, "b": 0.010, "c": 0.0115})
    [['a'], ['b', 'c']]
    """
    grouping = SiteGrouping(distances, near)
    while wanted := grouping.wanted():
        for leader in wanted:
            grouping.measured(leader, {})
    return grouping.sites()
