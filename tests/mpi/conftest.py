"""What the tests of hierarchical MPI share: programs run on grids of several emulated clusters."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.far_host import far_host, way  # noqa: F401 - fixtures
from tests.grids import Grid, Lines, Plain, SharedGrid, by_rank
from tools.on_grids import COMMAND, ROOT, descriptor, environment


@pytest.fixture
def grid(tmp_path: Path, way: str) -> Grid:  # noqa: F811 - the fixture
    """Run a program on a grid; return the lines that each rank of COMM_GRID wrote.

    Call it with the layout (see `tools.on_grids.sizes_of`) and the text of the program. It fails
    the test when the program does not end with `code`, or one of several; `stderr=True` adds the
    lines of standard error.
    """

    def run(
        layout: str,
        program: str,
        *,
        timeout: float = 60.0,
        comm_world: str = "grid",
        code: int | Collection[int] = 0,
        stderr: bool = False,
        failures: str = "abort",
        replicas: int = 1,
        restart: bool = False,
    ) -> Lines:
        (tmp_path / "program.py").write_text(textwrap.dedent(program), encoding="utf-8")
        (tmp_path / "grid.xml").write_text(
            descriptor(
                layout,
                "program.py",
                (),
                comm_world,
                way=way,
                failures=failures,
                replicas=replicas,
                restart=restart,
            )
        )
        done = subprocess.run(
            [*COMMAND, "--quiet", "--tag-output", "--all-tracebacks", str(tmp_path / "grid.xml")],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode not in ([code] if isinstance(code, int) else code):
            pytest.fail(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}", pytrace=False)
        said = done.stdout + (done.stderr if stderr else "")
        return by_rank(layout, said.splitlines())

    return run


@pytest.fixture(scope="module")
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedGrid]:
    """The grid of a layout, which `tests.grids.on` names, for all tests of a module."""
    with SharedGrid(request.param, tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
def plain(tmp_path: Path) -> Plain:
    """Run a program under plain `mpiexec`, or alone; return the sorted lines that it wrote."""

    def run(ranks: int, program: str, *, timeout: float = 60.0) -> list[str]:
        # `mpiexec` cuts and mixes what ranks write at once, so each has a file of its own.
        said = f"import os, sys; sys.stdout = open(f'{tmp_path}/{{os.getpid()}}.out', 'w')\n"
        (tmp_path / "program.py").write_text(said + textwrap.dedent(program), encoding="utf-8")
        starter = ["mpiexec", "-n", str(ranks)] if ranks else []
        done = subprocess.run(
            [*starter, sys.executable, str(tmp_path / "program.py")],
            env={**environment(), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode:
            pytest.fail(f"exit code {done.returncode}\n{done.stderr}", pytrace=False)
        files = tmp_path.glob("*.out")
        return sorted(line for one in files for line in one.read_text("utf-8").splitlines())

    return run
