"""Assemblies on nodes, through the real command: what it prints, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.leftovers import files_below, marked_processes, wait_until_gone
from tools.on_grids import ROOT

MARK = "GCM_TEST_NODES"
LONG = 40.0

CALL = "import sys; from {module} import main; sys.exit(main())"

GRID = """
<grid>
  <site name="office"><cluster name="desk"{more}><nodes names="node[0-1]" hosts="localhost"/>
  </cluster></site>
  <site name="lab"><cluster name="rack"{more}><nodes names="blade1" hosts="localhost"/>
  </cluster></site>
</grid>
"""


@dataclass
class Running:
    """A command that runs, and what it has said so far."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)

    def until(self, word: str) -> str:
        """Read its standard output up to a line that contains a word."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if word in line:
                return line.rstrip("\n")
        raise AssertionError(f"{word!r} was never said: {self.said}, {self.end()}")

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=LONG)
        return self.process.returncode, "".join(self.said) + output, errors


@dataclass
class Field:
    """A folder with an assembly, its module and a descriptor, and the commands on them."""

    folder: Path
    temporary: Path
    mark: str
    running: list[Running] = field(default_factory=list)

    def write(
        self, module: str, adl: str, mapping: str, *, reachability: str = "", more: str = ""
    ) -> None:
        """Write `parts.py`, `app.fractal` and `app.xml`."""
        (self.folder / "parts.py").write_text(module)
        (self.folder / "app.fractal").write_text(f'<definition name="app">{adl}</definition>')
        grid = GRID.format(more=reachability and f' reachability="{reachability}"')
        (self.folder / "app.xml").write_text(
            f'<deployment name="app"><assembly file="app.fractal"/>{mapping}{more}{grid}'
            "</deployment>"
        )

    def start(self, module: str, *words: str) -> Running:
        process = subprocess.Popen(
            [sys.executable, "-c", CALL.format(module=module), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self.running.append(Running(process))
        return self.running[-1]

    def deploy(self, *words: str) -> Running:
        """Start `gcm-deploy`."""
        return self.start("runtime.cli", "--progress", "never", *(words or ("app.xml",)))

    def run(self, *words: str) -> tuple[int, str, str]:
        """Run the assembly in one process."""
        return self.start("gcm.cli", "run", *(words or ("app.fractal",))).end()

    def left(self) -> list[str]:
        """Return what is still there: processes of any command, and temporary files."""
        return [
            *(f"process {pid}: {command}" for pid, command in self.processes().items()),
            *(f"file {path}" for path in files_below(self.temporary)),
        ]

    def processes(self) -> dict[int, str]:
        return marked_processes(MARK, self.mark)

    def wait_until_gone(self) -> list[str]:
        """Return what is left after the time in which everything has to be gone."""
        return wait_until_gone(self.left, self.processes)


@pytest.fixture
def field_of_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Field]:
    """A folder to work in; after the test nothing of what was started may be left."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    with tempfile.TemporaryDirectory(prefix="gcm-test-", dir="/tmp") as temporary:
        monkeypatch.setenv("TMPDIR", temporary)
        made = Field(tmp_path, Path(temporary), mark)
        yield made
        for one in made.running:
            if one.process.poll() is None:
                one.process.kill()
            one.process.communicate()
        assert made.wait_until_gone() == []
