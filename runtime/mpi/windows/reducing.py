"""Reductions at the target of a window, carried out by native MPI on packed elements."""

from __future__ import annotations

from functools import cache
from itertools import product

from mpi4py import MPI

from runtime.mpi.values.loop import pack_natively, unpack_natively
from runtime.mpi.values.raised_errors import errors_raised
from runtime.mpi.windows.layouts import basic_type
from runtime.windows.requests import BASIC_TYPES, NO_OP, REDUCTIONS, REPLACE


@cache
def reductions() -> dict[int, int]:
    """Return the places of operations in `REDUCTIONS` by their handles here."""
    return {getattr(MPI, name).handle: place for place, name in enumerate(REDUCTIONS)}


@cache
def is_defined(operation: int, basic: int) -> bool:
    """Return whether native MPI reduces elements of a type with an operation."""
    if operation in (REPLACE, NO_OP):
        return True
    datatype = basic_type(basic)
    try:
        one, other = bytearray(datatype.extent), bytearray(datatype.extent)
        with errors_raised():
            _operation(operation).Reduce_local([one, 1, datatype], [other, 1, datatype])
    except MPI.Exception:
        return False
    return True


@cache
def all_defined() -> frozenset[tuple[int, int]]:
    """Return the operations that are defined here, each with its basic type."""
    pairs = product(range(len(REDUCTIONS)), range(len(BASIC_TYPES)))
    return frozenset(one for one in pairs if is_defined(*one))


def reduce(operation: int, basic: int, data: memoryview, before: memoryview) -> memoryview:
    """Return what is there reduced with what comes; both are packed elements of a basic type."""
    datatype = basic_type(basic)
    size, extent = datatype.size, datatype.extent
    count = len(before) // size
    if size == extent:
        after = bytearray(before)
        _operation(operation).Reduce_local([data, count, datatype], [after, count, datatype])
        return memoryview(after)
    mine, theirs = (bytearray(extent * count) for _ in range(2))
    unpack_natively((mine, count, datatype), before)
    unpack_natively((theirs, count, datatype), data)
    _operation(operation).Reduce_local([theirs, count, datatype], [mine, count, datatype])
    return memoryview(pack_natively((mine, count, datatype)))


def _operation(place: int) -> MPI.Op:
    found: MPI.Op = getattr(MPI, REDUCTIONS[place])
    return found
