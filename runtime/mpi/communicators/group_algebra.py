"""Groups of processes as tuples of indexes, and MPI's operations on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import TypeAlias

from runtime.mpi.values.faults import Wrong, WrongArgument, checked_rank

Members: TypeAlias = tuple[int, ...]
"""Processes by index, in the order of their ranks, each at most once."""

Range: TypeAlias = tuple[int, int, int]
"""First rank, last rank and stride."""


class Likeness(Enum):
    """The results of comparing two groups."""

    IDENTICAL = auto()
    """The same members in the same order."""
    SIMILAR = auto()
    """The same members in another order."""
    DIFFERENT = auto()


def union(first: Members, second: Members) -> Members:
    """Return the first group followed by those members of the second that are not in it.

    >>> union((3, 1), (1, 2))
    (3, 1, 2)
    """
    return first + difference(second, first)


def intersection(first: Members, second: Members) -> Members:
    """Return those members of the first group that are also in the second, in its order."""
    others = frozenset(second)
    return tuple(index for index in first if index in others)


def difference(first: Members, second: Members) -> Members:
    """Return those members of the first group that are not in the second, in its order."""
    others = frozenset(second)
    return tuple(index for index in first if index not in others)


def included(members: Members, ranks: Iterable[int]) -> Members:
    """Return the members with these ranks, in the order of the ranks.

    Raises `WrongArgument` for a rank that does not exist, or is named twice.
    """
    return tuple(members[rank] for rank in _distinct(ranks, len(members)))


def excluded(members: Members, ranks: Iterable[int]) -> Members:
    """Return the members without those that have these ranks.

    Raises `WrongArgument` for a rank that does not exist, or is named twice.
    """
    left_out = set(_distinct(ranks, len(members)))
    return tuple(index for rank, index in enumerate(members) if rank not in left_out)


def ranks_of(ranges: Iterable[Range]) -> list[int]:
    """Return the ranks in some ranges, which include their last rank.

    Raises `WrongArgument` for a stride of 0, or one that leads away from the last rank.

    >>> ranks_of([(1, 5, 2), (8, 7, -1)])
    [1, 3, 5, 8, 7]
    """
    found: list[int] = []
    for first, last, stride in ranges:
        if stride == 0 or (last - first) * stride < 0:
            text = f"the range ({first}, {last}, {stride}) does not lead to its last rank"
            raise WrongArgument(Wrong.ARGUMENT, text)
        found.extend(range(first, last + (1 if stride > 0 else -1), stride))
    return found


def translated(source: Members, ranks: Iterable[int], target: Members) -> list[int | None]:
    """Return the ranks in `target` of those that have `ranks` in `source`; None for non-members.

    Raises `WrongArgument` for a rank that is not in `source`.
    """
    there = {index: rank for rank, index in enumerate(target)}
    return [there.get(source[checked_rank(rank, len(source))]) for rank in ranks]


def likeness(first: Members, second: Members) -> Likeness:
    """Compare two groups."""
    if first == second:
        return Likeness.IDENTICAL
    if len(first) == len(second) and set(first) == set(second):
        return Likeness.SIMILAR
    return Likeness.DIFFERENT


def _distinct(ranks: Iterable[int], size: int) -> Sequence[int]:
    seen: dict[int, None] = {}
    for rank in ranks:
        if checked_rank(rank, size) in seen:
            raise WrongArgument(Wrong.RANK, f"rank {rank} is named twice")
        seen[rank] = None
    return list(seen)
