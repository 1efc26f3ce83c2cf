"""The command line of the emulated grid: `python -m benchmarks.grid up`, `in c0 COMMAND`, `down`.

python -m benchmarks.grid up --sites 2,2 --wan 10,100     two sites of two clusters
python -m benchmarks.grid in c0 bash                      a shell in the first cluster
python -m benchmarks.grid cut c0 c2                       nothing gets through any more
python -m benchmarks.grid down                            end it, and everything in it
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from benchmarks.grid.emulated import Control, EmulatedGrid, attach
from benchmarks.grid.errors import EmulationError
from benchmarks.grid.layout import LAN, WAN, Layout
from benchmarks.grid.lines import Line


def line(text: str) -> Line:
    """Read `MS,MBIT[,KBYTES[,LOSS]]`: delay of one way, rate, how much may wait, share of loss.

    >>> line("10,100")
    Line(delay=0.01, rate=100000000.0, queue=None, loss=0.0)
    """
    delay, rate, *more = map(float, text.split(","))
    queue, loss = more[:1], more[1:]
    return Line(
        delay / 1e3, rate * 1e6, queue[0] * 1024 if queue else None, loss[0] if loss else 0.0
    )


def sites(text: str) -> tuple[int, ...]:
    """Read the number of clusters in each site.

    >>> sites("1,2")
    (1, 2)
    """
    return tuple(map(int, text.split(",")))


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grid", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--name", default="grid", help="which grid, if there are several")
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="make a grid")
    up.add_argument("--sites", type=sites, default=(2, 2), help="clusters by site, such as 2,2")
    for where, usual in (("lan", LAN), ("wan", WAN)):
        up.add_argument(f"--{where}", type=line, default=usual, help="MS,MBIT[,KBYTES[,LOSS]]")
    verbs.add_parser("down", help="end it and all programs in it")
    inside = verbs.add_parser("in", help="run a command in a cluster")
    inside.add_argument("cluster")
    inside.add_argument("command", nargs=argparse.REMAINDER)
    for verb, help_text in (("cut", "lose what is sent"), ("heal", "take back a cut")):
        both = verbs.add_parser(verb, help=f"{help_text} between two clusters")
        both.add_argument("source")
        both.add_argument("target")
        both.add_argument("--one-way", action="store_true")
    for where in ("lan", "wan"):
        change = verbs.add_parser(where, help=f"change its {where.upper()} lines")
        change.add_argument("line", type=line, help="MS,MBIT[,KBYTES[,LOSS]]")
    wall = verbs.add_parser("firewall", help="let nobody connect to a cluster")
    wall.add_argument("cluster")
    wall.add_argument("ports", type=int, nargs="*", help="ports that stay open")
    verbs.add_parser("open", help="take a firewall away").add_argument("cluster")
    verbs.add_parser("stat", help="tell what it has carried")
    return parser.parse_args(argv)


def main() -> None:
    """Obey the command line."""
    wanted = arguments()
    try:
        if wanted.verb == "up":
            make(wanted)
            return
        with attach(wanted.name) as grid:
            if wanted.verb == "in":
                enter(grid, wanted)
            obey(grid, wanted)
    except (EmulationError, ValueError) as error:
        sys.exit(f"benchmarks.grid: {error}")


def make(wanted: argparse.Namespace) -> None:
    """Make a grid that stays, and tell what it looks like."""
    with EmulatedGrid(Layout(wanted.sites, wanted.lan, wanted.wan)) as grid:
        grid.publish(wanted.name)
        for cluster in grid.layout.clusters:
            print(f"{cluster.name}  {cluster.address}  site {cluster.site}")


def enter(grid: Control, wanted: argparse.Namespace) -> None:
    """Become the command."""
    command = grid.inside(wanted.cluster, wanted.command or ["/bin/sh"])
    os.execvp(command[0], command)


def obey(grid: Control, wanted: argparse.Namespace) -> None:
    """Do one thing with a grid."""
    match wanted.verb:
        case "down":
            grid.end()
        case "cut":
            grid.cut(wanted.source, wanted.target, one_way=wanted.one_way)
        case "heal":
            grid.heal(wanted.source, wanted.target, one_way=wanted.one_way)
        case "lan":
            grid.lan(wanted.line)
        case "wan":
            grid.wan(wanted.line)
        case "firewall":
            grid.firewall(wanted.cluster, wanted.ports)
        case "open":
            grid.open(wanted.cluster)
        case "stat":
            tell(grid)


def tell(grid: Control) -> None:
    """Print what a grid has carried."""
    found = grid.statistics()
    for one in found.lines:
        print(f"{one.line:20} {one.bytes:15,} bytes  {one.dropped:6,} packets dropped")
    print(f"refused by firewalls {found.refused:,}, lost at full receivers {found.lost:,}")
    print(f"late on average {1e6 * found.late:.0f} µs")


if __name__ == "__main__":
    main()
