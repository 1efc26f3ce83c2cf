"""The programs that benchmarks start: ways to talk on the loopback, flat MPI over a small grid."""

from __future__ import annotations

import pytest

from benchmarks import streams
from benchmarks.echoes.contract import WAYS, is_installed
from benchmarks.front_ends import memory, shares
from benchmarks.grid import EmulatedGrid, Layout
from benchmarks.mpi_launch import Mpich, Ours, RunFailed, run
from benchmarks.wire_measure import one_way


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_talk_brings_everything_back(way: str) -> None:
    if not is_installed(way):
        pytest.skip(f"{WAYS[way][0]} is not installed")
    taken = one_way(None, ("", ""), [1, 100_000], seconds=0.01, timeout=60, way=way)
    assert list(taken) == [1, 100_000]
    assert min(taken.values()) > 0


def test_pairs_share_a_front_end() -> None:
    counts = shares(3, 0.2)
    assert len(counts) == 3
    assert min(counts) > 0


@pytest.mark.mpi
def test_the_memory_of_each_process_is_told() -> None:
    found = memory(16)
    assert [one[0] for one in found] == ["rank 0", "rank 1", "rank 2", "the largest front-end"]
    assert all(peak > 16 * holds + 10 for _, peak, holds in found)


@pytest.fixture
def grid(emulation: None) -> EmulatedGrid:
    return EmulatedGrid(Layout((1, 1)))


@pytest.mark.needs_root
@pytest.mark.mpi
def test_flat_mpich_runs_over_the_clusters_of_a_grid(grid: EmulatedGrid) -> None:
    told = ["collectives", "--only", "barrier:0,allreduce:8", "--seconds", "0.05"]
    with grid:
        figures = run(grid, Mpich("ofi"), {"c0": 1, "c1": 1}, told, timeout=60)
        assert [one["what"] for one in figures] == ["barrier", "allreduce"]
        assert all(min(one["seconds"]) > 0.005 for one in figures)


@pytest.mark.needs_root
@pytest.mark.mpi
def test_a_program_that_fails_is_told_with_its_last_words(grid: EmulatedGrid) -> None:
    with grid, pytest.raises(RunFailed, match="invalid choice: 'nothing'"):
        run(grid, Mpich("ofi"), {"c0": 1}, ["nothing"], timeout=60)


@pytest.mark.needs_root
@pytest.mark.mpi
def test_our_machine_runs_over_the_clusters_of_a_grid(grid: EmulatedGrid) -> None:
    with grid:
        figures = run(grid, Ours(), {"c0": 1, "c1": 1}, ["footprint"], timeout=100)
    assert [one["what"] for one in figures] == ["started", "footprint"]
    assert len(figures[1]["seconds"]) == 2


@pytest.mark.needs_root
@pytest.mark.parametrize("way", ["tcp", "ours", "tls"])
def test_a_stream_over_a_long_line_is_measured(way: str, emulation: None) -> None:
    assert emulation is None
    connections = 1
    turns = 1 if way == "tcp" else 3  # where packets are late no more connections are opened
    for _ in range(turns):
        found, late = streams.measured(streams.CASES["windows"], [way], 4.0)
        assert 0 < found[way].share < 1.3  # what waits on the way is not counted before it comes
        assert late >= 0
        connections = found[way].connections
        if connections > 1:
            break
    assert (connections > 1) == (way != "tcp")
