"""`python -m benchmarks.replicas`: what two replicas of each rank cost, against one.

Both run in turns, so that what else the machine does meets both alike; a row has the median of all
turns and that of the ratios within a turn. With replicas twice as many processes compute, so spare
cores are needed for figures that are about messages alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """\
import json, sys, time
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

found = {}
for name, call in (("there and back", there_and_back), ("allreduce", allreduce)):
    for bytes, times in ((8, 200), (65536, 100), (1 << 20, 20)):
        part = numpy.ones(bytes // 8)
        whole = numpy.empty_like(part)
        for _ in range(5):
            call(part, whole)
        world.Barrier()
        begun = time.perf_counter()
        for _ in range(times):
            call(part, whole)
        found[f"{name}, {bytes} B"] = (time.perf_counter() - begun) / times
if rank == 0:
    print(json.dumps(found))
"""
COMMAND = "import sys; from runtime.cli import main; sys.exit(main())"
LIMIT = 180.0
Figures = dict[str, float]


def measured(folder: Path, ranks: int, replicas: int) -> Figures:
    """Return the seconds of each case in one run, in which each rank is a cluster or two."""
    machine = ["--emulate", f"{ranks * replicas}x1", "--replicas", str(replicas)]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "--quiet", *machine, "cost.py"],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"with {replicas} replicas it ended with {done.returncode}:\n{done.stderr}")
    found: Figures = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure in turns and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replicas", description=__doc__)
    parser.add_argument("--ranks", type=int, default=2, metavar="N", help="how many ranks (2)")
    parser.add_argument("--turns", type=int, default=5, metavar="N", help="how many turns (5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cost.py").write_text(PROGRAM)
        turns = [
            [measured(Path(folder), options.ranks, replicas) for replicas in (1, 2)]
            for _ in range(options.turns)
        ]
    load = os.getloadavg()[0]
    print(
        f"{options.ranks} ranks, {os.cpu_count()} cores, {options.turns} turns, load {load:.1f}\n"
    )
    print("| | r = 1 | r = 2 | times as long |\n|---|---|---|---|")
    for case in turns[0][0]:
        one, two = (statistics.median(turn[at][case] for turn in turns) for at in (0, 1))
        ratio = statistics.median(turn[1][case] / turn[0][case] for turn in turns)
        print(f"| {case} | {1000 * one:.2f} ms | {1000 * two:.2f} ms | {ratio:.1f} |")


if __name__ == "__main__":
    main()
