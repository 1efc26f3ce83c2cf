"""MPI over an emulated grid: ours, flat MPICH, flat Open MPI, and the floor, in one run.

    python -m benchmarks.mpi                       all tables; needs root
    python -m benchmarks.mpi usual pingpong        some of them
    python -m benchmarks.mpi usual --only barrier:0 --columns ours,ucx --seconds 0.3

The tables: `usual`, `slow`, `unequal` and `cyclic` are collectives on four grids; `pingpong` is
point to point between two sites, `lan` inside one, and `inside` inside a cluster; `ranks` shows
what each rank costs. Medians. Each table is printed, drawn into build/benchmarks, and written as
JSON when asked for. Flat MPIs run from environments of their own, without this package.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import pictures, plots, report
from benchmarks.grid import missing
from benchmarks.mpi_goals import against_native
from benchmarks.mpi_launch import Launch, Mpich, OpenMpi, Ours
from benchmarks.mpi_measure import collectives, inside, pingpong, ranks, windows
from benchmarks.mpi_plain import plain_python
from benchmarks.mpi_rows import Found, size_of
from benchmarks.mpi_scenarios import SCENARIOS
from benchmarks.mpi_show import show

PICTURES = Path("build/benchmarks")
COLUMNS = ("ours", "ucx", "ofi", "openmpi")
MORE_COLUMNS = ("tls",)
POINT_TO_POINT = ("pingpong", "lan")
TABLES = (*(one.name for one in SCENARIOS), *POINT_TO_POINT, "inside", "windows", "ranks")


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mpi", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument(
        "--columns", default=",".join(COLUMNS), help="which ways to run it; also tls"
    )
    parser.add_argument("--only", default="", help="cases of collectives, such as bcast:8")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each case")
    parser.add_argument("--turns", type=int, default=2, help="all ways again; the best one counts")
    parser.add_argument("--timeout", type=float, default=180.0, help="most time of one program")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    options = parser.parse_args(argv)
    options.tables = options.tables or list(TABLES)
    unknown = [one for one in options.tables if one not in TABLES]
    unknown += [one for one in options.columns.split(",") if one not in (*COLUMNS, *MORE_COLUMNS)]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    return options


def launches(names: Sequence[str], console: Console) -> list[Launch]:
    """Return the ways to run a program; Open MPI only where it can be installed."""
    found: list[Launch] = []
    for name in names:
        if name == "ours":
            found.append(Ours())
            continue
        if name == "tls":
            found.append(Ours(name="ours, TLS", encryption="tls"))
            continue
        python = plain_python("openmpi" if name == "openmpi" else "mpich")
        if python is None:
            console.print(f"{name}: not installed\n", style="yellow")
        else:
            found.append(OpenMpi(str(python)) if name == "openmpi" else Mpich(name, str(python)))
    return found


def measured(options: argparse.Namespace, console: Console) -> list[Found]:
    """Measure and print all wanted tables."""
    ways = launches(options.columns.split(","), console)
    scenarios = {one.name: one for one in SCENARIOS}
    measures: dict[str, Callable[[], Found]] = {
        "pingpong": lambda: pingpong(options, ways, is_far=True),
        "lan": lambda: pingpong(options, ways, is_far=False),
        "inside": lambda: inside(options, ways),
        "windows": lambda: windows(options, ways),
        "ranks": lambda: ranks(options, ways),
    }
    found = []
    for name in options.tables:
        scenario = scenarios.get(name)
        one = collectives(options, ways, scenario) if scenario else measures[name]()
        show(one, console)
        if name in POINT_TO_POINT:
            report.show("Against the faster flat MPICH", against_native(one), console)
        draw(one)
        found.append(one)
    return found


def draw(found: Found) -> None:
    """Write the pictures of a table."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    if found.name in POINT_TO_POINT:
        pictures.by_size(found, PICTURES / f"mpi-{found.name}")
    elif any(row.floor for row in found.rows):
        cases = {
            f"{row.what} {size_of(row.size)}": {
                name: seconds / row.floor for name, seconds in row.columns.items()
            }
            for row in found.rows
            if row.floor
        }
        (PICTURES / f"mpi-{found.name}.svg").write_text(
            plots.bars(f"Times the floor: {found.title}", cases, found.columns), "utf-8"
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    options = arguments(argv)
    if lacking := missing():
        sys.exit(f"benchmarks.mpi: {lacking}")
    console = Console(width=max(140, Console().width))
    console.print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} before. Medians.\n"
    )
    found = measured(options, console)
    if options.json:
        options.json.write_text(json.dumps([one.as_dict() for one in found], indent=1), "utf-8")


if __name__ == "__main__":
    main()
