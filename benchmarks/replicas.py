"""`python -m benchmarks.replicas`: what two replicas of each rank cost, against one.

Twice as many processes compute as without replicas. So a run with replicas is compared with two
runs without, one beside the other: these do as much on as many processors, but know nothing of each
other. Both take turns, so that what else the machine does meets them alike; a row has the medians
of all turns. Where the machine is busy, the processor time of all processes says more than the time
on the clock.

The last row is of a program that computes: a heat equation in strips, whose ranks exchange edges
in each step and reduce the largest change. Below is printed for how much of its time it computes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

PROGRAM = """\
import json, os, resource, sys, time
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
before, after = (rank - 1) % size, (rank + 1) % size

def there_and_back(part, whole):
    if rank == 0:
        world.Send(part, dest=1)
        world.Recv(whole, source=1)
    elif rank == 1:
        world.Recv(whole, source=0)
        world.Send(part, dest=0)

def from_anybody(part, whole):
    if rank == 0:
        world.Send(part, dest=1)
        world.Recv(whole, source=MPI.ANY_SOURCE)
    elif rank == 1:
        world.Recv(whole, source=MPI.ANY_SOURCE)
        world.Send(part, dest=0)

def bcast(part, whole):
    world.Bcast(whole, root=0)

def allreduce(part, whole):
    world.Allreduce(part, whole)

def alltoall(part, whole):
    world.Alltoall([part, len(part) // size, MPI.BYTE], [whole, len(whole) // size, MPI.BYTE])

field = numpy.full((18, 8192), float(rank))
inner, new = field[1:-1], numpy.empty((16, 8192))
computed = 0.0

def heat(part, whole):
    global computed
    world.Sendrecv(field[1], before, recvbuf=field[-1], source=after)
    world.Sendrecv(field[-2], after, recvbuf=field[0], source=before)
    begun = time.thread_time()
    for _ in range(9):
        numpy.add(field[:-2], field[2:], out=new)
        new[:, 1:] += inner[:, :-1]
        new[:, :-1] += inner[:, 1:]
        numpy.multiply(new, 0.25, out=new)
        numpy.subtract(inner, new, out=inner)
        change = abs(inner.max()), abs(inner.min())
        inner[:] = new
    computed += time.thread_time() - begun
    world.Allreduce(numpy.array(change), numpy.empty(2), MPI.MAX)

def figures():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime, computed

found = {}
for name, call, sizes in (
    ("there and back", there_and_back, (1, 65536, 1 << 20)),
    ("from any source", from_anybody, (1,)),
    ("bcast", bcast, (8, 65536, 1 << 20)),
    ("allreduce", allreduce, (8, 65536, 1 << 20)),
    ("alltoall", alltoall, (8, 65536, 1 << 20)),
    ("heat equation", heat, (65536,)),
):
    for bytes in sizes:
        times = 1000 if bytes < 65536 else 300 if bytes < 1 << 20 else 60
        part, whole = numpy.ones(bytes, "b"), numpy.ones(bytes, "b")
        for _ in range(5):
            call(part, whole)
        world.Barrier()
        begun = figures()
        for _ in range(times):
            call(part, whole)
        world.Barrier()
        found[f"{name}, {bytes} B"] = [(b - a) / times for a, b in zip(begun, figures())]
with open(os.path.join(sys.argv[1], f"{os.getpid()}.json"), "w") as file:
    json.dump(found, file)
"""
COMPUTES = "heat equation, 65536 B"
"""The last case of the program."""

COMMAND = "import sys; from runtime.cli import main; sys.exit(main())"
LIMIT = 240.0
Figures = tuple[float, float, float]
"""Of a call: seconds on the clock, of processor time, and of that in the program itself."""
WAYS = {"two runs": (1, 2), "r = 2": (2, 1)}
"""How many replicas there are, and how many runs beside each other."""


def measured(ranks: int, replicas: int, runs: int) -> dict[str, Figures]:
    """Return the figures of each case in runs beside each other; each process is a cluster."""
    machine = ["--emulate", f"{ranks * replicas}x1", "--replicas", str(replicas)]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as figures:
        (Path(folder) / "cost.py").write_text(PROGRAM)
        command = [sys.executable, "-c", COMMAND, "--quiet", *machine, "cost.py", figures]
        started = [
            subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
            for _ in range(runs)
        ]
        for run in started:
            _, errors = run.communicate(timeout=LIMIT)
            if run.returncode:
                sys.exit(f"with {replicas} replicas it ended with {run.returncode}:\n{errors}")
        written = [json.loads(file.read_text()) for file in Path(figures).iterdir()]
    return {case: _together([one[case] for one in written]) for case in written[0]}


def _together(processes: Sequence[Sequence[float]]) -> Figures:
    clock, used, computed = zip(*processes, strict=True)
    return max(clock), sum(used), sum(computed)


def main() -> None:
    """Measure in turns and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replicas", description=__doc__)
    parser.add_argument("--ranks", type=int, default=2, metavar="N", help="how many ranks (2)")
    parser.add_argument("--turns", type=int, default=5, metavar="N", help="how many turns (5)")
    options = parser.parse_args()
    turns = [
        {way: measured(options.ranks, *numbers) for way, numbers in WAYS.items()}
        for _ in range(options.turns)
    ]
    load = os.getloadavg()[0]
    print(
        f"{options.ranks} ranks, {os.cpu_count()} cores, {options.turns} turns, load {load:.1f}\n"
    )
    print("| | two runs: time, used | r = 2: time, used | time | used |\n|---|---|---|---|---|")
    for case in turns[0]["r = 2"]:
        runs, replicas = (
            [statistics.median(turn[way][case][which] for turn in turns) for which in range(2)]
            for way in WAYS
        )
        cells = [f"{1000 * clock:.2f} ms, {1000 * used:.2f} ms" for clock, used in (runs, replicas)]
        cells += [f"{b / a:.2f}" for a, b in zip(runs, replicas, strict=True)]
        print(f"| {case} | {' | '.join(cells)} |")
    last = [turn["two runs"][COMPUTES] for turn in turns]
    share = statistics.median(computed / used for _, used, computed in last)
    print(f"\nIn the last row two runs compute for {share:.0%} of their processor time.")


if __name__ == "__main__":
    main()
