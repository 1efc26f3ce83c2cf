"""The least time a collective can take: one crossing of the least bytes by plain TCP; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

CrossingTime = Callable[[int, int, int], float]
"""How long so many bytes take from one place to another: places are numbers."""


def least_bytes(
    name: str, size: int, there: int, to: int, *, from_root: bool, to_root: bool
) -> int:
    """Return the bytes that have to go from a place with `there` ranks to one with `to` ranks.

    `size` is what each rank contributes, or gives to each other one in `alltoall`. Zero means that
    nothing has to go. A barrier needs to say something, and one byte is the least.

    >>> least_bytes("allgather", 1000, 3, 2, from_root=False, to_root=True)
    3000
    """
    match name:
        case "barrier":
            return 1
        case "bcast":
            return size if from_root else 0
        case "gather":
            return size * there if to_root else 0
        case "allreduce":
            return size
        case "allgather":
            return size * there
        case "alltoall":
            return size * there * to
    raise ValueError(f"the floor of '{name}' is not known")


def crossings(name: str, size: int, ranks: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the bytes that have to go from each place to each other one; the root is in place 0.

    >>> crossings("gather", 10, (2, 3))
    {(1, 0): 30}
    """
    found = {
        (one, other): least_bytes(
            name, size, ranks[one], ranks[other], from_root=one == 0, to_root=other == 0
        )
        for one, other in permutations(range(len(ranks)), 2)
    }
    return {pair: count for pair, count in found.items() if count}


def floor(name: str, size: int, ranks: Sequence[int], crossing_time: CrossingTime) -> float:
    """Return the seconds under which a collective cannot be done: its slowest crossing.

    >>> floor("barrier", 0, (1, 1), lambda one, other, count: 0.005)
    0.005
    """
    return max(
        crossing_time(one, other, count)
        for (one, other), count in crossings(name, size, ranks).items()
    )
