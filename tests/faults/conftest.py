"""Real deployments on this machine that go wrong, and what is left of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.lifecycle.outcome import Outcome
from runtime.lifecycle.walltimes import RunTimeouts
from runtime.processes.launcher.machine import Machine
from runtime.views.facts import Fact, OutputWritten
from runtime.views.stream import nothing
from tests.leftovers import GONE_WITHIN, files_below, marked_processes, wait_until_gone
from tests.mpi_homes import open_mpi, open_mpi_4  # noqa: F401 - fixtures
from tools.on_grids import ROOT

MARK = "GCM_TEST_RUN"
ALONE = Path(__file__).with_name("deploy_alone.py")

# Begins every Python program: which shared memory its MPI has, so that it can be looked for.
SEGMENTS = """\
import os
from mpi4py import MPI as _MPI
with open("/proc/self/maps") as _maps, open("{file}", "a") as _file:
    _file.writelines(line[line.index("/dev/shm/"):] for line in _maps if "/dev/shm/" in line)
"""


def find_mpiexec() -> str:
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    return shutil.which("mpiexec", path=path) or "mpiexec"


@dataclass
class Recorder:
    """A listener that remembers, and can be asked to act on the first line of a kind."""

    lines: list[tuple[str, str, str]] = field(default_factory=list)
    on_line: Callable[[str, str], None] = lambda _identifier, _text: None

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        match fact.record:
            case OutputWritten(stream, data):
                for text in data.decode(errors="replace").splitlines():
                    self.lines.append((fact.name, stream, text))
                    self.on_line(fact.name, text)
        taken()

    def said_by(self, identifier: str, stream: str = "stdout") -> list[str]:
        return [text for who, where, text in self.lines if (who, where) == (identifier, stream)]


@dataclass(frozen=True)
class Belongings:
    """What the processes of a run have at one moment."""

    processes: frozenset[int]
    sockets: frozenset[str]
    files: frozenset[str]
    memory: frozenset[str]

    def left(self) -> list[str]:
        """Return what of it is still there."""
        numbers = _open_sockets()
        return [
            *(f"socket {number}" for number in sorted(self.sockets & numbers)),
            *(f"file {path}" for path in sorted(self.files) if Path(path).exists()),
            *(f"shared memory {path}" for path in sorted(self.memory) if Path(path).exists()),
        ]


@dataclass(frozen=True)
class Running:
    """A deployment in a process of its own, and the process numbers of its ranks."""

    process: subprocess.Popen[str]
    ranks: tuple[int, ...]


@dataclass
class Bench:
    """A folder for a descriptor and its program, and what this machine had before the run."""

    folder: Path
    temporary: Path
    mark: str
    recorder: Recorder = field(default_factory=Recorder)

    def plan(
        self,
        program: str,
        *,
        grid: str = "",
        application: str = "script",
        python: str = "",
        ranks: int = 2,
        failures: str = "abort",
        replicas: int = 1,
        detector: str = "",
    ) -> DeploymentPlan:
        name = {"script": "program.py", "executable": "./program"}[application]
        if application == "script":
            program = SEGMENTS.format(file=self.folder / "segments") + program
        (self.folder / name).write_text(program)
        (self.folder / name).chmod(0o755)
        cluster = f'<mpi ranks="{ranks}" command-path="{find_mpiexec()}"/>'
        grid = grid or f'<site name="s"><cluster name="a">{cluster}</cluster></site>'
        text = (
            f'<deployment name="test"><application {application}="{name}" failures="{failures}"'
            f' replicas="{replicas}"/>{detector}'
            f"<grid>{grid.replace('{mpi}', cluster)}</grid></deployment>"
        )
        path = self.folder / "test.xml"
        path.write_text(text)
        found = Diagnostics()
        surroundings = DescriptorContext(
            str(self.folder), environment=os.environ, python=python or sys.executable
        )
        deployment = read_descriptor(path, surroundings=surroundings, diagnostics=found)
        assert deployment is not None, [str(one) for one in found]
        return make_plan(deployment)

    def deploy(self, plan: DeploymentPlan, *, start: float = 60.0, settle: float = 1.0) -> Outcome:
        timeouts = RunTimeouts(start=start, settle=settle)
        return Machine(plan, self.recorder, timeouts=timeouts).run()

    def machine(self, plan: DeploymentPlan) -> Machine:
        return Machine(plan, self.recorder)

    @contextmanager
    def running(
        self, program: str, *, grid: str, ranks: int = 4, detector: str = ""
    ) -> Iterator[Running]:
        """Deploy a program in a process of its own, once all ranks have said `up` and a number."""
        self.plan(program, grid=grid, detector=detector)
        process = subprocess.Popen(
            [sys.executable, str(ALONE), str(self.folder / "test.xml")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert process.stdout is not None
        try:
            pids: list[int] = []
            while len(pids) < ranks:
                line = process.stdout.readline()
                assert line, process.communicate()
                words = line.split()
                pids += [int(words[3])] if words[1:3] == ["stdout", "up"] else []
            yield Running(process, tuple(pids))
        finally:
            process.kill()
            process.communicate()

    def belongings(self) -> Belongings:
        """Return what the processes of the run have now."""
        pids = frozenset(self.processes())
        found = [link for pid in pids for link in _links(pid)]
        return Belongings(
            pids,
            frozenset(one[8:-1] for one in found if one.startswith("socket:[")) & _open_sockets(),
            frozenset(files_below(self.temporary)),
            frozenset(path for pid in pids for path in _mapped(pid)),
        )

    def left(self) -> list[str]:
        """Return what the run left behind: processes, temporary files, shared memory."""
        return [
            *(f"process {pid}: {command}" for pid, command in self.processes().items()),
            *(f"file {path}" for path in files_below(self.temporary)),
            *(f"shared memory {path}" for path in self.segments() if Path(path).exists()),
        ]

    def segments(self) -> set[str]:
        """Return the shared memory that the MPI of the programs had."""
        file = self.folder / "segments"
        return set(file.read_text().splitlines()) if file.exists() else set()

    def processes(self) -> dict[int, str]:
        """Return name and command of every process that was started, in that order."""
        return marked_processes(MARK, self.mark)

    def wait_until_gone(self, seconds: float = GONE_WITHIN) -> list[str]:
        """Return what is still left after a while."""
        return wait_until_gone(self.left, self.processes, seconds)


def _links(pid: int) -> list[str]:
    found = []
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            found.append(os.readlink(entry))
    except OSError:  # it has ended, or closed the file
        pass
    return found


def _mapped(pid: int) -> set[str]:
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return set()
    named = {line[line.index("/dev/shm/") :] for line in lines if "/dev/shm/" in line}
    return {path for path in named if Path(path).exists()}


def _open_sockets() -> frozenset[str]:
    """Return the numbers of all sockets of this machine, as `ss` would show them."""
    column = {"tcp": 9, "tcp6": 9, "unix": 6}
    return frozenset(
        line.split()[place]
        for name, place in column.items()
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    )


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bench]:
    """A bench; after the test nothing of its runs may be left."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    with tempfile.TemporaryDirectory(prefix="gcm-test-", dir="/tmp") as temporary:
        monkeypatch.setenv("TMPDIR", temporary)
        made = Bench(tmp_path, Path(temporary), mark)
        yield made
        assert made.wait_until_gone() == []
