"""`python -m benchmarks.detectors.times`: from a fault to those who know of it, in real runs.

Two clusters with a rank each; the second one is the victim, the first one waits for a message of
it. `launcher` is when gcm-deploy says so, `rank` when the call of the waiting rank raises, or when
its process ends. Cases with a network need root; those are reached by a real sshd.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

from benchmarks.detectors.programs import PROGRAM
from benchmarks.grid import EmulatedGrid, Layout, Line, missing
from benchmarks.mpi_openmpi import environment_of_openmpi
from tools.on_grids import COMMAND, ROOT

PATIENCE = 60.0
SETTLE = 0.7  # from the start of the program to the fault
RUNS = 50

KNOWN = ("failed", "lost", "ended with", "stands still")
"""What gcm-deploy says of a fault."""


@dataclass
class Seen:
    """What one run has told, and when."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    over: int = 0

    def read(self, pipe: Iterator[str]) -> None:
        """Keep all lines of a pipe."""
        for line in pipe:
            with self.changed:
                self.lines.append((time.monotonic(), line.rstrip()))
                self.changed.notify_all()
        with self.changed:
            self.over += 1
            self.changed.notify_all()

    def wait(self, *words: str, after: float = 0.0, timeout: float = PATIENCE) -> tuple[float, str]:
        """Return the first line that has one of the words; raises TimeoutError."""

        def found() -> tuple[float, str] | None:
            for when, line in self.lines:
                if when >= after and any(word in line for word in words):
                    return when, line
            return None

        with self.changed:
            self.changed.wait_for(lambda: found() is not None or self.over == 2, timeout)
            line = found()
        if line is None:
            raise TimeoutError(f"none of {words} was said: {[one for _, one in self.lines[-8:]]}")
        return line


@dataclass
class Running:
    """A run with its waiting rank and its victim."""

    process: subprocess.Popen[str]
    seen: Seen
    victim: int = 0
    waiting: int = 0
    grid: EmulatedGrid | None = None


def kill_rank(run: Running) -> None:
    os.kill(run.victim, signal.SIGKILL)


def let_rank_exit(run: Running) -> None:
    os.kill(run.victim, signal.SIGUSR1)


def freeze_rank(run: Running) -> None:
    os.kill(run.victim, signal.SIGSTOP)


def kill_front_end(run: Running) -> None:
    os.kill(front_end_of(run.process.pid), signal.SIGKILL)


def kill_launcher(run: Running) -> None:
    run.process.kill()


def cut_link(run: Running) -> None:
    assert run.grid is not None
    run.grid.cut("c0", "c1")


def lose_host(run: Running) -> None:
    assert run.grid is not None
    words = "for one in $(ls /sys/class/net); do [ $one = lo ] || ip link set $one down; done"
    run.grid.run("c1", ["sh", "-c", words], timeout=20)


LOCAL: dict[str, Callable[[Running], None]] = {
    "rank killed": kill_rank,
    "rank exited": let_rank_exit,
    "rank frozen": freeze_rank,
    "front-end killed": kill_front_end,
    "launcher killed": kill_launcher,
}
BETWEEN_HOSTS = {"link cut": cut_link, "host gone": lose_host}


def front_end_of(launcher: int) -> int:
    """Return the process of the last front-end of a run on this machine."""
    facts = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            facts[int(entry.name)] = name, int(rest.split()[1])

    def is_below(pid: int) -> bool:
        while pid in facts:
            pid = facts[pid][1]
            if pid == launcher:
                return True
        return False

    return max(pid for pid, (name, _) in facts.items() if name == "gcm-front-end" and is_below(pid))


