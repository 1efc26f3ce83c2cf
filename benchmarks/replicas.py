"""`python -m benchmarks.replicas`: what two replicas of each rank cost, against one.

Twice as many processes compute as without replicas. So a run with replicas is compared with two
runs without, one beside the other: these do as much, but know nothing of each other. All three take
turns, so that what else the machine does meets them alike; a row has the medians of all turns.
Where the machine is busy, the processor time of all processes and how often they were woken say
more than the time on the clock.
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

def there_and_back(part, whole):
    if rank == 0:
        world.Send(part, dest=1)
        world.Recv(whole, source=1)
    elif rank == 1:
        world.Recv(whole, source=0)
        world.Send(part, dest=0)

def allreduce(part, whole):
    world.Allreduce(part, whole)

def figures():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime, used.ru_nvcsw

found = {}
for name, call in (("there and back", there_and_back), ("allreduce", allreduce)):
    for bytes, times in ((8, 1000), (65536, 300), (1 << 20, 60)):
        part = numpy.ones(bytes // 8)
        whole = numpy.empty_like(part)
        for _ in range(5):
            call(part, whole)
        world.Barrier()
        begun = figures()
        for _ in range(times):
            call(part, whole)
        found[f"{name}, {bytes} B"] = [(b - a) / times for a, b in zip(begun, figures())]
with open(os.path.join(sys.argv[1], f"{os.getpid()}.json"), "w") as file:
    json.dump(found, file)
"""
COMMAND = "import sys; from runtime.cli import main; sys.exit(main())"
LIMIT = 240.0
Figures = tuple[float, float, float]
"""Of a call: seconds on the clock, of processor time, and how often a process was woken."""


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
    clock, used, woken = zip(*processes, strict=True)
    return max(clock), sum(used), sum(woken)


def main() -> None:
    """Measure in turns and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replicas", description=__doc__)
    parser.add_argument("--ranks", type=int, default=2, metavar="N", help="how many ranks (2)")
    parser.add_argument("--turns", type=int, default=5, metavar="N", help="how many turns (5)")
    options = parser.parse_args()
    ways = {"r = 1": (1, 1), "two runs": (1, 2), "r = 2": (2, 1)}
    turns = [
        [measured(options.ranks, replicas, runs) for replicas, runs in ways.values()]
        for _ in range(options.turns)
    ]
    load = os.getloadavg()[0]
    print(
        f"{options.ranks} ranks, {os.cpu_count()} cores, {options.turns} turns, load {load:.1f}\n"
    )
    print(f"| | {' | '.join(ways)} |\n|---{'|---' * len(ways)}|")
    for case in turns[0][0]:
        cells = []
        for way in range(len(ways)):
            clock, used, woken = (
                statistics.median(turn[way][case][which] for turn in turns) for which in range(3)
            )
            cells.append(f"{1000 * clock:.2f} ms, {1000 * used:.2f} ms used, woken {woken:.1f}")
        print(f"| {case} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
