"""Gives every node of a graph a layer, so that edges lead from lower layers to higher ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence

from gcm.drawing.layered.ordering import shuffled

ATTEMPTS = 8
"""How many walks choose the edges that lead back in a graph with cycles."""
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
    return next(layerings(count, edges, first=first, last=last))


def layerings(
    count: int,
    edges: Iterable[tuple[int, int]],
    *,
    first: Collection[int] = (),
    last: Collection[int] = (),
) -> Iterator[list[int]]:
    """Yield different layers for the same nodes, those of `layers_of` first, always the same ones.

    Where edges close cycles, it is a matter of choice which of them lead back; without cycles
    there is one way only.

    >>> list(layerings(2, [(0, 1), (1, 0)]))
    [[0, 1], [1, 0]]
    """
    given = list(dict.fromkeys(edges))
    made: list[list[int]] = []
    for attempt in range(ATTEMPTS):
        onward: list[list[int]] = [[] for _ in range(count)]
        for start, end in given:
            if start != end:
                onward[start].append(end)
        nodes = list(range(count))
        if attempt:
            nodes = shuffled(nodes, attempt)
            onward = [shuffled(ends, attempt) for ends in onward]
        dropped = _drop_cycles(onward, nodes, first)
        layers = _longest_paths(onward)
        _tighten(onward, layers, first, last)
        if layers not in made:
            made.append(layers)
            yield layers
        if not dropped:
            return


def _drop_cycles(onward: list[list[int]], nodes: Sequence[int], first: Collection[int]) -> int:
    """Remove the edges by which a depth-first walk comes back to where it already is.

    The walk begins at the nodes that nothing leads to, then at those in `first`, each in the order
    of `nodes`. Return the number of the edges removed.
    """
    fed = set(first)
    reached = {end for ends in onward for end in ends}
    starts = sorted(nodes, key=lambda node: (node in reached, node not in fed))
    untouched, open_, done = 0, 1, 2
    state = [untouched] * len(onward)
    dropped = 0
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
                dropped += 1
            if position == len(ends):
                state[node] = done
                continue
            walk.append((node, position + 1))
            if state[ends[position]] == untouched:
                state[ends[position]] = open_
                walk.append((ends[position], 0))
    return dropped


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
    """Move blocks of nodes to where their edges become shorter, until none gains anything.

    A block is a node with all that it would push ahead of it. The borders count as neighbours:
    before the first layer, and behind the last one.
    """
    before: list[list[int]] = [[] for _ in onward]
    for node, ends in enumerate(onward):
        for end in ends:
            before[end].append(node)
    fed, leaving = set(first), set(last)
    pull = [
        len(onward[node]) + (node in leaving) - len(before[node]) - (node in fed)
        for node in range(len(onward))
    ]
    highest = max(layers, default=0)
    for _ in range(PASSES):
        moved = False
        for node, gain in enumerate(pull):
            step = 1 if gain > 0 else -1
            ahead = onward if gain > 0 else before
            if not gain:
                continue
            block = _block(node, ahead, layers, step)
            if step * sum(map(pull.__getitem__, block)) <= 0:
                continue
            room = [
                step * (layers[other] - layers[one]) - 1
                for one in block
                for other in ahead[one]
                if other not in block
            ]
            room += [highest - layers[one] if step > 0 else layers[one] for one in block]
            for one in block:
                layers[one] += step * min(room)
            moved |= min(room) > 0
        if not moved:
            break
    place = {layer: number for number, layer in enumerate(sorted(set(layers)))}
    layers[:] = [place[layer] for layer in layers]


def _block(node: int, ahead: Sequence[Sequence[int]], layers: Sequence[int], step: int) -> set[int]:
    """Return a node with all that is in its way, and in the way of that, for one step."""
    block = {node}
    waiting = [node]
    while waiting:
        one = waiting.pop()
        for other in ahead[one]:
            if other not in block and layers[other] == layers[one] + step:
                block.add(other)
                waiting.append(other)
    return block