@contextmanager
def started(folder: Path, grid_xml: str, grid: EmulatedGrid | None) -> Iterator[Running]:
    """Start a run, and wait until its program waits."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "grid.xml").write_text(
        f'<deployment name="t"><application script="program.py"/>{grid_xml}</deployment>'
    )
    popen = subprocess.Popen if grid is None else _inside(grid)
    process = popen(
        [*COMMAND, str(folder / "grid.xml")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=str(folder), env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    seen = Seen()
    pipes = (process.stdout, process.stderr)
    readers = [threading.Thread(target=seen.read, args=(pipe,)) for pipe in pipes]
    for reader in readers:
        reader.start()
    run = Running(process, seen, grid=grid)
    try:
        _, line = seen.wait("victim ")
        run.victim, run.waiting = map(int, line.split()[-2:])
        time.sleep(SETTLE)
        yield run
    finally:
        for pid in (run.victim,):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL) if pid else None
        if grid is not None:
            grid.heal("c0", "c1")
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)
        process.kill()
        process.wait()
        for reader in readers:
            reader.join()
        for pipe in pipes:
            assert pipe is not None
            pipe.close()


def _inside(grid: EmulatedGrid) -> Callable[..., subprocess.Popen[str]]:
    def popen(command: Sequence[str], **options: object) -> subprocess.Popen[str]:
        options.pop("text")
        return grid.popen("c0", list(command), **options)  # type: ignore[arg-type]

    return popen


def measured(run: Running, fault: Callable[[Running], None]) -> tuple[float, float]:
    """Let a fault happen; return after how long the launcher and the waiting rank knew."""
    begun = time.monotonic()
    fault(run)
    launcher = rank = float("nan")
    if fault is not kill_launcher:
        launcher = run.seen.wait(*KNOWN, after=begun)[0] - begun
    if fault is not freeze_rank:
        rank = _end_of_waiting(run) - begun
    return launcher, rank


def _end_of_waiting(run: Running) -> float:
    """Return when the call of the waiting rank raised, or its process ended."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for _, line in list(run.seen.lines):
            if "noticed " in line:
                return float(line.partition("noticed ")[2].split()[0])
        try:
            os.kill(run.waiting, 0)
        except ProcessLookupError:
            time.sleep(0.05)  # what it said comes after it
            told = [line for _, line in list(run.seen.lines) if "noticed " in line]
            return float(told[0].partition("noticed ")[2].split()[0]) if told else time.monotonic()
        time.sleep(0.001)
    raise TimeoutError("the waiting rank noticed nothing")


@contextmanager
def two_hosts(folder: Path) -> Iterator[tuple[EmulatedGrid, str]]:
    """Yield two clusters with a network between, and the grid of a descriptor that joins them."""
    from tests.sshd import running_sshd

    with ExitStack() as stack:
        grid = stack.enter_context(EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=400e6))))
        address = grid.layout.clusters[1].address

        def popen(command: list[str], **options: object) -> subprocess.Popen[str]:
            options.pop("text")
            return grid.popen("c1", command, **options)  # type: ignore[arg-type]

        sshd = stack.enter_context(running_sshd(folder, address=address, popen=popen))
        stack.callback(grid.clear)
        front = f'<front-end python={quoteattr(sys.executable)} address="{address}"/>'
        mpiexec = quoteattr(str(Path(sys.executable).with_name("mpiexec")))
        yield (
            grid,
            (
                f'<grid><mpi ranks="1" command-path={mpiexec}/><site><cluster/></site>'
                f"<site><cluster>{sshd.hop}{front}</cluster></site></grid>"
            ),
        )


def rows(runs: int, wanted: Sequence[str], emulated: str) -> Iterator[tuple[str, list[float]]]:
    """Yield what knew of which fault, and after how long in each run."""
    for name, fault in {**LOCAL, **BETWEEN_HOSTS}.items():
        if wanted and name not in wanted:
            continue
        found: dict[str, list[float]] = {"launcher": [], "rank": []}
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            grid, text = None, emulated
            if name in BETWEEN_HOSTS:
                if lacking := missing():
                    print(f"{name}: {lacking}", file=sys.stderr)
                    continue
                grid, text = stack.enter_context(two_hosts(folder))
            for _ in range(runs):
                with started(folder, text, grid) as run:
                    launcher, rank = measured(run, fault)
                found["launcher"].append(launcher)
                found["rank"].append(rank)
                if name == "host gone":
                    break  # its network does not come back
        for who, times in found.items():
            yield f"{name}: {who}", [one for one in times if not math.isnan(one)]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detectors.times")
    parser.add_argument("cases", nargs="*", help=f"{', '.join([*LOCAL, *BETWEEN_HOSTS])}; all")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--openmpi", action="store_true", help="with Open MPI instead of MPICH")
    options = parser.parse_args()
    python, flavour = Path(sys.executable), "mpich"
    if options.openmpi:
        found = environment_of_openmpi()
        if found is None:
            sys.exit("Open MPI cannot be installed")
        python, flavour = found, "openmpi"
    mpiexec = quoteattr(str(python.with_name("mpiexec")))
    front = f"<front-end python={quoteattr(str(python))}/>"
    cluster = (
        f'<cluster><mpi ranks="1" flavour="{flavour}" command-path={mpiexec}/>{front}</cluster>'
    )
    emulated = (
        '<failure-detector frozen="suspect"/>'
        f"<grid><site>{cluster}</site><site>{cluster}</site></grid>"
    )
    print("| fault: who knows | runs | minimum | median | maximum |\n|---|---|---|---|---|")
    for name, times in rows(options.runs, options.cases, emulated):
        if times:
            figures = min(times), statistics.median(times), max(times)
            words = [f"{one * 1000:.0f} ms" for one in figures]
            print(f"| {name} | {len(times)} | {' | '.join(words)} |", flush=True)


if __name__ == "__main__":
    main()
