"""Puts booked hosts that are near each other into one site, by their distances from the asker."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NEAR", "grouped_by_distance"]

NEAR = 0.003
"""Hosts whose round trips differ by no more than this belong together, in seconds."""


def grouped_by_distance(distances: Mapping[str, float], near: float = NEAR) -> list[list[str]]:
    """Return the sites, the nearest first, and their hosts, the nearest first.

    Two whose distances differ by much cannot be near each other (the triangle inequality). Two
    that are equally far away are taken to be near each other.

    >>> grouped_by_distance({"b": 0.010, "a": 0.001, "c": 0.0115})
    [['a'], ['b', 'c']]
    """
    sites: list[list[str]] = []
    for peer in sorted(distances, key=lambda one: (distances[one], one)):
        if sites and distances[peer] - distances[sites[-1][0]] <= near:
            sites[-1].append(peer)
        else:
            sites.append([peer])
    return sites
