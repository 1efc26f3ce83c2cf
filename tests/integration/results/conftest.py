"""A program on two clusters that work in copies: on this machine, or over a real sshd."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtime.results.known_results import RECORD
from runtime.testing.sshd import Sshd
from tests.far_host import far_host  # noqa: F401 - a fixture
from tools.on_grids import COMMAND, ROOT

MPIEXEC = Path(sys.executable).parent / "mpiexec"
MOST_SECONDS = 120


@dataclass(frozen=True)
class Ended:
    """A run that has ended: what it said, its exit code and its summary."""

    code: int
    lines: list[str]
    errors: str
    summary: dict[str, Any]

    @property
    def kept(self) -> list[dict[str, str]]:
        return [one["kept"] for one in self.summary["results"] if one["kept"]]


class Run:
    """A deployment in a process of its own."""

    def __init__(self, words: list[str], **options: Any) -> None:
        self.process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
            **options,
        )
        self.lines: list[str] = []
        self._errors: list[str] = []
        self._reader = threading.Thread(target=self._read_errors, name="errors")
        self._reader.start()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)

    def await_lines(self, text: str, number: int) -> list[str]:
        """Return the lines that begin with a text once there are so many."""
        assert self.process.stdout is not None
        while len(found := [one for one in self.lines if one.startswith(text)]) < number:
            line = self.process.stdout.readline()
            assert line, (self.lines, self._errors)
            self.lines.append(line.rstrip("\n"))
        return found

    def end(self) -> Ended:
        """Return how it ended."""
        assert self.process.stdout is not None
        self.lines += self.process.stdout.read().splitlines()
        code = self.process.wait(MOST_SECONDS)
        self._reader.join()
        summary = {}
        if self.lines and self.lines[-1].startswith('{"name"'):
            summary = json.loads(self.lines[-1])
        return Ended(code, self.lines, "".join(self._errors), summary)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.end()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@dataclass
class Bench:
    """A program folder, where copies of it are made, and how the clusters are reached."""

    home: Path
    work: Path
    way: str
    clusters: str = ""
    running: list[Run] = field(default_factory=list)

    def write(self, program: str, transfers: str = "", *, clusters: str = "ab") -> None:
        """Write a program, and the descriptor that runs it on two ranks of each cluster."""
        self.home.mkdir(exist_ok=True)
        (self.home / "program.py").write_text(program)
        found = "".join(
            f'<cluster name="{name}">{self.way}'
            f'<front-end folder="{self.work}" python="{sys.executable}"/>'
            f'<mpi ranks="2" command-path="{MPIEXEC}"/></cluster>'
            for name in clusters
        )
        (self.home / "grid.xml").write_text(
            f'<deployment name="try"><application script="program.py"/>{transfers}'
            f'<grid><site name="s">{found}</site></grid></deployment>'
        )

    def start(self, *arguments: str, before: str = "") -> Run:
        """Start it; `before` is done by a shell that becomes it."""
        words = [*COMMAND, "--format", "json", str(self.home / "grid.xml"), "--", *arguments]
        if before:
            words = ["/bin/sh", "-c", f"{before}; exec {shlex.join(words)}"]
        self.running.append(Run(words))
        return self.running[-1]

    def run(self, *arguments: str, before: str = "") -> Ended:
        """Run it to its end."""
        return self.start(*arguments, before=before).end()

    @property
    def notes(self) -> list[str]:
        """The notes that name folders with results elsewhere."""
        return [one.read_text() for one in sorted(self.home.glob(".gcm-kept-*"))]

    def read(self, name: str) -> str:
        return (self.home / name).read_text()

    @property
    def brought(self) -> set[str]:
        """What is in the program folder beside what was written there before."""
        found = {str(one.relative_to(self.home)) for one in self.home.rglob("*")}
        found -= {one for one in found if one.startswith(".gcm-kept-")}
        return found - {"program.py", "grid.xml", "__pycache__", RECORD}

    @property
    def kept(self) -> list[Path]:
        """The work folders that are still there."""
        return sorted(self.work.iterdir()) if self.work.exists() else []


@pytest.fixture(params=["local", "ssh"])
def bench(
    request: pytest.FixtureRequest,
    far_host: Sshd | None,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> Iterator[Bench]:
    """A bench on this machine and one over ssh."""
    if request.param == "ssh" and far_host is None:
        pytest.skip("no sshd is installed: apt-get install openssh-server")
    way = far_host.hop if far_host is not None and request.param == "ssh" else ""
    made = Bench(tmp_path / "home", tmp_path / "work", way)
    yield made
    for one in made.running:
        one.close()


def children_of(pid: int) -> list[int]:
    """Return what descends from a process."""
    found, ahead = [], [pid]
    while ahead:
        for task in Path(f"/proc/{ahead.pop()}/task").glob("*/children"):
            try:
                below = list(map(int, task.read_text().split()))
            except OSError:
                continue
            found += below
            ahead += below
    return found


def named(pids: list[int], name: str) -> list[int]:
    """Return those of some processes that are called so."""
    found = []
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                found.append(pid)
        except OSError:
            continue
    return found


@pytest.fixture
def kill() -> Any:
    """Kill all descendants of a run that have a name."""

    def kill_named(run: Run, name: str) -> int:
        pids = named(children_of(run.process.pid), name)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return len(pids)

    return kill_named
