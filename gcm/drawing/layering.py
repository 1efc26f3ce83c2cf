"""Gives every node of a graph a layer, so that edges lead from lower layers to higher ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

PASSES = 20
"""How often at most all nodes are looked at again for shorter edges."""


def layers_of(
    count: int,
    edges: Iterable[tuple[int, int]],
    *,
    first: Collection[int] = (),
    last: Collection[int] = (),
) -> list[int]:
    """Return the layer of each of the nodes 0 to `count` - 1, by longest paths.

    Edges that close a cycle are ignored, the same ones every time. Then nodes move to where their
    edges are shortest. Nodes in `first` are fed from the left border, those in `last` lead to the
    right one.

    >>> layers_of(3, [(0, 1), (1, 2), (2, 0)])
    [0, 1, 2]
    """
    onward: list[list[int]] = [[] for _ in range(count)]
    for start, end in dict.fromkeys(edges):
        if start != end:
            onward[start].append(end)
    _drop_cycles(onward, first)
    layers = _longest_paths(onward)
    _tighten(onward, layers, first, last)
    return layers


def _drop_cycles(onward: list[list[int]], first: Collection[int]) -> None:
    """Remove the edges by which a depth-first walk comes back to where it already is."""
    fed = set(first)
    reached = {end for ends in onward for end in ends}
    starts = sorted(range(len(onward)), key=lambda node: (node in reached, node not in fed, node))
    untouched, open_, done = 0, 1, 2
    state = [untouched] * len(onward)
    for start in starts:
        if state[start] != untouched:
            continue
        state[start] = open_
        walk = [(start, 0)]
        while walk:
            node, position = walk.pop()
            ends = onward[node]
            while position < len(ends) and state[ends[position]] == open_:
                del ends[position]
            if position == len(ends):
                state[node] = done
                continue
            walk.append((node, position + 1))
            if state[ends[position]] == untouched:
                state[ends[position]] = open_
                walk.append((ends[position], 0))


def _longest_paths(onward: list[list[int]]) -> list[int]:
    """Return the length of the longest path to each node."""
    missing = [0] * len(onward)
    for ends in onward:
        for end in ends:
            missing[end] += 1
    ready = deque(node for node, count in enumerate(missing) if not count)
    layers = [0] * len(onward)
    while ready:
        node = ready.popleft()
        for end in onward[node]:
            layers[end] = max(layers[end], layers[node] + 1)
            missing[end] -= 1
            if not missing[end]:
                ready.append(end)
    return layers


def _tighten(
    onward: list[list[int]],
    layers: list[int],
    first: Collection[int],
    last: Collection[int],
) -> None:
    """Move nodes to where their edges become shorter, one at a time, until none gains anything.

    The borders count as neighbours: before the first layer, and behind the last one.
    """
    before: list[list[int]] = [[] for _ in onward]
    for node, ends in enumerate(onward):
        for end in ends:
            before[end].append(node)
    behind = max(layers, default=0) + 1
    fed, leaving = set(first), set(last)
    for _ in range(PASSES):
        moved = False
        for node in range(len(onward)):
            sources = [layers[one] for one in before[node]] + [-1] * (node in fed)
            targets = [layers[one] for one in onward[node]] + [behind] * (node in leaving)
            if len(sources) == len(targets):
                continue
            ahead = min(targets, default=behind) - 1
            layer = max(sources, default=-1) + 1 if len(sources) > len(targets) else ahead
            moved |= layers[node] != layer
            layers[node] = layer
        if not moved:
            return
