"""Places in memory as runs of bytes: what a datatype describes, without the datatype.

A run is `times` blocks of `length` bytes, `stride` bytes apart from the beginning of one to that of
the next, the first of them at `start`. The bytes of several runs follow each other in their order:
packed, as they travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from struct import Struct
from typing import Any, NamedTuple

_RUN = Struct("<4q")

_CODES: dict[int, Any] = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Words of these sizes are copied by strides, those at one place of all blocks at once."""

_FEW = 32
"""Blocks of more words than this are copied one by one: a step in Python costs about as much."""


class Run(NamedTuple):
    """Equal blocks of bytes at equal distances."""

    start: int
    length: int
    stride: int
    times: int

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.length * self.times

    @property
    def bounds(self) -> tuple[int, int]:
        """The first byte, and the one behind the last; blocks may go backwards."""
        last = self.start + self.stride * (self.times - 1)
        return min(self.start, last), max(self.start, last) + self.length

    def moved(self, by: int) -> Run:
        """Return the same run further on."""
        return Run(self.start + by, self.length, self.stride, self.times)  # 3 times as fast


def block(start: int, length: int) -> Run:
    """Return a run of one block."""
    return Run(start, length, length, 1)


def size_of(runs: Iterable[Run]) -> int:
    """Return how many bytes some runs have."""
    return sum(one.length * one.times for one in runs)


def bounds_of(runs: Iterable[Run]) -> tuple[int, int]:
    """Return the first byte of some runs, and the one behind the last; (0, 0) where they have none.

    >>> bounds_of([Run(8, 4, 16, 3), block(2, 2)])
    (2, 44)
    """
    spans = [one.bounds for one in runs if one.length and one.times]
    return (min(low for low, _ in spans), max(high for _, high in spans)) if spans else (0, 0)


def joined(runs: Iterable[Run]) -> list[Run]:
    """Return the same bytes in the same order with fewer runs, where neighbours are one block.

    >>> joined([block(0, 4), block(4, 4), Run(16, 8, 8, 2)])
    [Run(start=0, length=8, stride=8, times=1), Run(start=16, length=16, stride=16, times=1)]
    """
    found: list[Run] = []
    for one in runs:
        if not one.length or not one.times:
            continue
        run = one
        if run.times > 1 and run.stride == run.length:
            run = block(run.start, run.size)
        last = found[-1] if found else None
        if last is not None and last.times == run.times == 1:
            if last.start + last.length == run.start:
                found[-1] = block(last.start, last.length + run.length)
                continue
            if last.length == run.length and run.start > last.start:
                found[-1] = Run(last.start, last.length, run.start - last.start, 2)
                continue
        elif (
            last is not None
            and run.times == 1
            and last.length == run.length
            and run.start == last.start + last.stride * last.times
        ):
            found[-1] = last._replace(times=last.times + 1)
            continue
        found.append(run)
    return found


def repeated(runs: Sequence[Run], count: int, extent: int) -> list[Run]:
    """Return runs `count` times, `extent` bytes apart.

    >>> repeated([block(0, 8)], 3, 16)
    [Run(start=0, length=8, stride=16, times=3)]
    """
    if count == 1:
        return list(runs)
    if len(runs) == 1 and runs[0].times == 1:
        start, length, _, _ = runs[0]
        return joined([Run(start, length, extent, count)])
    return joined(one.moved(extent * place) for place in range(count) for one in runs)


def packed(runs: Sequence[Run]) -> bytes:
    """Return runs as bytes."""
    return b"".join(_RUN.pack(*one) for one in runs)


def unpacked(data: memoryview) -> list[Run]:
    """Return the runs in bytes.

    >>> unpacked(memoryview(packed([Run(0, 8, 16, 3)])))
    [Run(start=0, length=8, stride=16, times=3)]
    """
    return [Run(*one) for one in _RUN.iter_unpack(data)]


RUN_BYTES = _RUN.size
"""How many bytes a run takes as it travels."""


def gather(memory: memoryview, runs: Sequence[Run]) -> memoryview:
    """Return a copy of the bytes of runs."""
    found = memoryview(bytearray(size_of(runs)))
    for inside, outside in _pairs(memory, runs, found):
        outside[:] = inside
    return found


