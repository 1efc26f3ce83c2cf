"""Numbers that programs give, converted as mpi4py converts them.

mpi4py knows two kinds. What MPI takes as one `int`, such as a rank, a tag or a root, may be
anything with `__int__`, and is rounded towards zero: `size / 2` is a rank. An entry of a list of
numbers, such as counts or dimensions, has to be an integer, or to have `__index__`.
"""

from __future__ import annotations

from operator import index
from typing import Any

from mpi4py import MPI

_INT = 1 << 31
_COUNT = 1 << 63


def integer(given: Any) -> int:
    """Convert a number that is an `int` for MPI as mpi4py does; raises its errors.

    >>> integer(2.7), integer(-0.5), integer(True)
    (2, 0, 1)
    """
    if type(given) is int and -_INT <= given < _INT:
        return given
    status = MPI.Status()
    status.source = given  # any `int` will do: it is only stored
    return status.source


def entry(given: Any) -> int:
    """Convert an entry of a list of `int` as mpi4py does; raises its errors."""
    return integer(index(given))


def count(given: Any) -> int:
    """Convert a count or displacement of a message as mpi4py does; raises its errors."""
    found = index(given)
    if -_COUNT <= found < _COUNT:
        return found
    raise OverflowError("Python int too large to convert to C long")


def entries(given: Any, wanted: int | None = None) -> list[int]:
    """Convert a sequence of `int` as mpi4py does, of a certain length if one is given.

    Raises TypeError for what is no sequence, and ValueError for another length.
    """
    return _of_length([entry(given[place]) for place in range(len(given))], wanted)


def counts(given: Any, wanted: int) -> list[int]:
    """Convert a sequence of counts or displacements as mpi4py does."""
    return _of_length([count(given[place]) for place in range(len(given))], wanted)


def is_integral(given: Any) -> bool:
    """Return whether mpi4py takes something for one integer, not for a sequence of them."""
    if not hasattr(given, "__index__"):
        return False
    try:
        len(given)
    except TypeError:
        return _is_index(given)
    return False


def _is_index(given: Any) -> bool:
    try:
        index(given)
    except TypeError:
        return False
    return True


def _of_length(found: list[int], wanted: int | None) -> list[int]:
    if wanted is not None and len(found) != wanted:
        raise ValueError(f"expecting {wanted} items, got {len(found)}")
    return found
