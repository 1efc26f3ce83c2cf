"""How the rows of an array are dealt to the ranks of a code, and which go from whom to whom. Pure.

Each rank declares its share. The shares of the code that gives and of the one that takes are
compared once; from then on a rank knows which of its rows each rank of the other code has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.coupling.errors import LayoutFault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices: TypeAlias = NDArray[np.int64]

Layout: TypeAlias = "Literal['blocks', 'cyclic'] | Sequence[int] | NDArray[np.integer[Any]]"
"""How rows are dealt: in the order of the ranks, in turn, or as each rank lists its own."""

BLOCKS: Final = "blocks"
CYCLIC: Final = "cyclic"
LISTED: Final = "listed"


class ArrayShare(NamedTuple):
    """What one rank has of an array: how many rows, of which type, dealt how; plain data."""

    layout: str
    rows: int
    row: str
    """The type and the shape of a row, with the order of its bytes."""
    listed: bytes = b""
    """The numbers of the rows, if they are listed: whole numbers of eight bytes."""

    @property
    def indices(self) -> Indices:
        """The numbers of the rows that are listed."""
        return np.frombuffer(self.listed, dtype="<i8")


def share_of(array: NDArray[Any], layout: Layout) -> ArrayShare:
    """Return what a rank declares of its array. Raises LayoutFault.

    >>> share_of(np.zeros((4, 2)), "blocks")
    ArrayShare(layout='blocks', rows=4, row='<f8 x 2', listed=b'')
    """
    if array.ndim == 0:
        raise LayoutFault("one number has no rows that could be dealt", cure="Give an array of one")
    if array.dtype.hasobject:
        raise LayoutFault(
            "an array of Python objects cannot be exchanged", cure="Use coupling.send for objects"
        )
    kind = array.dtype.str if array.dtype.names is None else str(array.dtype.descr)
    row = " x ".join([kind, *map(str, array.shape[1:])])
    rows = len(array)
    if isinstance(layout, str):
        if layout not in (BLOCKS, CYCLIC):
            raise LayoutFault(
                f"there is no layout {layout!r}",
                cure="It is 'blocks', 'cyclic', or a list of the numbers of the rows",
            )
        return ArrayShare(layout, rows, row)
    listed = np.asarray(layout)
    if listed.ndim != 1 or (listed.size and listed.dtype.kind not in "iu"):
        raise LayoutFault("a layout that is a list has the number of each row, and nothing else")
    if len(listed) != rows:
        raise LayoutFault(f"the layout lists {len(listed)} rows, and the array has {rows}")
    return ArrayShare(LISTED, rows, row, listed.astype("<i8").tobytes())


class Dealing:
    """An array as the ranks of one code have it: each row of it is at one rank. Raises LayoutFault.

    >>> blocks = Dealing("ocean", [ArrayShare("blocks", 2, "<f8"), ArrayShare("blocks", 3, "<f8")])
    >>> blocks.rows_of(1), blocks.owners_of(np.arange(5))
    (array([2, 3, 4]), array([0, 0, 1, 1, 1]))
    """

    def __init__(self, code: str, shares: Sequence[ArrayShare]) -> None:
        self.code = code
        self._shares = shares
        first = shares[0]
        for rank, one in enumerate(shares):
            for what, mine, its in (
                ("layout", one.layout, first.layout),
                ("rows", one.row, first.row),
            ):
                if mine != its:
                    raise LayoutFault(
                        f"the ranks of {code} differ: rank 0 has the {what} '{its}', and rank"
                        f" {rank} '{mine}'"
                    )
        self.layout, self.row = first.layout, first.row
        counts = [one.rows for one in shares]
        self.total = sum(counts)
        """How many rows there are."""
        self._starts = np.cumsum([0, *counts[:-1]])
        self._owner: Indices = np.empty(0, np.int64)
        if self.layout == CYCLIC:
            self._check_turns(counts)
        elif self.layout == LISTED:
            self._owner = self._checked_owners()

    def rows_of(self, rank: int) -> Indices:
        """Return the numbers of a rank's rows, in the order in which it has them."""
        if self.layout == CYCLIC:
            return np.arange(rank, self.total, len(self._shares))
        if self.layout == LISTED:
            return self._shares[rank].indices
        start = int(self._starts[rank])
        return np.arange(start, start + self._shares[rank].rows)

    def owners_of(self, rows: Indices) -> Indices:
        """Return which rank has each of some rows."""
        if self.layout == CYCLIC:
            return rows % len(self._shares)
        if self.layout == LISTED:
            return self._owner[rows]
        return np.searchsorted(self._starts, rows, side="right") - 1

    def _check_turns(self, counts: Sequence[int]) -> None:
        for rank, count in enumerate(counts):
            right = len(range(rank, self.total, len(counts)))
            if count != right:
                raise LayoutFault(
                    f"of {self.total} rows that are dealt in turn to the {len(counts)} ranks of"
                    f" {self.code}, rank {rank} has {right}, and not {count}"
                )

    def _checked_owners(self) -> Indices:
        found = np.full(self.total, -1, dtype=np.int64)
        for rank, share in enumerate(self._shares):
            listed = share.indices
            outside = listed[(listed < 0) | (listed >= self.total)]
            if outside.size:
                raise LayoutFault(
                    f"rank {rank} of {self.code} lists row {outside[0]}, and all ranks together"
                    f" have the rows 0 to {self.total - 1}"
                )
            values, counts = np.unique(listed, return_counts=True)
            twice = values[counts > 1]
            if twice.size:
                raise LayoutFault(f"rank {rank} of {self.code} lists row {twice[0]} twice")
            taken = listed[found[listed] >= 0]
            if taken.size:
                raise LayoutFault(
                    f"row {taken[0]} is listed by the ranks {found[taken[0]]} and {rank} of"
                    f" {self.code}"
                )
            found[listed] = rank
        return found


