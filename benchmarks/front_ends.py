"""What front-ends carry: how fairly many pairs share one, and what a huge message takes of memory.

    python -m benchmarks.front_ends                  both
    python -m benchmarks.front_ends shares --pairs 16 --seconds 3
    python -m benchmarks.front_ends memory --mebibytes 1024

`shares`: one process sends over as many connections as there are pairs, as fast as they take it,
all through one front-end, to one process that counts what comes. `memory`: a message between two
clusters that can only connect outwards, through the front-end of a third one, with `gcm-deploy`;
of each process the most memory it ever had counts.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from benchmarks.echoes.members import ENDS, FRONT_ENDS, member
from benchmarks.grid.networks import ROOT
from benchmarks.report import Goal, Line, show
from runtime.wire.dialling.connecting import Dialling
from runtime.wire.dialling.forwarded import ForwardedAttempt

LOOPBACK = "127.0.0.1"
PORT = 5750
PIECE = 256 << 10
MIB = 1 << 20
LEAST_SHARE = 0.5
MOST_OVER = 64
DESCRIPTOR = """<deployment name="memory"><application script="program.py"/><grid>
  <site name="a"><cluster name="a" reachability="outwards"><mpi ranks="1"/></cluster></site>
  <site name="b"><cluster name="b" reachability="front-end"><mpi ranks="1"/></cluster></site>
  <site name="c"><cluster name="c" reachability="outwards"><mpi ranks="1"/></cluster></site>
</grid></deployment>
"""
PROGRAM = """
import json, pathlib, sys
from mpi4py import MPI
import numpy as np

