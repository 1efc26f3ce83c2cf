"""`python -m benchmarks.detector_cost`: what the failure detector costs while nothing fails.

The same collectives on the same machine, 2 sites x 2 clusters x 2 ranks, with the detector and
without, in turns. The first turn begins with the one, the next with the other. All processes are
on this host, joined by Unix sockets, so that there is no line to wait for; with `--grid` they are
on the emulated grid on which the other tables are measured.

Where the machine has other work, the clock says little. So there is also the processor time of
the ranks, for each call, and that of all other processes, which are the front-ends, the launcher
and `mpiexec`, for each second: only those watch each other. In brackets are the quartiles of the
turns; a difference is the median of what the turns differ by, each from its neighbour.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from benchmarks.grid import EmulatedGrid, Layout, cluster_element, missing
from runtime.launchers.family import descendants, processes
from tools.on_grids import COMMAND, ROOT, environment

KIB, MIB = 1 << 10, 1 << 20
CASES = (
    ("barrier", 0, 1000),
    ("bcast", 8, 1000),
    ("bcast", MIB, 100),
    ("gather", 64 * KIB, 300),
    ("allreduce", 8, 1000),
    ("allreduce", 64 * KIB, 300),
    ("allreduce", MIB, 60),
    ("allgather", MIB, 12),
    ("alltoall", 64 * KIB, 100),
    ("ten seconds of sleep", 0, 1),
)
"""What is called, with how many bytes of each rank, and how often."""

PROGRAM = f"""
import time
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD

def measure(name, size, times):
    count = size // 8
    one, other = numpy.ones(count), numpy.empty(count)
    all_out, all_in = numpy.ones(count * world.size), numpy.empty(count * world.size)
    call = {{
        "barrier": world.Barrier,
        "bcast": lambda: world.Bcast(one),
        "gather": lambda: world.Gather(one, all_in),
        "allreduce": lambda: world.Allreduce(one, other),
        "allgather": lambda: world.Allgather(one, all_in),
        "alltoall": lambda: world.Alltoall(all_out, all_in),
        "ten seconds of sleep": lambda: time.sleep(10),
    }}[name]
    for _ in range(min(3, times - 1)):
        call()
    world.Barrier()
    if world.rank == 0:
        print("begin", flush=True)
    time.sleep(0.1)
    begun = time.perf_counter()
    for _ in range(times):
        call()
    world.Barrier()
    took = time.perf_counter() - begun
    if world.rank == 0:
        print("end", took, flush=True)
    time.sleep(0.1)

for case in {CASES!r}:
    measure(*case)
