"""Runs with two replicas while hosts lose power at random; each has to end as if nothing had been.

python -m tests.network.power_cuts                  16 peers, 8 ranks, ten peers and a supernode
python -m tests.network.power_cuts --peers 4 --cuts 1 --seed 7
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from benchmarks.grid import EmulatedGrid, Layout, Line
from benchmarks.grid.peers import PeersOnHosts
from tests.conformance.source import folder_of_tests
from tools.on_grids import ROOT

LIMIT = 240.0
"""How many seconds a run may take; one that takes longer is a fault."""
WAN = Line(delay=0.01, rate=1e9)
PI = """\
import random, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
draw = random.Random(world.rank).random
for step in range(12):
    time.sleep(0.25)
    hits = world.allreduce(sum(draw() ** 2 + draw() ** 2 < 1 for _ in range(20000)))
    if world.rank == step % world.size:
        print(step, world.size, hits, flush=True)
    world.barrier()
"""
PROGRAMS: tuple[tuple[str, ...], ...] = (
    ("pi.py",),
    ("mergesort.py", "2000000"),
    ("mandelbrot.py",),  # a demo of mpi4py, taken from its source distribution
)


@contextmanager
def lab_of(peers: int, base: Path) -> Iterator[PeersOnHosts]:
    """Yield a started lab: peers in two sites, at the first host of each a supernode only."""
    half = peers // 2
    with EmulatedGrid(Layout((half + 1, peers - half + 1), wan=WAN)) as grid:
        hosts = list(grid.clusters)
        firsts = [hosts[0], hosts[half + 1]]
        lab = PeersOnHosts(
            grid, base, firsts, hosts[0], [one for one in hosts if one not in firsts]
        )
        (lab.work / "pi.py").write_text(PI)
        for name, source in (("mergesort.py", "flat.py"), ("numbers_to_sort.py",) * 2):
            shutil.copy(ROOT / "examples" / "21_mergesort" / source, lab.work / name)
        try:
            lab.start()
            yield lab
        finally:
            lab.stop()


def show(lab: PeersOnHosts, cuts: int, seed: int, programs: Sequence[tuple[str, ...]]) -> list[str]:
    """Run, and cut the power of a peer in each run; return what was not as it has to be."""
    chance, faults = random.Random(seed), list[str]()
    words = ("-n", str(len(lab.peers) // 2), "-r", "2", "-w", "60")
    wanted, took = dict[tuple[str, ...], str](), dict[tuple[str, ...], float]()
    for program in programs:
        begun = time.monotonic()
        code, wanted[program], errors = _run(lab, *words, *program)
        took[program] = time.monotonic() - begun
        if code:
            faults.append(f"undisturbed, {program[0]} ended with {code}: {errors}")
            print(faults[-1], flush=True)
            return faults
        print(f"undisturbed: {program[0]} in {took[program]:.1f} s", flush=True)
    for number in range(cuts):
        program = programs[number % len(programs)]
        victims = [chance.choice(lab.peers)]
        if number == cuts // 2:
            victims.append(lab.supernodes[0])
        after = chance.uniform(0, 0.9 * took[program])
        what = f"{number + 1}: {program[0]}, {' and '.join(victims)} after {after:.1f} s"
        timers = [threading.Timer(after, lab.kill, [one]) for one in victims]
        for timer in timers:
            timer.start()
        begun = time.monotonic()
        code, output, errors = _run(lab, *words, *program)
        lasted = time.monotonic() - begun
        for timer in timers:
            timer.join()
        left = lab.left_behind()
        is_good = not code and said(output) == said(wanted[program]) and not left
        print(f"{what}: {'as undisturbed' if is_good else 'WRONG'}, {lasted:.1f} s", flush=True)
        if not is_good:
            faults.append(f"{what}: code {code}\n{output}\n{errors}\nleft: {left}")
            print(faults[-1], flush=True)
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lab.boot, victims))
    return faults


def said(output: str) -> list[str]:
    """Return the lines that are the same each time: ranks write in any order, and tell times.

    >>> said("b\\nall: 1.03 seconds")
    ['all: # seconds', 'b']
    """
    return sorted(re.sub(r" *\d+\.\d+ s(?:econds)?\b", " # seconds", output).splitlines())


def _run(lab: PeersOnHosts, *words: str) -> tuple[int, str, str]:
    try:
        return lab.run(*words, timeout=LIMIT)
    except subprocess.TimeoutExpired as expired:
        why = f"not within {LIMIT:g} s\n{_text(expired.stderr)}"
        return -1, _text(expired.stdout), why


def _text(printed: bytes | str | None) -> str:
    return printed.decode(errors="replace") if isinstance(printed, bytes) else printed or ""


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", type=int, default=16)
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    found = parser.parse_args()
    print(f"seed {found.seed}", flush=True)
    demo = folder_of_tests().parent / "demo" / "mandelbrot" / "mandelbrot.py"
    with tempfile.TemporaryDirectory() as base, lab_of(found.peers, Path(base)) as lab:
        shutil.copy(demo, lab.work)
        return bool(show(lab, found.cuts, found.seed, PROGRAMS))


if __name__ == "__main__":
    sys.exit(main())
