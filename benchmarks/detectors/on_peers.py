"""`python -m benchmarks.detectors.on_peers`: from a fault at a booked peer to those who know of it.

As `benchmarks.detectors.times`, with the second rank on a peer of a lab, at an emulated host. Needs
root.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.detectors.programs import PROGRAM
from benchmarks.detectors.times import Running, cut_link, kill_rank, known_after, lose_host, started
from benchmarks.grid import EmulatedGrid, Layout, Line
from benchmarks.grid.peers import RUN, PeersOnHosts
from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.daemon import find_running

SETTINGS = "processes = 1\nalive_every = 1\n"
WORDS = ("-n", "2", "-w", "60", "--progress", "never", "program.py")


def one_run(fault: str) -> dict[str, float]:
    """Return after how long who knew of a fault, in a lab of its own."""
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        grid = stack.enter_context(EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=400e6))))
        lab = PeersOnHosts(grid, base, ["c0"], "c0", ["c0", "c1"], settings=SETTINGS)
        stack.callback(lab.stop)
        lab.start()
        (lab.work / "program.py").write_text(PROGRAM)
        credential = lab.credential_of("bob")
        user = (f"GCM_FOLDER={base / 'gcm'}", f"GCM_CREDENTIAL={credential}")

        def kill_daemon(_: Running) -> None:
            found = find_running(PeerFolder(base / "c1"))
            assert found is not None
            os.kill(found.pid, signal.SIGKILL)

        faults: dict[str, Callable[[Running], None]] = {
            "rank killed": kill_rank,
            "daemon killed": kill_daemon,
            "host gone": lose_host,
            "link cut": cut_link,
        }
        command = ["env", *user, sys.executable, "-c", RUN, *WORDS]
        with started(lab.work, command, grid) as run:
            begun = time.monotonic()
            faults[fault](run)
            return known_after(run, begun)


CASES = ("rank killed", "daemon killed", "host gone", "link cut")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detectors.on_peers")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{'; '.join(CASES)}; all if none")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    print("| fault: who knows | runs | minimum | median | maximum |\n|---|---|---|---|---|")
    for name in options.cases or CASES:
        runs = [one_run(name) for _ in range(options.runs)]
        for who in runs[0]:
            times = [one[who] for one in runs]
            figures = min(times), statistics.median(times), max(times)
            words = [f"{one * 1000:.0f} ms" for one in figures]
            print(f"| {name}: {who} | {len(times)} | {' | '.join(words)} |", flush=True)


if __name__ == "__main__":
    main()