"""
WAYS = {"with": "", "without": '<failure-detector protocol="none"/>'}
WHAT = ("clock", "ranks, each call", "others, each second")
CLUSTER = '<cluster><mpi ranks="2"/></cluster>'
Figures = dict[str, tuple[float, float, float]]
"""Of each case: seconds on the clock and of the ranks' processors for each call, and of the other
processes for each second."""


def used(run: int) -> tuple[float, float]:
    """Return the processor time that all ranks of a run, and its other processes, have had."""
    ranks = others = 0.0
    for pid in descendants({run}, processes()) | {run}:
        with suppress(OSError):
            seconds = time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid has it
            if Path(f"/proc/{pid}/comm").read_text().startswith("rank "):
                ranks += seconds
            else:
                others += seconds
    return ranks, others


def measured(command: list[str], popen: Callable[..., subprocess.Popen[str]]) -> Figures:
    """Run the program once."""
    found: Figures = {}
    with popen(
        command, stdout=subprocess.PIPE, env=environment() | {"PYTHONPATH": str(ROOT)}
    ) as run:
        assert run.stdout is not None
        before, begun = (0.0, 0.0), 0.0
        cases = iter(CASES)
        for line in run.stdout:
            word, *rest = line.split()
            if word == "begin":
                before, begun = used(run.pid), time.monotonic()
            elif word == "end":
                (ranks, others), took = used(run.pid), time.monotonic() - begun
                name, size, times = next(cases)
                found[title(name, size)] = (
                    float(rest[0]) / times,
                    (ranks - before[0]) / times,
                    (others - before[1]) / took,
                )
    if len(found) < len(CASES):
        sys.exit(f"{' '.join(command)}: it ended with {run.returncode}")
    return found


def title(name: str, size: int) -> str:
    """Return what a row is called.

    >>> title("bcast", 65536), title("bcast", 8), title("barrier", 0)
    ('bcast 64 KiB', 'bcast 8 B', 'barrier')
    """
    units = ((MIB, "MiB"), (KIB, "KiB"), (1, "B"))
    return next((f"{name} {size // one} {unit}" for one, unit in units if size >= one), name)


def write(folder: Path, detector: str, grid: str) -> list[str]:
    """Write the program and a descriptor; return the command that runs it."""
    (folder / "cost.py").write_text(PROGRAM)
    file = folder / "cost.xml"
    file.write_text(
        f'<deployment name="cost"><application script="cost.py"/>{detector}{grid}</deployment>'
    )
    return [*COMMAND, "--quiet", str(file)]


@contextmanager
def on_this_host(folder: Path) -> Iterator[Callable[[str], Figures]]:
    """Yield what measures a way on processes of this host."""
    site = f"<site>{2 * CLUSTER}</site>"

    def measure(way: str) -> Figures:
        # without the element there is none on one host
        detector = WAYS[way] or "<failure-detector/>"
        popen = subprocess.Popen
        return measured(
            write(folder, detector, f"<grid>{2 * site}</grid>"),
            lambda command, **options: popen(command, text=True, **options),
        )

    yield measure


@contextmanager
def on_a_grid(folder: Path) -> Iterator[Callable[[str], Figures]]:
    """Yield what measures a way on an emulated grid, 5 ms and 1 Gbit/s between its sites."""
    with EmulatedGrid(Layout((2, 2))) as grid:
        sites = "".join(
            f"<site>{''.join(cluster_element(one, 2) for one in clusters)}</site>"
            for clusters in (
                [one for one in grid.clusters.values() if one.site == site] for site in (0, 1)
            )
        )

        def measure(way: str) -> Figures:
            command = write(folder, WAYS[way], f'<grid encryption="none">{sites}</grid>')
            return measured(command, lambda words, **options: grid.popen("c0", words, **options))

        yield measure


def row(name: str, turns: list[dict[str, Figures]]) -> str:
    """Return a row of the table."""
    cells = [name]
    for which in range(3):
        times = {way: [1000 * turn[way][name][which] for turn in turns] for way in WAYS}
        for way in WAYS:
            low, middle, high = statistics.quantiles(times[way], n=4)
            cells.append(f"{middle:.3g} ms ({low:.3g}-{high:.3g})")
        pairs = list(zip(times["with"], times["without"], strict=True))
        if which < 2:
            cells.append(f"{100 * statistics.median(a / b - 1 for a, b in pairs):+.1f} %")
        else:
            cells.append(f"{statistics.median(a - b for a, b in pairs):+.1f} ms")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure in turns and print tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.detector_cost",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--turns", type=int, default=12, metavar="N", help="how many turns (12)")
    parser.add_argument("--grid", action="store_true", help="on an emulated grid, which needs root")
    parser.add_argument("--json", type=Path, help="write all figures to a file")
    options = parser.parse_args()
    if options.grid and (lacking := missing()):
        sys.exit(lacking)
    turns = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        measure = stack.enter_context((on_a_grid if options.grid else on_this_host)(folder))
        for number in range(options.turns):
            order = list(WAYS) if number % 2 else list(reversed(WAYS))
            turns.append({way: measure(way) for way in order})
    print(f"{os.cpu_count()} cores, {options.turns} turns, load {os.getloadavg()[0]:.1f}\n")
    columns = [f"{what} {way}" for what in WHAT for way in (*WAYS, "difference")]
    print(f"| | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
    print("\n".join(row(title(name, size), turns) for name, size, _ in CASES))
    if options.json:
        options.json.write_text(json.dumps(turns, indent=1))


if __name__ == "__main__":
    main()