def check_pair(gives: Dealing, takes: Dealing) -> None:
    """Check that what one code gives is what another one takes; raises LayoutFault."""
    if gives.row != takes.row:
        raise LayoutFault(
            f"{gives.code} gives rows of '{gives.row}', and {takes.code} takes rows of"
            f" '{takes.row}'",
            cure="Give both arrays the same dtype and the same shape behind the first axis",
        )
    if gives.total != takes.total:
        raise LayoutFault(
            f"{gives.code} gives {gives.total} rows, and {takes.code} takes {takes.total}",
            cure="Both have the same rows, by their numbers",
        )


Place: TypeAlias = "slice | Indices"
"""Where some rows are in a rank's own array."""


def places_of(own: Dealing, rank: int, other: Dealing) -> list[tuple[int, Place]]:
    """Return where a rank has the rows of each rank of the other code, in the order of the rows.

    Both sides put the rows of a pair into one order: that of their numbers.

    >>> gives = Dealing("a", [ArrayShare("blocks", 3, "<f8"), ArrayShare("blocks", 3, "<f8")])
    >>> takes = Dealing("b", [ArrayShare("cyclic", 3, "<f8"), ArrayShare("cyclic", 3, "<f8")])
    >>> places_of(gives, 1, takes)
    [(0, slice(1, 2, None)), (1, array([0, 2]))]
    >>> places_of(takes, 0, gives)
    [(0, slice(0, 2, None)), (1, slice(2, 3, None))]
    """
    rows = own.rows_of(rank)
    order = np.argsort(rows, kind="stable")
    owners = other.owners_of(rows[order])
    found: list[tuple[int, Place]] = []
    for one in np.unique(owners):
        places = order[owners == one]
        first, last = int(places[0]), int(places[-1])
        is_run = last - first == len(places) - 1 and bool((np.diff(places) == 1).all())
        found.append((int(one), slice(first, last + 1) if is_run else places))
    return found
