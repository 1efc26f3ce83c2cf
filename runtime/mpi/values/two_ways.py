"""Classes whose objects are of one cluster, then native MPI's, or of several, then ours.

Windows and files are: each call of the table asks its object which of the two it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from runtime.calls import LOCAL, NATIVE, every_call


def give_methods(
    face: type[Any], others: type[Any], either: Callable[[str, bool], Callable[..., Any]]
) -> None:
    """Give a class named as mpi4py's its methods for several clusters.

    `others` has those that are no rows of the table. `either` makes the method of a row, which is
    told that it may communicate.
    """
    for name, method in vars(others).items():
        if not name.startswith("_"):
            setattr(face, name, method)
    for row in every_call():
        if row.of == face.__name__ and row.grid != NATIVE and row.name not in vars(face):
            setattr(face, row.name, either(row.name, row.how != LOCAL))
    for name, ours in (("group_size", "size"), ("group_rank", "rank")):
        setattr(face, name, _either_property(getattr(getattr(MPI, face.__name__), name), ours))


def _either_property(native: Any, ours: str) -> property:
    """Return the property that an object of several clusters has of its members."""

    def found(self: Any) -> int:
        grid = self._grid
        return int(native.__get__(self) if grid is None else getattr(grid.members, ours))

    return property(found, doc=native.__doc__)
