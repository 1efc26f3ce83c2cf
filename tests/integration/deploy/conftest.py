"""What the tests of real deployments share: descriptors to run, and the command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser import browser, page  # noqa: F401 - fixtures
from tests.far_host import far_host, way  # noqa: F401 - fixtures
from tools.on_grids import ROOT

# Like the script that the entry point becomes, which only exists where the package is installed.
COMMAND = (sys.executable, "-P", "-c", "import sys; from runtime.cli import main; sys.exit(main())")

Start = Callable[..., "subprocess.Popen[str]"]
Describe = Callable[..., Path]


@pytest.fixture
def command() -> tuple[str, ...]:
    return COMMAND


@pytest.fixture
def start() -> Iterator[Start]:
    """Start `gcm-deploy` with these words; its output is piped, its end is seen to."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: str | Path, **options: object) -> subprocess.Popen[str]:
        settings: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        settings |= {"cwd": ROOT, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
        process: subprocess.Popen[str] = subprocess.Popen(  # type: ignore[call-overload]  # options
            [*COMMAND, *map(str, words)], text=True, **{**settings, **options}
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def describe(tmp_path: Path, way: str) -> Describe:  # noqa: F811 - the fixture
    """Write a program and a descriptor that runs it on a grid; return the latter.

    All clusters are on this machine, unless the test has `NEAR_AND_FAR`.
    """

    def write(
        program: str, *, sites: int = 1, clusters: int = 1, ranks: int = 1, more: str = ""
    ) -> Path:
        (tmp_path / "program.py").write_text(program, encoding="utf-8")
        path = tmp_path / "grid.xml"
        one = f'<cluster>{{}}<mpi ranks="{ranks}"/></cluster>'
        site = f"<site>{one * clusters}</site>" * sites
        machine = f'<emulate sites="{sites}" clusters="{clusters}" ranks="{ranks}"/>'
        if way:
            machine = f"<grid>{site.replace('{}', way, 1).replace('{}', '')}</grid>"
        path.write_text(
            f'<deployment name="try"><application script="program.py"/>{more}'
            f"{machine}</deployment>",
            encoding="utf-8",
        )
        return path

    return write
