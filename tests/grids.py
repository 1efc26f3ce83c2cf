"""Programs on grids: what each rank wrote, and one grid that runs several programs."""

from __future__ import annotations

import select
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest

from tools.on_grids import COMMAND, ROOT, descriptor, environment, identifiers

Lines = dict[int, list[str]]
Grid = Callable[..., Lines]
"""Runs a program on a grid of its own; returns the lines of each rank of COMM_GRID."""

Plain = Callable[..., list[str]]
"""Runs a program under plain `mpiexec`, or alone; returns the sorted lines."""

PATIENCE = 60.0
"""Seconds in which a program has to have ended."""

SERVES = """\
import contextlib
from runtime import MPI
control = MPI.COMM_GRID.Dup()
while folder := control.bcast(input() if control.rank == 0 else None):
    file = f"{folder}/program.py"
    with open(file) as text, open(f"{folder}/{control.rank}", "w") as said:
        with contextlib.redirect_stdout(said):
            exec(compile(text.read(), file, "exec"), {"__name__": "__main__", "__file__": file})
    control.Barrier()
    if control.rank == 0:
        print("done", flush=True)
"""


def by_rank(layout: str, lines: list[str]) -> Lines:
    """Sort tagged lines by the rank in COMM_GRID of the process that wrote them."""
    names = identifiers(layout)
    found: Lines = {index: [] for index in range(len(names))}
    tags = {str(index): index for index in found}
    for index, name in enumerate(names):  # where each cluster has its own COMM_WORLD
        site, cluster, rank = name.split(":")
        tags[f"site{site}/cluster{cluster} {rank}"] = index
    for line in lines:
        tag, _, text = line.partition("] ")
        if tag.startswith("[") and tag[1:] in tags:
            found[tags[tag[1:]]].append(text)
    return found


class SharedGrid:
    """A grid whose ranks run one program after the other, so that it starts once for a module.

    It is for programs that end well and change nothing that the next one sees: no `mpi4py.rc`, no
    error handler of COMM_WORLD, no collective of COMM_WORLD that is out of step. What one of them
    raises ends the grid, and all later tests of its layout in the module fail.
    """

    def __init__(self, layout: str, folder: Path) -> None:
        self._folder, self._ranks, self._number = folder, len(identifiers(layout)), 0
        (folder / "program.py").write_text(SERVES, encoding="utf-8")
        (folder / "grid.xml").write_text(descriptor(layout, "program.py"))
        self._errors = (folder / "stderr").open("w+")
        self._process = subprocess.Popen(
            [*COMMAND, "--quiet", "--all-tracebacks", str(folder / "grid.xml")],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __call__(self, program: str) -> Lines:
        """Run a program; return the lines of each rank of COMM_GRID."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        (folder / "program.py").write_text(textwrap.dedent(program), encoding="utf-8")
        try:
            print(folder, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            self._fail("has ended with an earlier program", folder)
        if not select.select([self._process.stdout], [], [], PATIENCE)[0]:
            self._process.terminate()
            self._fail(f"did not come to the end within {PATIENCE:g} s", folder)
        if self._process.stdout.readline() != "done\n":
            self._fail("has failed", folder)
        return self._said(folder)

    def _said(self, folder: Path) -> Lines:
        files = {rank: folder / str(rank) for rank in range(self._ranks)}
        return {
            rank: file.read_text("utf-8").splitlines() if file.exists() else []
            for rank, file in files.items()
        }

    def _fail(self, what: str, folder: Path) -> None:
        self._process.wait(PATIENCE)
        self._errors.seek(0)
        pytest.fail(f"the grid {what}\n{self._said(folder)}\n{self._errors.read()}", pytrace=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate("\n", timeout=PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()
            self._errors.close()


def on(*layouts: str) -> pytest.MarkDecorator:
    """Mark a test that runs its programs on the shared grids of these layouts."""
    return pytest.mark.parametrize("shared", layouts, indirect=True)
