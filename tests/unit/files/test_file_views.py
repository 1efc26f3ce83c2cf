"""Views of files: which bytes they show, beside a view that lists them one by one."""

from __future__ import annotations

from random import Random

import pytest

from runtime.files.faults import FileFault
from runtime.files.views import BYTES, View, bytes_before
from runtime.windows.runs import Run, block


def places(runs: list[Run]) -> list[int]:
    return [
        run.start + run.stride * time + at
        for run in runs
        for time in range(run.times)
        for at in range(run.length)
    ]


def random_view(random: Random) -> View:
    """Return a view of ascending runs, and perhaps room behind them."""
    unit = random.choice([1, 2, 4])
    runs, end = [], 0
    for _ in range(random.randint(1, 4)):
        start = end + unit * random.randint(0, 3)
        length, times = unit * random.randint(1, 3), random.randint(1, 3)
        stride = length + unit * random.randint(0, 2)
        runs.append(Run(start, length, stride, times))
        end = runs[-1].bounds[1]
    return View.of(random.randint(0, 9), unit, runs, end + unit * random.randint(0, 3))


@pytest.mark.parametrize("seed", range(60))
def test_runs_of_a_view_are_its_bytes_one_by_one(seed: int) -> None:
    random = Random(seed)
    view = random_view(random)
    view.check()
    tile = places(list(view.runs))
    shown = [view.displacement + number * view.extent + at for number in range(12) for at in tile]
    for _ in range(20):
        offset = random.randint(0, 3 * view.size // view.unit)
        size = view.unit * random.randint(0, 4 * view.size // view.unit)
        first = offset * view.unit
        assert places(view.runs_of(offset, size)) == shown[first : first + size]
        assert view.byte_of(offset) == shown[first]
        end = random.randint(0, 3 * view.extent)
        before = sum(at < end for at in shown)
        assert view.units_before(end) == -(-before // view.unit)
        runs = view.runs_of(offset, size)
        assert bytes_before(runs, end) == sum(at < end for at in places(runs))


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (View.of(-1, 1, [block(0, 1)], 1), "the displacement -1 is negative"),
        (View.of(0, 4, [block(0, 6)], 8), "6 bytes has no whole number of elementary types of 4"),
        (View.of(0, 0, [], 0), "has no bytes"),
        (View.of(0, 1, [block(4, 1), block(0, 1)], 5), "do not ascend"),
        (View.of(0, 1, [block(-4, 1)], 5), "are negative"),
        (View.of(0, 1, [block(0, 2), block(6, 2)], 5), "5 bytes apart, overlap"),
        (View.of(0, 4, [block(0, 4), block(8, 4)], 8), "8 bytes apart, overlap"),
    ],
)
def test_a_view_that_mpi_does_not_allow_is_refused(view: View, words: str) -> None:
    with pytest.raises(FileFault, match=words) as fault:
        view.check()
    assert fault.value.name == "ERR_ARG"


def test_a_file_is_bytes_at_first() -> None:
    BYTES.check()
    assert BYTES.runs_of(5, 3) == [block(5, 3)]
    assert BYTES.units_before(7) == 7


def test_a_rank_may_see_nothing_of_a_file_and_access_nothing() -> None:
    view = View.of(8, 4, [], 28)
    view.check()
    assert (view.runs_of(0, 0), view.byte_of(3), view.units_before(100)) == ([], 8, 0)
    with pytest.raises(FileFault, match="4 bytes have no place in a view without bytes"):
        view.runs_of(0, 4)
