"""Folds components that are alike, and bound alike, into one box."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from gcm.drawing.scene import THIS, Box, PortFinder, SceneLink

LEAST = 3
"""Fewer than this are drawn one by one."""
LEAST_BOUND = 12
"""Fewer than this are drawn one by one where they are bound to each other, or each to another."""


class _Use(NamedTuple):
    """How a link touches a component: with which of its ports, as which end, and what is there."""

    port: str
    is_client: bool
    other: tuple[str, str]


def folded(box: Box) -> Box:
    """Return the box with its alike children folded, those of the children and so on.

    Children are alike when only their names tell them apart and they are bound to the same
    interfaces; many are also alike when what they are bound to looks alike, as in a ring, or in
    pairs of a client and a server. The folded one keeps the name of the first.

    >>> ranks = tuple(Box(f"rank{number}") for number in range(12))
    >>> folded(Box("cluster", children=ranks, kind="composite")).children[0].title
    '12 × rank0 … rank11'
    """
    children = tuple(folded(child) for child in box.children)
    membrane = folded(box.membrane) if box.membrane is not None else None
    uses = _uses(box)
    numbers: dict[Box, int] = {}
    looks = {
        child.name: numbers.setdefault(replace(child, name=""), len(numbers)) for child in children
    }
    same = _grouped({name: (look, uses.get(name)) for name, look in looks.items()}, LEAST)
    alike = _grouped(_roles(looks, uses), LEAST_BOUND)
    first_of = same | alike
    names: dict[str, list[str]] = defaultdict(list)
    for name, first in first_of.items():
        names[first].append(name)
    return replace(
        box,
        children=tuple(
            replace(child, members=tuple(names[child.name])) if child.name in names else child
            for child in children
            if first_of.get(child.name, child.name) == child.name
        ),
        links=tuple(_merged(box.links, first_of, _finders(box))),
        membrane=membrane,
    )


def _grouped(marks: Mapping[str, object], least: int) -> dict[str, str]:
    """Return the first of its group for each child in a group of at least so many of one mark."""
    groups: dict[object, list[str]] = defaultdict(list)
    for name, mark in marks.items():
        groups[mark].append(name)
    return {name: group[0] for group in groups.values() if len(group) >= least for name in group}


def _roles(
    looks: Mapping[str, object], uses: Mapping[str, frozenset[tuple[_Use, int]]]
) -> dict[str, object]:
    """Return a mark for each child: how it looks, and the looks of what it is bound to.

    A neighbour that is drawn by itself counts by its name.
    """
    many = _grouped(looks, LEAST_BOUND)
    marks: dict[str, object] = {}
    for name, look in looks.items():
        around: Counter[tuple[object, ...]] = Counter()
        for use, count in uses.get(name, ()):
            owner, interface = use.other
            around[use.port, use.is_client, many.get(owner, owner), interface] += count
        marks[name] = look, frozenset(around.items())
    return marks


def _finders(box: Box) -> dict[str, PortFinder]:
    finders = {child.name: PortFinder(child.outer_ports) for child in box.children}
    return {**finders, THIS: PortFinder(box.ports)}


def _uses(box: Box) -> dict[str, frozenset[tuple[_Use, int]]]:
    """Return how each child is bound; members of a collection count as the collection."""
    finders = _finders(box)
    counted: dict[str, Counter[_Use]] = defaultdict(Counter)
    for link in box.links:
        client, server = _plain(link.client, finders), _plain(link.server, finders)
        counted[client[0]][_Use(client[1], True, server)] += link.count
        counted[server[0]][_Use(server[1], False, client)] += link.count
    return {name: frozenset(uses.items()) for name, uses in counted.items()}


def _plain(end: tuple[str, str], finders: Mapping[str, PortFinder]) -> tuple[str, str]:
    port = finders[end[0]].find(end[1])
    return end[0], end[1] if port is None else port.name


def _merged(
    links: Iterable[SceneLink], first_of: Mapping[str, str], finders: Mapping[str, PortFinder]
) -> Iterable[SceneLink]:
    """Return the links, with one in the place of all those that lead to members of one box."""
    merged: dict[tuple[tuple[str, str], tuple[str, str]], SceneLink] = {}
    for link in links:
        if link.client[0] not in first_of and link.server[0] not in first_of:
            merged[link.client, link.server] = link
            continue
        ends = [
            (first_of.get(name, name), interface)
            for name, interface in (_plain(link.client, finders), _plain(link.server, finders))
        ]
        earlier = merged.get((ends[0], ends[1]))
        count = link.count + (earlier.count if earlier else 0)
        merged[ends[0], ends[1]] = SceneLink(ends[0], ends[1], count)
    return merged.values()
