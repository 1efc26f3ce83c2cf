"""`python -m benchmarks.collective_counts`: what one small collective takes of each rank.

Nothing here is timed, so other work on the machine hardly changes it. Of every rank it counts the
processor time and the voluntary switches around many calls (`getrusage`), and the messages that it
sends to ranks of other clusters and of its own. A *gateway* sends to other clusters. The clusters
are on the emulated grid on which the other tables are measured, or with `--here` on this host,
where no line separates the messages and a rank that wakes finds more of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.grid import EmulatedGrid, Layout, cluster_element, missing
from tools.on_grids import COMMAND, ROOT, environment, sizes_of

PROGRAM = """
import json, sys
from resource import RUSAGE_SELF, getrusage
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
members = world._members
times, only, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) // 8
one, other = numpy.ones(count), numpy.empty(count)
all_out, all_in = numpy.ones(world.size * count), numpy.empty(world.size * count)
at_root = all_in if world.rank == 0 else None
CALLS = {
    "barrier": world.Barrier,
    "bcast": lambda: world.Bcast(one),
    "reduce": lambda: world.Reduce(one, other if world.rank == 0 else None),
    "gather": lambda: world.Gather(one, at_root),
    "scatter": lambda: world.Scatter(all_out if world.rank == 0 else None, other),
    "allreduce": lambda: world.Allreduce(one, other),
    "scan": lambda: world.Scan(one, other),
    "reduce_scatter": lambda: world.Reduce_scatter_block(all_out, other),
    "allgather": lambda: world.Allgather(one, all_in),
    "alltoall": lambda: world.Alltoall(all_out, all_in),
    "allgather of objects": lambda: world.allgather(1),
    "alltoall of objects": lambda: world.alltoall([1] * world.size),
}

def state():
    sent = [0, 0]
    for index, traffic in members.engine.connections.traffic().items():
        sent[members.engine.is_near(index)] += traffic.sent_messages
    used = getrusage(RUSAGE_SELF)
    return numpy.array([used.ru_utime + used.ru_stime, used.ru_nvcsw, *sent])

for name, call in CALLS.items():
    if only and name != only:
        continue
    for _ in range(3):
        call()
    world.Barrier()
    before = state()
    for _ in range(times):
        call()
    took = (state() - before) / times
    rows = world.gather(took.tolist())
    if world.rank == 0:
        print(json.dumps([name, rows]), flush=True)
"""
HEADS = (
    "{size} bytes from or to each rank",
    "processor, ms: mean",
    "most",
    "switches: mean",
    "most",
    "to other clusters: a gateway",
    "others",
    "in its cluster: mean",
)


def row(name: str, ranks: list[list[float]]) -> list[str]:
    """Return a row of the table: the figures of one call at each rank.

    >>> row("x", [[0.001, 2, 3, 0], [0.003, 1, 0, 1]])
    ['x', '2.00', '3.00', '1.5', '2.0', '3.0', '0.0', '0.5']
    """
    seconds, switches, far, near = zip(*ranks, strict=True)
    most = max(far)
    others = max((one for one in far if one < most / 10), default=0.0)
    return [
        name,
        f"{1000 * sum(seconds) / len(seconds):.2f}",
        f"{1000 * max(seconds):.2f}",
        f"{sum(switches) / len(switches):.1f}",
        f"{max(switches):.1f}",
        f"{most:.1f}",
        f"{others:.1f}",
        f"{sum(near) / len(near):.1f}",
    ]


def main() -> None:
    """Count and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.collective_counts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--layout", default="2x2", help="such as 2x2 or 1|2+3 (2x2)")
    parser.add_argument("--here", action="store_true", help="without an emulated grid")
    parser.add_argument("--calls", type=int, default=200, metavar="N", help="of each kind (200)")
    parser.add_argument("--only", default="", metavar="CALL", help="count one of them only")
    parser.add_argument("--bytes", type=int, default=8, help="from or to each rank (8)")
    parser.add_argument("--encryption", choices=("none", "tls"), default="none")
    parser.add_argument("--source", type=Path, default=ROOT, help="another checkout to count")
    options = parser.parse_args()
    if not options.here and (lacking := missing()):
        sys.exit(f"{lacking} (or use --here)")
    sizes = sizes_of(options.layout)
    environ = environment() | {"PYTHONPATH": str(options.source)}
    print(f"| {' | '.join(HEADS).format(size=options.bytes)} |\n|---{'|---' * (len(HEADS) - 1)}|")
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "count.py").write_text(PROGRAM)
        file = Path(name) / "count.xml"
        command = [*COMMAND, "--quiet", str(file)]
        if options.here:
            plain = [[f'<cluster><mpi ranks="{n}"/></cluster>' for n in site] for site in sizes]
            file.write_text(descriptor(plain, options))
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, env=environ, cwd=name
            ) as run:
                show(run)
        else:
            with EmulatedGrid(Layout(tuple(map(len, sizes)))) as grid:
                clusters = iter(grid.clusters.values())
                there = [[cluster_element(next(clusters), n) for n in site] for site in sizes]
                file.write_text(descriptor(there, options))
                show(grid.popen("c0", command, stdout=subprocess.PIPE, env=environ, cwd=name))


def descriptor(sites: list[list[str]], options: argparse.Namespace) -> str:
    """Return the descriptor of the program; without a failure detector, which takes time too."""
    grid = "".join(f"<site>{''.join(clusters)}</site>" for clusters in sites)
    return (
        '<deployment name="count"><application script="count.py">'
        f'<argument value="{options.calls}"/><argument value="{options.only}"/>'
        f'<argument value="{options.bytes}"/></application>'
        '<failure-detector protocol="none"/>'
        f'<grid encryption="{options.encryption}">{grid}</grid></deployment>'
    )


def show(run: subprocess.Popen[str]) -> None:
    """Print a row for each line of a run."""
    assert run.stdout is not None
    for line in run.stdout:
        print(f"| {' | '.join(row(*json.loads(line)))} |", flush=True)
    if run.wait():
        sys.exit(f"the run has ended with {run.returncode}")


if __name__ == "__main__":
    main()
