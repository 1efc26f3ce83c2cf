"""What goes over a long line in one direction: plain TCP over one connection, and ours.

    python -m benchmarks.streams                        all cases
    python -m benchmarks.streams windows --ways tcp,ours,tls --seconds 4

Ours opens more connections where one cannot fill the line, by itself. The line is 10 ms long and
carries 1 Gbit/s. It needs root, for an emulated grid; the windows of a host are set in the network
of each cluster. What counts is the rate after some seconds, in which both have found theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from benchmarks.echoes.members import CERTIFICATE_FILE, write_certificate
from benchmarks.grid import EmulatedGrid, Layout, missing
from benchmarks.grid import Line as Wire
from benchmarks.grid.lines import PACKET
from benchmarks.grid.networks import ROOT
from benchmarks.mpi_launch import RunFailed
from benchmarks.mpi_show import LATE
from benchmarks.report import Goal, Line, duration, show

PORT = 5900
DELAY, RATE = 0.010, 1e9
DATA = 1448
"""Bytes of a full packet that are not headers: so much of a line can carry data."""

LEAST = 0.9
NAMES = {"tcp": "plain TCP", "ours": "ours", "tls": "ours, TLS"}


@dataclass(frozen=True, slots=True)
class Case:
    """A line, and how much the system of both hosts lets one connection have on its way."""

    title: str
    loss: float = 0.0
    settings: Mapping[str, str] = field(default_factory=dict)
    warming: float = 4.0
    needs_one: bool = False


_SMALL = dict.fromkeys(("tcp_rmem", "tcp_wmem"), f"4096 65536 {1 << 20}")
CASES = {
    "windows": Case("windows of at most 1 MiB", settings=_SMALL),
    "losses": Case("1 packet in 50,000 lost", loss=2e-5, warming=10.0),
    "usual": Case("usual windows, no losses", needs_one=True),
}


@dataclass(frozen=True, slots=True)
class Found:
    """What went over the line, as a share of what it can carry, over how many connections."""

    share: float
    connections: int


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--ways", default="tcp,ours", help=", ".join(NAMES))
    parser.add_argument("--seconds", type=float, default=4.0, help="time that counts")
    parser.add_argument("--turns", type=int, default=2, help="all again; the best one counts")
    options = parser.parse_args(argv)
    options.cases = options.cases or list(CASES)
    options.ways = options.ways.split(",")
    unknown = [one for one in options.cases if one not in CASES]
    unknown += [one for one in options.ways if one not in NAMES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    return options


def measured(case: Case, ways: Sequence[str], seconds: float) -> tuple[dict[str, Found], float]:
    """Return what each way achieves, and how late packets were."""
    layout = Layout((1, 1), wan=Wire(DELAY, RATE, loss=case.loss))
    with EmulatedGrid(layout) as grid:
        for cluster in grid.clusters:
            for name, value in case.settings.items():
                words = ["sh", "-c", f"echo '{value}' > /proc/sys/net/ipv4/{name}"]
                grid.run(cluster, words, timeout=10)
        with tempfile.TemporaryDirectory(prefix="gcm-bench-") as folder:
            environment = {**os.environ, CERTIFICATE_FILE: f"{folder}/certificate.pem"}
            write_certificate(Path(environment[CERTIFICATE_FILE]))
            found = {way: stream(grid, way, case.warming, seconds, environment) for way in ways}
        return found, grid.statistics().late


def stream(
    grid: EmulatedGrid,
    way: str,
    warming: float,
    seconds: float,
    environment: Mapping[str, str],
) -> Found:
    """Send from one cluster to the other; raises `RunFailed`."""
    whole = warming + seconds
    source, target = grid.clusters
    where = (way, grid.clusters[target].address, str(PORT))
    receiver = start(grid, target, ["receive", *where], environment)
    try:
        assert receiver.stdout is not None
        receiver.stdout.readline()
        sender = start(grid, source, ["send", *where, str(whole)], environment)
        try:
            said, _ = sender.communicate(timeout=whole + 30)
            heard, _ = receiver.communicate(timeout=30)
        finally:
            sender.kill()
    except subprocess.TimeoutExpired:
        raise RunFailed(f"'{way}' does not end", []) from None
    finally:
        receiver.kill()
    if sender.returncode or receiver.returncode:
        raise RunFailed(f"'{way}' ended with an error", [])
    return Found(share(json.loads(heard), warming), json.loads(said))


def start(
    grid: EmulatedGrid, cluster: str, words: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    """Start one end."""
    command = [sys.executable, "-m", "benchmarks.stream_ends", *words]
    return grid.popen(cluster, command, stdout=subprocess.PIPE, env=environment, cwd=str(ROOT))


def share(notes: Sequence[tuple[float, int]], warming: float) -> float:
    """Return the share of the line that was used after the first seconds.

    >>> round(share([(0.0, 0), (4.0, 5), (5.0, 5 + 117_685_305)], 4.0), 3)
    1.0
    """
    counted = [note for note in notes if note[0] >= notes[0][0] + warming]
    if len(counted) < 2:
        raise RunFailed("too little has come", [])
    (begin, before), (end, after) = counted[0], counted[-1]
    return 8 * (after - before) / (end - begin) / (RATE * DATA / PACKET)


def lines(case: Case, found: Mapping[str, Found]) -> Iterator[Line]:
    """Yield what was found in one case, with its goals."""
    for way, one in found.items():
        peer = None if way == "tcp" else found.get("tcp")
        count = f"{one.connections} connection{'s' if one.connections > 1 else ''}"
        yield Line(
            f"{case.title}: {NAMES[way]}, {count}",
            f"{one.share:.2f} of the line",
            f"{NAMES['tcp']}: {peer.share:.2f}" if peer else "",
            f"{one.share / peer.share:.2f} x" if peer else "",
            None if way == "tcp" else Goal(LEAST, one.share, "of the line", at_least=True),
        )
        if way != "tcp" and case.needs_one:
            goal = Goal(1, one.connections, "connection")
            yield Line(f"{case.title}: {NAMES[way]}", count, goal=goal)


def of_turns(case: Case, turns: Sequence[Found]) -> Found:
    """Return the best share, and as many connections as it took, or the most where one has to do.

    >>> of_turns(CASES["usual"], [Found(0.9, 2), Found(0.95, 1)])
    Found(share=0.95, connections=2)
    """
    best = max(turns, key=lambda one: one.share)
    most = max(one.connections for one in turns)
    return replace(best, connections=most) if case.needs_one else best


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    options = arguments(argv)
    console = Console(width=max(140, Console().width))
    if lacking := missing():
        console.print(f"Streams over a long line: {lacking}\n", style="yellow")
        return
    made: list[Line] = []
    latest = 0.0
    for name in options.cases:
        turns: dict[str, list[Found]] = {}
        for _ in range(options.turns):
            try:
                found, late = measured(CASES[name], options.ways, options.seconds)
            except RunFailed as failure:
                console.print(f"{CASES[name].title}: {failure}", style="yellow")
                continue
            latest = max(latest, late)
            for way, one in found.items():
                turns.setdefault(way, []).append(one)
        made += lines(
            CASES[name], {way: of_turns(CASES[name], found) for way, found in turns.items()}
        )
    show("One direction of a line of 10 ms and 1 Gbit/s", made, console)
    if latest > LATE:
        console.print(f"Packets were {duration(latest)} late on average", style="yellow")


if __name__ == "__main__":
    main()
