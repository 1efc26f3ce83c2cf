"""Runs of bytes: cut into pieces, gathered and scattered as one would byte by byte."""

from __future__ import annotations

import random

import pytest

from runtime.windows.runs import (
    Run,
    block,
    bounds_of,
    gather,
    joined,
    packed,
    pieces,
    repeated,
    scatter,
    size_of,
    split,
    unpacked,
)


def bytes_of(runs: list[Run]) -> list[int]:
    """Return the place of each byte, in order."""
    return [
        start + stride * time + at
        for start, length, stride, times in runs
        for time in range(times)
        for at in range(length)
    ]


def some_runs(rng: random.Random) -> list[Run]:
    found, at = [], 0
    for _ in range(rng.randrange(1, 6)):
        length, times = rng.choice((1, 2, 3, 4, 8, 12)), rng.randrange(1, 5)
        stride = length * rng.randrange(1, 4) if rng.random() < 0.7 else length + rng.randrange(5)
        found.append(Run(at, length, stride, times))
        at += stride * times + rng.randrange(4)
    rng.shuffle(found)
    return found


@pytest.mark.parametrize("seed", range(50))
def test_any_runs_are_what_they_are_byte_by_byte(seed: int) -> None:
    rng = random.Random(seed)
    runs = some_runs(rng)
    places = bytes_of(runs)
    low, high = bounds_of(runs)
    assert (low, high) == (min(places), max(places) + 1)
    memory = bytearray(rng.randbytes(high))
    assert bytes(gather(memoryview(memory), runs)) == bytes(memory[at] for at in places)
    data = rng.randbytes(size_of(runs))
    scatter(memoryview(memory), runs, memoryview(data))
    assert bytes(memory[at] for at in places) == data
    assert bytes_of(joined(runs)) == places
    assert unpacked(memoryview(packed(runs))) == runs
    most = rng.randrange(1, 20)
    cut = list(pieces(runs, most))
    assert [at for one in cut for at in bytes_of(one)] == places
    assert all(0 < size_of(one) <= most for one in cut)
    unit, most_runs = rng.randrange(1, 7), rng.randrange(1, 4)
    cut = list(pieces(runs, most + unit, unit, most_runs))
    assert [at for one in cut for at in bytes_of(one)] == places
    assert all(size_of(one) % unit == 0 for one in cut[:-1])
    assert all(0 < size_of(one) <= most + unit for one in cut)
    assert all(len(one) < most_runs + unit for one in cut)
    at = rng.randrange(len(places) + 1)
    first, rest = split(runs, at)
    assert (bytes_of(first), bytes_of(rest)) == (places[:at], places[at:])


def test_entries_of_a_type_follow_each_other_at_its_extent() -> None:
    assert repeated([block(0, 8)], 4, 8) == [block(0, 32)]
    assert repeated([block(0, 4), block(8, 4)], 2, 16) == [Run(0, 4, 8, 4)]
    assert repeated([block(0, 4), block(8, 2)], 2, 16) == [
        block(0, 4), block(8, 2), block(16, 4), block(24, 2)
    ]  # fmt: skip


def test_pieces_end_where_elements_do() -> None:
    assert [size_of(one) for one in pieces([block(0, 100)], 30, 8)] == [24, 24, 24, 24, 4]
