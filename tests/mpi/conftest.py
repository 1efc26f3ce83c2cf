"""What the tests of hierarchical MPI share: programs run on grids of several emulated clusters."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "import sys; from runtime.cli import main; sys.exit(main())")

Lines = dict[int, list[str]]
Grid = Callable[..., Lines]


def sizes_of(layout: str) -> list[list[int]]:
    """Return the ranks of each cluster of each site.

    `1+2` are two clusters of one site, `1|2` one cluster in each of two sites, `2x3` two sites of
    three clusters with two ranks each, and `1|2+3` has one cluster in the first site.

    >>> sizes_of("1+1"), sizes_of("1|2+3"), sizes_of("2x2")
    ([[1, 1]], [[1], [2, 3]], [[2, 2], [2, 2]])
    """
    if "x" in layout:
        sites, clusters = map(int, layout.split("x"))
        return [[2] * clusters for _ in range(sites)]
    return [[int(ranks) for ranks in site.split("+")] for site in layout.split("|")]


def descriptor_of(layout: str, script: str, comm_world: str) -> str:
    """Return the descriptor that runs a script on a grid with this layout, on this machine."""
    sites = "".join(
        "<site>" + "".join(f'<cluster><mpi ranks="{one}"/></cluster>' for one in site) + "</site>"
        for site in sizes_of(layout)
    )
    return (
        f'<deployment name="try"><application script="{script}" comm-world="{comm_world}"/>'
        f"<grid>{sites}</grid></deployment>"
    )


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    """Run a program on a grid; return the lines that each rank of COMM_GRID wrote.

    Call it with the layout and the text of the program. It fails the test when the program does
    not end with `code`; `stderr=True` adds the lines of standard error.
    """

    def run(
        layout: str,
        program: str,
        *,
        timeout: float = 60.0,
        comm_world: str = "grid",
        code: int = 0,
        stderr: bool = False,
    ) -> Lines:
        (tmp_path / "program.py").write_text(textwrap.dedent(program), encoding="utf-8")
        (tmp_path / "grid.xml").write_text(descriptor_of(layout, "program.py", comm_world))
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [*COMMAND, "--quiet", "--tag-output", str(tmp_path / "grid.xml")],
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != code:
            pytest.fail(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}", pytrace=False)
        said = done.stdout + (done.stderr if stderr else "")
        return by_rank(layout, said.splitlines())

    return run


def by_rank(layout: str, lines: list[str]) -> Lines:
    """Sort tagged lines by the rank in COMM_GRID of the process that wrote them."""
    names = [
        f"{site}:{cluster}:{rank}"
        for site, sizes in enumerate(sizes_of(layout))
        for cluster, size in enumerate(sizes)
        for rank in range(size)
    ]
    found: Lines = {index: [] for index in range(len(names))}
    for line in lines:
        tag, _, text = line.partition("] ")
        if tag.startswith("[") and tag[1:] in names:
            found[names.index(tag[1:])].append(text)
    return found
