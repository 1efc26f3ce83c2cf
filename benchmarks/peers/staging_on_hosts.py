"""`python -m benchmarks.peers.staging_on_hosts`: staging to real daemons at emulated hosts.

The time is that of a step of gcm-run: packing the folder of a program, and bringing it to n peers.
Each host has a line of its own. Needs root.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.grid import EmulatedGrid, Layout, Line
from benchmarks.grid.peers import PeersOnHosts
from runtime.peers.staging.broadcast import Shape
from tools.on_grids import ROOT

SHAPES = (Shape.PUSH, Shape.TREE, Shape.CHAIN)
SETTINGS = "processes = 1\n"
PROGRAM = """
import sys, time
from runtime.cli.lab_run import read_line
from runtime.cli.load import load_deployment
from runtime.cli.on_peers import run_on_peers
from runtime.peers.submission.steps import SubmissionStep
begun = 0.0
def hears(step):
    global begun
    if step is SubmissionStep.STAGE:
        begun = time.monotonic()
    if step is SubmissionStep.STAGED:
        print(time.monotonic() - begun)
        raise KeyboardInterrupt
options = read_line(["--quiet", "-w", "60", *sys.argv[1:], "program.py"])
try:
    run_on_peers(load_deployment(options), options, hears)
except KeyboardInterrupt:
    pass
"""


def seconds(lab: PeersOnHosts, peers: int, size: int, shape: Shape) -> float:
    """Return how long it takes to stage a new folder of this size."""
    (lab.work / "program.py").write_text("pass")
    (lab.work / "data").write_bytes(os.urandom(size))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "GCM_FOLDER": str(lab.base / "gcm"),
        "GCM_CREDENTIAL": str(lab.base / "ana.credential"),
    }
    words = [sys.executable, "-c", PROGRAM, "-n", str(peers), "--staging", shape]
    done = lab.grid.run(lab.user, words, timeout=300, env=environment, cwd=str(lab.work))
    if done.returncode or not done.stdout:
        sys.exit(done.stderr)
    return float(done.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=16)
    parser.add_argument("--rate", type=float, default=5.0, help="MB per second of each host")
    parser.add_argument("--peers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--turns", type=int, default=2)
    given = parser.parse_args()
    line = Line(delay=0.0002, rate=8e6 * given.rate)
    with (
        tempfile.TemporaryDirectory() as folder,
        EmulatedGrid(Layout((max(given.peers) + 1,), lan=line)) as grid,
    ):
        first, *others = grid.clusters
        lab = PeersOnHosts(grid, Path(folder), [first], first, others, settings=SETTINGS)
        try:
            lab.start()
            print("| peers | " + " | ".join(SHAPES) + " |", flush=True)
            print("|---" * (len(SHAPES) + 1) + "|")
            for peers in given.peers:
                size = given.megabytes << 20
                turns = [[seconds(lab, peers, size, one) for one in SHAPES]
                         for _ in range(given.turns)]  # fmt: skip
                row = " | ".join(f"{min(some):.1f} s" for some in zip(*turns, strict=True))
                print(f"| {peers} | {row} |", flush=True)
        finally:
            lab.stop()


if __name__ == "__main__":
    main()