def scatter(memory: memoryview, runs: Sequence[Run], data: memoryview) -> None:
    """Copy bytes to where runs say."""
    for inside, outside in _pairs(memory, runs, data):
        inside[:] = outside


def _pairs(
    memory: memoryview, runs: Sequence[Run], data: memoryview
) -> Iterator[tuple[memoryview, memoryview]]:
    """Yield parts of the memory, each with the part of the packed bytes that it belongs to."""
    at = 0
    for start, length, stride, count in runs:
        end = at + length * count
        if count == 1:
            yield memory[start : start + length], data[at:end]
        elif stride > 0 and 0 < length <= min(_FEW, count) * (word := gcd(length, stride, 8)):
            code, span = _CODES[word], stride * (count - 1) + length
            whole, part = memory[start : start + span].cast(code), data[at:end].cast(code)
            for place in range(length // word):
                yield whole[place :: stride // word][:count], part[place :: length // word]
        else:
            for place in range(count):
                first = start + stride * place
                yield memory[first : first + length], data[at + length * place :][:length]
        at = end


MOST_RUNS = 1 << 12
"""So many runs are in one piece: each takes Python a step, and all together some milliseconds."""


def pieces(
    runs: Sequence[Run], most: int, unit: int = 1, most_runs: int = MOST_RUNS
) -> Iterator[list[Run]]:
    """Yield runs in pieces of at most `most` bytes, each of whole units; the order stays.

    >>> list(pieces([block(0, 10), Run(16, 2, 4, 3)], 6, 2))
    [[Run(start=0, length=6, stride=6, times=1)], [Run(start=6, length=4, stride=4, times=1), \
Run(start=16, length=2, stride=4, times=1)], [Run(start=20, length=2, stride=4, times=2)]]
    """
    begun: list[Run] = []  # of a unit that a piece has cut
    for piece in _pieces(runs, most - most % unit):
        for at in range(0, len(piece), most_runs):
            part = begun + piece[at : at + most_runs]
            size = size_of(part)
            whole, begun = (part, []) if size % unit == 0 else split(part, size - size % unit)
            if whole:
                yield whole
    if begun:
        yield begun


def split(runs: Sequence[Run], size: int) -> tuple[list[Run], list[Run]]:
    """Return the first bytes of runs, and the rest.

    >>> split([Run(0, 4, 8, 3)], 6)
    ([Run(start=0, length=4, stride=8, times=1), Run(start=8, length=2, stride=2, times=1)], \
[Run(start=10, length=2, stride=2, times=1), Run(start=16, length=4, stride=8, times=1)])
    """
    place, left = 0, size
    while place < len(runs) and runs[place].size <= left:
        left -= runs[place].size
        place += 1
    first, rest = [*runs[:place]], [*runs[place:]]
    if left:
        start, length, stride, times = rest[0]
        whole, part = divmod(left, length)
        at = start + stride * whole
        behind = Run(at + stride, length, stride, times - whole - 1)
        cut = block(at, part), block(at + part, length - part)
        first += [one for one in (Run(start, length, stride, whole), cut[0]) if one.size]
        rest[:1] = [one for one in (cut[1], behind) if one.size]
    return first, rest


def _pieces(runs: Sequence[Run], most: int) -> Iterator[list[Run]]:
    """Yield runs in pieces of at most `most` bytes."""
    piece: list[Run] = []
    left = most
    for run in runs:
        rest = run
        size = run.length * run.times
        if 0 < size < left:  # as most of many small ones
            piece.append(run)
            left -= size
            continue
        while rest.times:
            if rest.times == 1:
                taken = block(rest.start, min(rest.length, left))
                rest = block(rest.start + taken.length, rest.length - taken.length)
                if not rest.length:
                    rest = rest._replace(times=0)
            elif rest.length <= left:
                whole = min(rest.times, left // rest.length)
                taken = rest._replace(times=whole)
                rest = rest._replace(
                    start=rest.start + rest.stride * whole, times=rest.times - whole
                )
            elif rest.length > most and left == most:
                yield from _pieces([block(rest.start, rest.length)], most)
                rest = rest._replace(start=rest.start + rest.stride, times=rest.times - 1)
                continue
            else:
                taken = rest._replace(times=0)
            if taken.times and taken.length:
                piece.append(taken)
                left -= taken.size
            if left == 0 or not taken.times:
                yield piece
                piece, left = [], most
    if piece:
        yield piece