def peak(pid):
    status = pathlib.Path(f"/proc/{{pid}}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

world, size = MPI.COMM_WORLD, {mebibytes} << 20
if world.rank != 1:
    data = np.full(size // 8, 1.5 * (world.rank == 0))
world.Barrier()
if world.rank == 0:
    world.Send(data, 2)
if world.rank == 2:
    world.Recv(data, 0)
    assert data[0] == data[-1] == 1.5
world.Barrier()
found = world.gather((f"rank {{world.rank}}", peak("self"), world.rank != 1), 0)
if world.rank == 0:
    peaks = []
    for one in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if one.read_text().strip() == "gcm-front-end":
                peaks.append(peak(one.parent.name))
        except (OSError, StopIteration):  # it ends just now, and has no memory any more
            pass
    found.append(("the largest front-end", max(peaks), False))
    print(json.dumps(found))
"""


def shares(pairs: int, seconds: float) -> list[int]:
    """Return how many bytes of each pair came through one front-end."""
    with ExitStack() as stack:
        end = socket.create_server((LOOPBACK, 0))
        there = f"{ENDS[1]}={LOOPBACK}:{end.getsockname()[1]}"
        front_end = stack.enter_context(
            subprocess.Popen(
                [
                    *_python("benchmarks.echoes"),
                    "forward",
                    FRONT_ENDS[1],
                    f"{LOOPBACK}:{PORT}",
                    there,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=ROOT,
            )
        )
        stack.callback(front_end.kill)
        assert front_end.stdout is not None
        front_end.stdout.readline()
        counter = stack.enter_context(
            subprocess.Popen(
                [*_python("benchmarks.front_ends"), "count", "--pairs", str(pairs)],
                stdin=end.fileno(),
                stdout=subprocess.PIPE,
                cwd=ROOT,
            )
        )
        stack.callback(counter.kill)
        end.close()
        _pour([_opened() for _ in range(pairs)], seconds)
        counts: list[int] = json.loads(counter.communicate()[0])
    return counts


def count(pairs: int) -> None:
    """Count what comes over each connection to the listener that is this process's input."""
    with socket.socket(fileno=os.dup(0)) as listener, selectors.DefaultSelector() as selector:
        counts = [0] * pairs
        for number in range(pairs):
            came, _ = listener.accept()
            selector.register(came, selectors.EVENT_READ, number)
        room = bytearray(PIECE)
        while selector.get_map():
            for key, _ in selector.select():
                assert isinstance(key.fileobj, socket.socket)
                received = key.fileobj.recv_into(room)
                counts[key.data] += received
                if not received:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
    print(json.dumps(counts))


def _opened() -> socket.socket:
    """Return a connection through the front-end."""
    ways = (f"{LOOPBACK}:{PORT}",)
    credentials = member(ENDS[0], encrypts=False)
    now = time.monotonic()
    asked = ForwardedAttempt(
        Dialling("the front-end", FRONT_ENDS[1], ways, credentials, now), (ENDS[1],), "the end"
    )
    while True:
        poll = select.poll()
        poll.register(asked.fileno(), asked.events)
        poll.poll(1000)
        opened = asked.step(time.monotonic())
        if opened is not None:
            return opened[0]


def _pour(connections: Sequence[socket.socket], seconds: float) -> None:
    """Send over all connections whatever they take."""
    data = bytes(PIECE)
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for one in connections:
            selector.register(one, selectors.EVENT_WRITE)
        while time.monotonic() < deadline:
            for key, _ in selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.send(data)
    for one in connections:
        one.close()


def memory(mebibytes: int) -> list[tuple[str, float, bool]]:
    """Return what each process took at most, in MiB, and whether it held the message."""
    with tempfile.TemporaryDirectory(prefix="gcm-bench-") as name:
        folder = Path(name)
        (folder / "program.py").write_text(PROGRAM.format(mebibytes=mebibytes), "utf-8")
        (folder / "memory.xml").write_text(DESCRIPTOR, "utf-8")
        done = subprocess.run(
            [*_python("runtime.cli"), "--quiet", "memory.xml"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"benchmarks.front_ends: {done.stderr.strip()[-600:]}")
    return [(who, peak, holds) for who, peak, holds in json.loads(done.stdout.splitlines()[-1])]


def _python(module: str) -> list[str]:
    return [sys.executable, "-m", module]


def show_shares(counts: Sequence[int], seconds: float, console: Console) -> None:
    """Print how equal they are."""
    mean = sum(counts) / len(counts)
    goal = Goal(LEAST_SHARE, min(counts) / mean, "of the mean", at_least=True)
    lines = [
        Line("all pairs together", f"{sum(counts) / seconds / 1e6:.0f} MB/s"),
        Line(
            f"smallest share of {len(counts)} pairs",
            f"{min(counts) / seconds / 1e6:.1f} MB/s",
            f"mean {mean / seconds / 1e6:.1f}, largest {max(counts) / seconds / 1e6:.1f} MB/s",
            f"{goal.figure:.2f}",
            goal,
        ),
    ]
    show("Pairs that share one front-end", lines, console)


def show_memory(found: Sequence[tuple[str, float, bool]], mebibytes: int, console: Console) -> None:
    """Print what each process took beyond its buffer."""
    lines = []
    for who, peak, holds in found:
        over = peak - mebibytes * holds
        goal = Goal(MOST_OVER, over, "MiB")
        buffer = f"its buffer: {mebibytes} MiB" if holds else ""
        lines.append(Line(who, f"{peak:.0f} MiB", buffer, f"+ {over:.0f} MiB", goal))
    show(f"Memory for a message of {mebibytes} MiB", lines, console)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.front_ends", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", nargs="?", choices=("both", "shares", "memory", "count"))
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--mebibytes", type=int, default=1024)
    options = parser.parse_args(argv)
    if options.what == "count":
        count(options.pairs)
        return
    console = Console(width=max(100, Console().width))
    if options.what != "memory":
        show_shares(shares(options.pairs, options.seconds), options.seconds, console)
    if options.what != "shares":
        show_memory(memory(options.mebibytes), options.mebibytes, console)


if __name__ == "__main__":
    main()
