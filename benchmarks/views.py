"""`python -m benchmarks.views`: what it costs to see a run, by a trace, a record or the page.

The same calls on the same machine, by default 2 clusters of 2 ranks here, joined by the loopback,
in turns: unseen, traced, recorded, with the page, and with the page in a browser. The turns begin
with another way each. The first rank measures each call on the clock and by the processor time of
its own process, which other work on the machine changes little; the launcher and the front-ends are
measured from outside, while all ranks sleep. Of twenty blocks of calls the lower quartile counts,
of the turns the median, and behind it by how much each way differs from the unseen run.

A message is one send and one receive: the processor time of both is that of a round trip at one
end, its time on the clock half a round trip. The browser is a program that reads what the page is
sent; it draws nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import IO

from benchmarks.detector_cost import used
from tools.on_grids import COMMAND, environment

PROGRAM = """
import sys
import time

import numpy
from mpi4py import MPI

world, cluster = MPI.COMM_WORLD, MPI.COMM_CLUSTER
data, far = numpy.zeros(1), world.size // 2

def wait_for_all():
    request = world.Ibarrier()
    while not request.Test():
        time.sleep(0.02)

def ping(comm, me, other):
    def play(times):
        for _ in range(times):
            if comm.rank == me:
                comm.Send(data, other)
                comm.Recv(data, other)
            elif comm.rank == other:
                comm.Recv(data, me)
                comm.Send(data, me)
    return play

def send(times):
    for _ in range(times):
        cluster.Send(data, MPI.PROC_NULL)

def request(times):
    for _ in range(times):
        cluster.Irecv(data, MPI.PROC_NULL).Wait()

for name, play, times, messages, parts in (
    ("message between clusters", ping(world, 0, far), 200, 2, (0, far)),
    ("message inside a cluster", ping(cluster, 0, 1), 1000, 2, (0, 1)),
    ("call that returns at once", send, 4000, 1, (0,)),
    ("request and its wait", request, 2000, 1, (0,)),
):
    wait_for_all()
    if world.rank in parts:
        took = []
        for _ in range(20):
            clock, processor = time.perf_counter(), time.process_time()
            play(times)
            took.append((time.perf_counter() - clock, time.process_time() - processor))
        clock, processor = (sorted(one)[len(took) // 4] / times for one in zip(*took))
        if world.rank == 0:
            print("case", clock / messages, processor, name, flush=True)
wait_for_all()
if world.rank == 0:
    print("begin", flush=True)
time.sleep(4.5)
if world.rank == 0:
    print("end", flush=True)
wait_for_all()
"""

UNSEEN = "unseen"
WAYS: dict[str, tuple[str, ...]] = {
    UNSEEN: (),
    "--trace": ("--trace", "run.json"),
    "--record": ("--record", "run.facts"),
    "--web": ("--web",),
    "--web, read": ("--web",),
}
OTHERS = "launcher and front-ends, a second"
Turn = dict[str, dict[str, tuple[float, float]]]
"""Of each way and case: seconds on the clock and of a processor."""


def read_page(line: str) -> None:
    """Read what the page of a run is sent, as a browser does, until the run ends."""
    url, _, token = line.rsplit(maxsplit=1)[-1].partition("#")
    asked = urllib.request.Request(f"{url}events", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked) as events:
        for _ in events:
            pass


def drained(stream: IO[str], way: str) -> None:
    """Take what the command says, and open its page if the way is to read it."""
    for line in stream:
        if way.endswith("read") and "http://" in line:
            threading.Thread(target=read_page, args=(line,), daemon=True).start()


def measured(machine: str, way: str, folder: Path) -> dict[str, tuple[float, float]]:
    """Run the program once."""
    words = [*COMMAND, "--quiet", *WAYS[way], "--emulate", machine, "calls.py"]
    found: dict[str, tuple[float, float]] = {}
    with subprocess.Popen(
        words, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(),
    ) as run:  # fmt: skip
        assert run.stdout is not None
        assert run.stderr is not None
        threading.Thread(target=drained, args=(run.stderr, way), daemon=True).start()
        begun = before = 0.0
        for line in run.stdout:
            word, *told = line.split(maxsplit=3)
            if word == "case":
                found[told[2].strip()] = float(told[0]), float(told[1])
            elif word == "begin":
                begun, before = time.monotonic(), used(run.pid)[1]
            elif word == "end":
                took = time.monotonic() - begun
                found[OTHERS] = took, (used(run.pid)[1] - before) / took
    if OTHERS not in found:
        raise SystemExit(f"{' '.join(words)}: it ended with {run.returncode}")
    return found


def cell(turns: list[Turn], case: str, way: str, which: int) -> str:
    """Return a figure of the table, with its difference from that of the unseen run."""
    scale, unit = (1e3, "ms") if case == OTHERS else (1e6, "µs")
    middle = scale * statistics.median(turn[way][case][which] for turn in turns)
    if way == UNSEEN:
        return f"{middle:.2f} {unit}"
    more = statistics.median(turn[way][case][which] - turn[UNSEEN][case][which] for turn in turns)
    return f"{middle:.2f} ({scale * more:+.2f})"


def main() -> None:
    """Measure in turns and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.views",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--turns", type=int, default=10, metavar="N", help="how many turns (10)")
    parser.add_argument("--machine", default="1x2x2", help="sites x clusters x ranks (1x2x2)")
    parser.add_argument("--ways", default="", help="only those that begin so")
    parser.add_argument("--json", type=Path, help="write all figures to a file")
    options = parser.parse_args()
    ways = [one for one in WAYS if one == UNSEEN or one.startswith(options.ways)]
    turns: list[Turn] = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "calls.py").write_text(PROGRAM)
        for number in range(options.turns):
            first = number % len(ways)
            order = ways[first:] + ways[:first]
            turns.append({way: measured(options.machine, way, Path(folder)) for way in order})
    print(f"{os.cpu_count()} cores, {options.turns} turns, load {os.getloadavg()[0]:.1f}\n")
    print(f"| | | {' | '.join(ways)} |\n|---|---{'|---' * len(ways)}|")
    for case in turns[0][UNSEEN]:
        for which, name in enumerate(("clock", "processor")):
            if case != OTHERS or which:
                cells = (cell(turns, case, way, which) for way in ways)
                print(f"| {case} | {name} | {' | '.join(cells)} |")
    if options.json:
        options.json.write_text(json.dumps(turns, indent=1))


if __name__ == "__main__":
    main()
