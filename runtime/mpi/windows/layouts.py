"""What datatypes describe, as runs of bytes: read from their envelopes and contents.

The other side of a window needs no datatype then, whatever MPI it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from math import prod
from typing import Any

from mpi4py import MPI

from runtime.mpi.values.loop import pack_natively
from runtime.windows.requests import BASIC_TYPES
from runtime.windows.runs import Run, block, joined, repeated


class TypeLayout:
    """The bytes of one entry of a datatype in the order in which they are packed."""

    __slots__ = ("basics", "extent", "runs")

    def __init__(self, runs: Sequence[Run], extent: int, basics: frozenset[int]) -> None:
        self.runs = runs
        self.extent = extent
        """From one entry to the next."""
        self.basics = basics
        """The handles of the predefined types in it."""


def layout_of(datatype: MPI.Datatype) -> TypeLayout:
    """Return the layout of a datatype. Raises MPI.Exception for DATATYPE_NULL."""
    if datatype.is_predefined:
        return _named(datatype.handle, datatype)
    inner, combiner, told = datatype.decode()
    extent = datatype.extent
    if combiner == "STRUCT":
        return _struct(told, extent)
    one = _layout_of_part(inner)
    runs = _runs(combiner, one, told)
    return TypeLayout(_positions(datatype) if runs is None else joined(runs), extent, one.basics)


def _layout_of_part(part: MPI.Datatype) -> TypeLayout:
    """Return the layout of what a datatype is made of, which MPI has given to be freed."""
    try:
        return layout_of(part)
    finally:
        if not part.is_predefined:
            part.Free()


_of_named: dict[int, TypeLayout] = {}


def _named(handle: int, datatype: MPI.Datatype) -> TypeLayout:
    known = _of_named.get(handle)
    if known is None:
        size, (_, true_extent) = datatype.size, datatype.Get_true_extent()
        runs = [block(0, size)] if size == true_extent else _positions(datatype)
        known = _of_named[handle] = TypeLayout(runs, datatype.extent, frozenset((handle,)))
    return known


def _struct(told: dict[str, Any], extent: int) -> TypeLayout:
    runs: list[Run] = []
    basics: frozenset[int] = frozenset()
    parts = zip(told["blocklengths"], told["displacements"], told["datatypes"], strict=True)
    for count, displacement, kind in parts:
        one = _layout_of_part(kind)
        basics |= one.basics
        runs += [run.moved(displacement) for run in repeated(one.runs, count, one.extent)]
    return TypeLayout(joined(runs), extent, basics)


def _runs(combiner: str, one: TypeLayout, told: dict[str, Any]) -> list[Run] | None:
    """Return the runs of a type made of another one; None for one that is not known here."""

    def blocks(lengths: Sequence[int], places: Sequence[int]) -> list[Run]:
        return [
            run.moved(place)
            for length, place in zip(lengths, places, strict=True)
            for run in repeated(one.runs, length, one.extent)
        ]

    extent = one.extent
    match combiner:
        case "DUP" | "RESIZED":
            return list(one.runs)
        case "CONTIGUOUS":
            return repeated(one.runs, told["count"], extent)
        case "VECTOR" | "HVECTOR":
            stride = told["stride"] * (extent if combiner == "VECTOR" else 1)
            inner = repeated(one.runs, told["blocklength"], extent)
            return repeated(inner, told["count"], stride)
        case "INDEXED" | "HINDEXED":
            scale = extent if combiner == "INDEXED" else 1
            return blocks(told["blocklengths"], [scale * at for at in told["displacements"]])
        case "INDEXED_BLOCK" | "HINDEXED_BLOCK":
            scale = extent if combiner == "INDEXED_BLOCK" else 1
            places = [scale * at for at in told["displacements"]]
            return blocks([told["blocklength"]] * len(places), places)
        case "SUBARRAY":
            return _subarray(one, told)
        case "DARRAY":
            return _darray(one, told)
    return None


def _subarray(one: TypeLayout, told: dict[str, Any]) -> list[Run]:
    sizes, subsizes, starts = told["sizes"], told["subsizes"], told["starts"]
    if told["order"] == MPI.ORDER_F:
        sizes, subsizes, starts = sizes[::-1], subsizes[::-1], starts[::-1]
    steps = [one.extent * prod(sizes[at + 1 :]) for at in range(len(sizes))]
    outer = product(
        *(range(at, at + size) for at, size in zip(starts[:-1], subsizes[:-1], strict=True))
    )
    row = repeated(one.runs, subsizes[-1], one.extent)
    return [
        run.moved(sum(at * step for at, step in zip((*place, starts[-1]), steps, strict=True)))
        for place in outer
        for run in row
    ]


def _darray(one: TypeLayout, told: dict[str, Any]) -> list[Run]:
    sizes, processes, left = told["gsizes"], told["psizes"], told["rank"]
    places: list[int] = []
    for count in reversed(processes):
        left, at = divmod(left, count)
        places.insert(0, at)
    parts = [
        _parts_of(*dimension)
        for dimension in zip(sizes, told["distribs"], told["dargs"], processes, places, strict=True)
    ]
    if told["order"] == MPI.ORDER_F:
        sizes, parts = sizes[::-1], parts[::-1]
    steps = [one.extent * prod(sizes[at + 1 :]) for at in range(len(sizes))]
    outer = product(*([at for part in each for at in part] for each in parts[:-1]))
    row = [
        run.moved(one.extent * part.start)
        for part in parts[-1]
        for run in repeated(one.runs, len(part), one.extent)
    ]
    return [
        run.moved(sum(at * step for at, step in zip(place, steps, strict=False)))
        for place in outer
        for run in row
    ]


def _parts_of(size: int, kind: int, argument: int, processes: int, place: int) -> list[range]:
    """Return the indexes in one dimension of an array that a process has."""
    if kind == MPI.DISTRIBUTE_NONE:
        return [range(size)]
    is_given = argument != MPI.DISTRIBUTE_DFLT_DARG
    if kind == MPI.DISTRIBUTE_BLOCK:
        block_size = argument if is_given else -(-size // processes)
    else:
        block_size = argument if is_given else 1
    starts = range(place * block_size, size, processes * block_size)
    return [range(at, min(size, at + block_size)) for at in starts]


def _positions(datatype: MPI.Datatype) -> list[Run]:
    """Return the runs of any datatype, from where packing finds bytes that tell their place."""
    lowest, span = datatype.Get_true_extent()
    found = [0] * datatype.size
    if not datatype.is_predefined:
        datatype.Commit()
    for shift in range(0, max(span.bit_length(), 1), 8):
        image = bytearray((place >> shift) & 0xFF for place in range(span))
        moved = MPI.buffer.fromaddress(MPI.Get_address(image) - lowest, span) if lowest else image
        out = pack_natively((moved, 1, datatype))
        found = [known | (byte << shift) for known, byte in zip(found, out, strict=True)]
    return joined(block(lowest + place, 1) for place in found)


@cache
def names_of_basics() -> dict[int, int]:
    """Return the places of basic types in `BASIC_TYPES` by their handles here."""
    known: dict[int, int] = {}
    for place, name in enumerate(BASIC_TYPES):
        datatype = getattr(MPI, name)
        if datatype != MPI.DATATYPE_NULL:
            known.setdefault(datatype.handle, place)
    return known


@cache
def basic_type(place: int) -> MPI.Datatype:
    """Return the datatype at a place of `BASIC_TYPES`."""
    found: MPI.Datatype = getattr(MPI, BASIC_TYPES[place])
    return found
