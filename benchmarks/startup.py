"""How long a machine takes to start, against plain `mpiexec`; and what an idle front-end takes.

    python -m benchmarks.startup [rounds]

The machine has 2 sites of 2 clusters of 2 ranks on this host; the time is from the start of
`gcm-deploy` to the first line of the application. The yardstick is four plain
`mpiexec -n 2 python` in parallel, to their end; for processor time it is one of eight ranks. All
run the same program, in turns: its COMM_WORLD is the native one of a cluster, as with plain
`mpiexec`, and once more the whole grid. The package is compiled before, as an installed one is.
"""

from __future__ import annotations

import compileall
import contextlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from benchmarks.report import Goal, Line, duration, show

WORLDS = ("cluster", "grid")
MOST_RATIO = 1.5
MOST_PROCESSOR = 2.0
MOST_MEGABYTES = 40.0
MOST_PERCENT = 0.5
ROUNDS = 7

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
PROGRAM = "from mpi4py import MPI\nprint('rank', MPI.COMM_WORLD.rank, flush=True)\n"
SLEEPER = PROGRAM + "import time\ntime.sleep(1000)\n"
DESCRIPTOR = """<deployment name="startup">
<application script="program.py" comm-world="{world}"/><grid>
  <mpi ranks="2" command-path="{mpiexec}"/>
  <site name="a"><cluster name="a"/><cluster name="b"/></site>
  <site name="b"><cluster name="a"/><cluster name="b"/></site>
</grid></deployment>
"""


def main(rounds: int = ROUNDS) -> None:
    """Measure, and print one table."""
    console = Console(width=max(100, Console().width))
    show("Starting a machine of 2 x 2 x 2, and what it takes at rest", measured(rounds), console)


def measured(rounds: int = ROUNDS) -> list[Line]:
    """Return the medians, their ratios, and the figures of an idle front-end."""
    beside = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    mpiexec = shutil.which("mpiexec", path=beside) or sys.exit("no mpiexec")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.py").write_text(PROGRAM)
        for world in WORLDS:
            text = DESCRIPTOR.format(mpiexec=mpiexec, world=world)
            (folder / f"{world}.xml").write_text(text)
        for package in ("gcm", "runtime"):
            compileall.compile_dir(ROOT / package, quiet=1)
        for world in WORLDS:  # not counted, so that files are in the cache of the system
            deployed(folder, world)
        times = [
            (plain(mpiexec, folder), *(deployed(folder, world) for world in WORLDS))
            for _ in range(rounds)
        ]
        eight = [mpiexec, "-n", "8", sys.executable, str(folder / "program.py")]
        spent = [
            (processor_time(eight), processor_time(deploy_command(folder, "grid")))
            for _ in range(rounds)
        ]
        (folder / "program.py").write_text(SLEEPER)
        memory, busy = idle(folder)
    alone, *machines = zip(*times, strict=True)
    peer = f"four plain mpiexec -n 2: {duration(statistics.median(alone))}"
    lines = []
    for world, machine in zip(WORLDS, machines, strict=True):
        ratio = statistics.median(b / a for a, b in zip(alone, machine, strict=True))
        what = f"first line, COMM_WORLD the {world}"
        took, goal = duration(statistics.median(machine)), Goal(MOST_RATIO, ratio)
        lines.append(Line(what, took, peer, f"{ratio:.2f} x", goal))
    theirs, ours = (statistics.median(one) for one in zip(*spent, strict=True))
    goal = Goal(MOST_PROCESSOR, ours / theirs)
    peer = f"mpiexec -n 8: {duration(theirs)}"
    what = "whole run, processor time"
    lines.append(Line(what, duration(ours), peer, f"{ours / theirs:.2f} x", goal))
    goal = Goal(MOST_MEGABYTES, memory, "MB")
    lines.append(Line("idle front-end, memory", f"{memory:.1f} MB", goal=goal))
    goal = Goal(MOST_PERCENT, busy, "%")
    lines.append(Line("idle front-end, processor", f"{busy:.2f} %", goal=goal))
    return lines


def plain(mpiexec: str, folder: Path) -> float:
    """Return how long four plain jobs take in parallel."""
    command = [mpiexec, "-n", "2", sys.executable, str(folder / "program.py")]
    begun = time.perf_counter()
    jobs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    for job in jobs:
        job.wait()
    return time.perf_counter() - begun


def deploy_command(folder: Path, world: str) -> list[str]:
    """Return how the machine is started."""
    return [sys.executable, "-m", "runtime.cli", str(folder / f"{world}.xml")]


def processor_time(command: list[str]) -> float:
    """Return the seconds of processor time that a command takes, with all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    nowhere = subprocess.DEVNULL
    subprocess.run(command, stdout=nowhere, stderr=nowhere, env=ENVIRONMENT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


@contextlib.contextmanager
def deploying(folder: Path, world: str) -> Iterator[subprocess.Popen[str]]:
    """Run `gcm-deploy` until the end of the block."""
    process = subprocess.Popen(
        deploy_command(folder, world),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=ENVIRONMENT,
    )
    with process:
        yield process
        process.terminate()


def deployed(folder: Path, world: str) -> float:
    """Return how long it takes to the first line of the application."""
    begun = time.perf_counter()
    with deploying(folder, world) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first = time.perf_counter() - begun
        process.communicate()
    return first


def idle(folder: Path, seconds: float = 5.0) -> tuple[float, float]:
    """Return megabytes and percent of a core of the greediest front-end of an idle machine."""
    with deploying(folder, WORLDS[0]) as process:
        assert process.stdout is not None
        for _ in range(8):
            process.stdout.readline()
        front_ends = {pid for pid, name in descendants(process.pid) if name == "gcm-front-end"}
        before = {pid: cpu_seconds(pid) for pid in front_ends}
        time.sleep(seconds)
        used = max(cpu_seconds(pid) - before[pid] for pid in front_ends)
        memory = max(resident_megabytes(pid) for pid in front_ends)
    return memory, 100 * used / seconds


def descendants(root: int) -> Iterator[tuple[int, str]]:
    """Yield process and name of all that descends from a process."""
    for task in Path(f"/proc/{root}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            yield child, Path(f"/proc/{child}/comm").read_text().strip()
            yield from descendants(child)


def cpu_seconds(pid: int) -> float:
    """Return the processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(pid: int) -> float:
    """Return the memory a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
