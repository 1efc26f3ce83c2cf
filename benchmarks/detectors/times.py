"""`python -m benchmarks.detectors.times`: from a fault to those who know of it, in real runs.

Two clusters with a rank each; the second one is the victim, the first one waits for a message of
it. `launcher` is when gcm-deploy says so, `rank` when the call of the waiting rank raises, or when
its process ends. Cases with a network need root; those are reached by a real sshd. The last case is
Open MPI alone, whose own ULFM lets two ranks of one host outlive each other.

    python -m benchmarks.detectors.times --runs 50 --openmpi --log runs.jsonl "link cut"
"""

from __future__ import annotations

import argparse
import json
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
from benchmarks.mpi_plain import plain_python
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
            said = "\n".join(f"{when:.3f} {one}" for when, one in self.lines)
            raise TimeoutError(f"none of {words} was said, but:\n{said}")
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
ULFM = "rank killed, Open MPI's own ULFM"
CASES = (*LOCAL, *BETWEEN_HOSTS, ULFM)


def front_end_of(launcher: int) -> int:
    """Return the process of the front-end of a run on this machine that was begun last.

    Its number says nothing of that: they begin again with small ones, after minutes of many tests.
    """
    facts, begun = {}, {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            facts[int(entry.name)] = name, int(rest.split()[1])
            begun[int(entry.name)] = int(rest.split()[19]), int(entry.name)

    def is_below(pid: int) -> bool:
        while pid in facts:
            pid = facts[pid][1]
            if pid == launcher:
                return True
        return False

    found = (pid for pid, (name, _) in facts.items() if name == "gcm-front-end" and is_below(pid))
    return max(found, key=begun.__getitem__)


@dataclass(frozen=True)
class Flavour:
    """An MPI, and the Python that has mpi4py for it."""

    name: str
    python: Path

    @property
    def mpiexec(self) -> Path:
        return self.python.with_name("mpiexec")

    @property
    def mpi(self) -> str:
        path = quoteattr(str(self.mpiexec))
        return f'<mpi ranks="1" flavour="{self.name}" command-path={path}/>'

    def front(self, address: str = "") -> str:
        where = f' address="{address}"' if address else ""
        return f"<front-end python={quoteattr(str(self.python))}{where}/>"

    def cluster(self) -> str:
        """Return a cluster of this machine."""
        return f"<site><cluster>{self.mpi}{self.front()}</cluster></site>"


MPICH = Flavour("mpich", Path(sys.executable))


def deployment(folder: Path, text: str) -> list[str]:
    """Write the program and a descriptor with these elements; return the command that runs it."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "grid.xml").write_text(
        f'<deployment name="t"><application script="program.py"/>{text}</deployment>'
    )
    return [*COMMAND, "--verbose", str(folder / "grid.xml")]


@contextmanager
def started(
    folder: Path, command: Sequence[str], grid: EmulatedGrid | None = None
) -> Iterator[Running]:
    """Start a run, and wait until its program waits."""
    popen = subprocess.Popen if grid is None else _inside(grid)
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    process = popen(
        list(command),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=str(folder), env={**os.environ, **root, "PYTHONPATH": str(ROOT)},
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
        if run.victim:
            with suppress(ProcessLookupError):
                os.kill(run.victim, signal.SIGKILL)
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


def measured(run: Running, name: str) -> dict[str, float]:
    """Let a fault happen; return after how long the launcher and the waiting rank knew."""
    begun = time.monotonic()
    {**LOCAL, **BETWEEN_HOSTS, ULFM: kill_rank}[name](run)
    found = {}
    if name not in ("launcher killed", ULFM):
        found["launcher"] = run.seen.wait(*KNOWN, after=begun)[0] - begun
    if name != "rank frozen":
        found["rank"] = _end_of_waiting(run) - begun
    return found


def known_after(run: Running, begun: float) -> dict[str, float]:
    """Return how long after a fault the launcher and the waiting rank know of it."""
    launcher = run.seen.wait(*KNOWN, after=begun)[0] - begun
    return {"launcher": launcher, "rank": _end_of_waiting(run) - begun}


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
            ended = time.monotonic()
            time.sleep(0.05)  # what it said comes after it
            told = [line for _, line in list(run.seen.lines) if "noticed " in line]
            return float(told[0].partition("noticed ")[2].split()[0]) if told else ended
        time.sleep(0.001)
    raise TimeoutError("the waiting rank noticed nothing")


@contextmanager
def two_hosts(folder: Path, flavour: Flavour = MPICH) -> Iterator[tuple[EmulatedGrid, str]]:
    """Yield two clusters with a network between, and the grid of a descriptor that joins them."""
    from runtime.testing.sshd import running_sshd

    if lacking := missing():
        sys.exit(lacking)
    with ExitStack() as stack:
        # of a host that dies; short, for sockets lie there
        disk = stack.enter_context(tempfile.TemporaryDirectory(prefix="host-"))
        grid = stack.enter_context(EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=400e6))))
        address = grid.layout.clusters[1].address

        def popen(command: list[str], **options: object) -> subprocess.Popen[str]:
            options.pop("text")
            return grid.popen("c1", command, **options)  # type: ignore[arg-type]

        sshd = stack.enter_context(running_sshd(folder, address=address, popen=popen, TMPDIR=disk))
        stack.callback(grid.clear)
        far = f"<cluster>{sshd.hop}{flavour.front(address)}{flavour.mpi}</cluster>"
        yield grid, f"<grid>{flavour.cluster()}<site>{far}</site></grid>"


def one_run(name: str, flavour: Flavour) -> tuple[dict[str, float], list[tuple[float, str]]]:
    """Return after how long who knew of a fault, and what was said when, from the fault on."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        grid = None
        text = f'<failure-detector frozen="suspect"/><grid>{2 * flavour.cluster()}</grid>'
        if name in BETWEEN_HOSTS:
            grid, text = stack.enter_context(two_hosts(folder, flavour))
        command = deployment(folder, text)
        if name == ULFM:
            words = ("--with-ft", "ulfm", "-n", "2", flavour.python, folder / "program.py")
            command = [str(word) for word in (flavour.mpiexec, *words)]
        with started(folder, command, grid) as run:
            begun = time.monotonic()
            found = measured(run, name)
            said = list(run.seen.lines)
    return found, [(round(when - begun, 4), line) for when, line in said]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detectors.times")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{'; '.join(CASES)}; all if none")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--openmpi", action="store_true", help="with Open MPI instead of MPICH")
    parser.add_argument("--log", type=Path, help="write what was said in each run to a file")
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    flavour = MPICH
    if options.openmpi:
        python = plain_python("openmpi")
        if python is None:
            sys.exit("Open MPI cannot be installed")
        flavour = Flavour("openmpi", python)
    print("| fault: who knows | runs | minimum | median | maximum |\n|---|---|---|---|---|")
    for name in options.cases or CASES[: None if options.openmpi else -1]:
        runs = []
        for _ in range(options.runs):
            found, said = one_run(name, flavour)
            runs.append(found)
            if options.log:
                with options.log.open("a") as file:
                    file.write(json.dumps([name, flavour.name, found, said]) + "\n")
        for who in runs[0]:
            times = [one[who] for one in runs]
            figures = min(times), statistics.median(times), max(times)
            words = [f"{one * 1000:.0f} ms" for one in figures]
            print(f"| {name}: {who} | {len(times)} | {' | '.join(words)} |", flush=True)


if __name__ == "__main__":
    main()
