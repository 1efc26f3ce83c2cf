"""The wire between ranks beside plain TCP, stock Pyro5 and others: the time of one way.

    python -m benchmarks.wire                    on the loopback, and over an emulated LAN and WAN
    python -m benchmarks.wire loopback --ways post,zmq --seconds 0.2

Packages that are not installed are left out and named. Over a grid it needs root. Each table is
printed, drawn into build/benchmarks by time and by bandwidth, and written as JSON when asked for.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console

from benchmarks import pictures, report
from benchmarks.echoes.contract import WAYS, is_installed
from benchmarks.grid import EmulatedGrid, Layout, missing
from benchmarks.mpi_launch import RunFailed
from benchmarks.mpi_rows import Found, Row
from benchmarks.mpi_show import show
from benchmarks.wire_goals import goals
from benchmarks.wire_measure import keep_best, medians, one_way

KIB, MIB = 1 << 10, 1 << 20
SIZES = (1, KIB, 64 * KIB, MIB, 4 * MIB, 64 * MIB)
FAR_SIZES = SIZES[:-1]
PICTURES = Path("build/benchmarks")
PLACES = {
    "loopback": "On the loopback of this machine",
    "lan": "Between two clusters of one site",
    "wan": "Between two sites, 5 ms and 1 Gbit/s",
}


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wire", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("places", nargs="*", metavar="PLACE", help=", ".join(PLACES))
    parser.add_argument("--ways", default=",".join(WAYS), help="which ways to talk")
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each size")
    parser.add_argument("--turns", type=int, default=3, help="all ways again; the best one counts")
    parser.add_argument("--timeout", type=float, default=90.0, help="most time of one way")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    options = parser.parse_args(argv)
    options.places = options.places or list(PLACES)
    options.ways = options.ways.split(",")
    unknown = [one for one in options.places if one not in PLACES]
    unknown += [one for one in options.ways if one not in WAYS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    return options


def measured(place: str, options: argparse.Namespace) -> Found:
    """Measure all ways in one place."""
    sizes = SIZES if place == "loopback" else FAR_SIZES
    columns: dict[str, dict[int, float]] = {}
    faults = {WAYS[way][0]: "not installed" for way in options.ways if not is_installed(way)}
    ways = [way for way in options.ways if is_installed(way)] * options.turns
    layout = Layout((2,) if place == "lan" else (1, 1))
    with nullcontext() if place == "loopback" else EmulatedGrid(layout) as grid:
        for way in ways:
            name = WAYS[way][0]
            if name in faults:
                continue
            try:
                taken = one_way(
                    grid,
                    ("c0", "c1"),
                    sizes,
                    seconds=options.seconds,
                    timeout=options.timeout,
                    way=way,
                )
            except RunFailed as failure:
                faults[name] = str(failure)
                taken = medians(failure.figures)
            keep_best(columns.setdefault(name, {}), taken)
        late = grid.statistics().late if grid else 0.0
    floor = columns.pop(WAYS["tcp"][0], {})
    rows = [
        Row(
            "one way",
            size,
            floor.get(size),
            {n: one[size] for n, one in columns.items() if size in one},
        )
        for size in sizes
    ]
    return Found(f"wire-{place}", PLACES[place], rows, False, faults, late)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    options = arguments(argv)
    console = Console(width=max(140, Console().width))
    found = []
    PICTURES.mkdir(parents=True, exist_ok=True)
    for place in options.places:
        if place != "loopback" and (lacking := missing()):
            console.print(f"{PLACES[place]}: {lacking}\n", style="yellow")
            continue
        one = measured(place, options)
        show(one, console)
        report.show("Bandwidth of large arrays and time of the smallest", goals(one), console)
        pictures.by_size(one, PICTURES / one.name)
        found.append(one)
    if options.json:
        options.json.write_text(json.dumps([one.as_dict() for one in found], indent=1), "utf-8")


if __name__ == "__main__":
    main()
