"""How a cube is divided among ranks: slices along one axis or blocks along all, and who gets which.

With the topology, ranks of a cluster get neighbouring pieces, and so do clusters of a site: fewer
faces lie between clusters. Without it, ranks are dealt to the pieces like cards, as a program may
get them that does not know where they are.
"""

from __future__ import annotations

from itertools import product

Grid = tuple[int, int, int]
Box = tuple[slice, slice, slice]


def grid_of(pieces: int, shape: str) -> Grid:
    """Return how many pieces there are along each axis.

    >>> grid_of(8, "slices"), grid_of(8, "blocks"), grid_of(6, "blocks")
    ((8, 1, 1), (2, 2, 2), (3, 2, 1))
    """
    if shape == "slices":
        return pieces, 1, 1
    sides = [side for side in range(1, pieces + 1) if pieces % side == 0]
    grids = [(x, y, pieces // (x * y)) for x in sides for y in sides if pieces % (x * y) == 0]
    return min(grids, key=lambda grid: (sum(grid), [-side for side in grid]))


def dealt(clusters: list[str]) -> list[int]:
    """Return ranks in the order in which they get pieces if they are dealt like cards.

    `clusters` has the cluster of each rank.

    >>> dealt(["a", "a", "b", "b"])
    [0, 2, 1, 3]
    """
    turn = [clusters[:rank].count(one) for rank, one in enumerate(clusters)]
    return sorted(range(len(clusters)), key=lambda rank: turn[rank])


def piece(cells: int, grid: Grid, place: Grid) -> Box:
    """Return the cells of one piece of a cube with so many cells along each side."""
    first, second, third = (
        slice(cells * at // parts, cells * (at + 1) // parts)
        for at, parts in zip(place, grid, strict=True)
    )
    return first, second, third


def faces_between_clusters(clusters: list[str], order: list[int], grid: Grid) -> int:
    """Return how many faces lie between pieces of different clusters.

    >>> two = ["a", "a", "b", "b"]
    >>> faces_between_clusters(two, [0, 1, 2, 3], (4, 1, 1))
    1
    >>> faces_between_clusters(two, dealt(two), (4, 1, 1))
    3
    """
    owner = dict(zip(product(*map(range, grid)), order, strict=True))
    count = 0
    for place, rank in owner.items():
        for axis in range(3):
            beside = tuple(at + (axis == number) for number, at in enumerate(place))
            other = owner.get((beside[0], beside[1], beside[2]))
            count += other is not None and clusters[rank] != clusters[other]
    return count
