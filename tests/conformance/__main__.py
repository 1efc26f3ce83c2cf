"""mpi4py's own tests on grids of several clusters, COMM_WORLD being the grid.

    python -m tests.conformance                          all modules on all grids
    python -m tests.conformance --grid 1+1 p2p_buf comm  some of them
    python -m tests.conformance --openmpi                with Open MPI in the first clusters
    python -m tests.conformance --replicas 2 p2p_buf     each rank is two processes
    python -m tests.conformance --types hd --grid "2+2|2+2" rma   with elements of two types alone

Each module runs by itself with a time limit. Exit code 0 means that every test passed that is not
in `excluded.toml`, and that none skipped itself which does not do so under plain MPI too.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.sax.saxutils import quoteattr

from benchmarks.mpi_plain import plain_python
from tests.conformance.results import (
    Result,
    excluded_on,
    read_exclusions,
    read_reports,
    unused,
)
from tests.conformance.source import folder_of_tests
from tools.on_grids import COMMAND, ROOT, descriptor, environment, identifiers

MODULES = (
    "p2p_buf", "p2p_obj", "p2p_buf_matched", "p2p_obj_matched", "cco_buf", "cco_obj", "cco_vec",
    "cco_obj_inter", "cco_buf_inter", "cco_nb_buf", "cco_nb_vec", "cco_ngh_buf", "cco_ngh_obj",
    "comm", "comm_inter", "comm_topo", "group", "request", "status", "pack", "msgspec", "op",
    "attributes", "errhandler", "ulfm", "util_pkl5", "rma", "rma_nb", "win", "io",
    "file", "dynproc", "session", "handle", "p2p_buf_part",
)  # fmt: skip
GRIDS = ("1+1", "2+2", "1+2|3")
PLAIN = "plain"
GRACE = 10.0  # seconds between asking a run to end and ending it
PROGRAM = Path(__file__).with_name("run_module.py")


def main() -> int:
    """Run what is asked for, print a table, and return the exit code."""
    options = _options()
    tests, exclusions = folder_of_tests(), read_exclusions()
    everything: set[str] = set()
    failed = False
    way = _way_to_openmpi() if options.openmpi else ""
    print(f"{'module':<18}{'grid':<8}{'passed':>8}{'skipped':>8}{'excluded':>9}{'failed':>7}  time")
    chosen = [one for one in options.modules if one not in options.without]
    for module in chosen:
        plain = run(PLAIN, module, tests, [], options.limit, types=options.types)
        everything |= set(plain.words)
        for grid in options.grid:
            excluded = excluded_on("openmpi" if way else "", grid, exclusions)
            result = run(
                grid, module, tests, excluded, options.limit, way=way, replicas=options.replicas,
                types=options.types,
            )  # fmt: skip
            complaints = _complaints(result, plain)
            failed |= bool(complaints)
            _print_row(module, grid, result, complaints, details=not options.brief)
    stale = unused(exclusions, everything) if chosen == list(MODULES) else []
    for pattern in stale:
        print(f"excluded.toml: no test is called {pattern}")
    return 1 if failed or stale else 0


def run(
    grid: str,
    module: str,
    tests: Path,
    excluded: list[str],
    limit: float,
    *,
    way: str = "",
    replicas: int = 1,
    types: str = "",
) -> Result:
    """Run one module on a grid, or on two processes of plain MPI.

    With a `way`, which is that to another MPI, a run in which all ranks had the same one is bad.
    With several replicas there are as many times more sites, and all of them have to pass.
    """
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        folder = Path(name)
        reports = folder / "reports"
        reports.mkdir()
        words = [str(tests), f"test_{module}", str(reports), types, *excluded]
        if grid == PLAIN:
            ranks = 2
            command = ["mpiexec", "-n", "2", sys.executable, str(PROGRAM), *words]
        else:
            layout = "|".join([grid] * replicas)
            ranks = len(identifiers(layout))
            (folder / "grid.xml").write_text(
                descriptor(layout, str(PROGRAM), words, way=way, replicas=replicas)
            )
            command = [*COMMAND, "--quiet", "--tag-output", str(folder / "grid.xml")]
        said, problem = _carry_out(command, limit)
        result = read_reports(reports, ranks)
    result.problem = problem or result.problem
    if way and not result.problem and len(result.libraries) != 2:
        result.problem = f"all ranks ran with {', '.join(result.libraries)}"
    if result.problem or not result.words:
        result.problem += f"\n{said[-3000:]}"
    result.seconds = time.monotonic() - began
    return result


def _way_to_openmpi() -> str:
    """Return the element that leads to an Open MPI, which is installed now if need be."""
    python = plain_python("openmpi")
    if python is None:
        sys.exit("an Open MPI with its mpi4py cannot be installed here")
    return f"<front-end python={quoteattr(str(python))}/>"


def _carry_out(command: list[str], limit: float) -> tuple[str, str]:
    """Return what the command said, and what went wrong with it."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        return process.communicate(timeout=limit)[0], ""
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE)[0], f"did not end within {limit:.0f} s"
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0], f"did not end within {limit:.0f} s, nor when asked to"


def _complaints(result: Result, plain: Result) -> list[str]:
    """Return what is not good; tests that failed in the same way are told together."""
    together: dict[str, list[str]] = {}
    for test in result.faults():
        word = "failed" if result.words[test] == "failed" else "not ended"
        together.setdefault(f"{word}: {result.details[test]}", []).append(test)
    for test in sorted(result.skipped() - plain.skipped()):
        together.setdefault(f"skipped only here: {result.details[test]}", []).append(test)
    found = [result.problem] if result.problem else []
    return [*found, *("\n".join([*tests, why]) for why, tests in together.items())]


def _print_row(
    module: str, grid: str, result: Result, complaints: list[str], *, details: bool
) -> None:
    counts = result.counts
    bad = counts["failed"] + counts["begins"]
    print(
        f"{module:<18}{grid:<8}{counts['passed']:>8}{counts['skipped']:>8}{counts['excluded']:>9}"
        f"{bad:>7}  {result.seconds:.1f} s{'' if not complaints else '  NOT GOOD'}",
        flush=True,
    )
    for complaint in complaints if details else []:
        print("    " + complaint.rstrip().replace("\n", "\n    "))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(MODULES), help="names without `test_`")
    parser.add_argument("--without", action="append", default=[], help="a module to leave out")
    parser.add_argument("--grid", action="append", help=f"such as {', '.join(GRIDS)}")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one module")
    parser.add_argument("--openmpi", action="store_true", help="let the first cluster have it")
    parser.add_argument("--replicas", type=int, default=1, help="how many processes a rank is")
    parser.add_argument("--types", default="", help="codes of elements, such as hd; all without it")
    parser.add_argument("--brief", action="store_true", help="the table alone")
    options = parser.parse_args()
    options.grid = options.grid or list(GRIDS)
    return options


if __name__ == "__main__":
    sys.exit(main())
