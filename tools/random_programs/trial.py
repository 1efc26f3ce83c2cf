"""Running a program on plain MPI or on a grid, and comparing what is seen with what has to be."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

from tools.on_grids import COMMAND, ROOT, descriptor, environment
from tools.random_programs.model import expected
from tools.random_programs.program import Program

PLAIN = "plain"
MODULE = "tools.random_programs.interpreter"
BATCH = "tools.random_programs.batch"
START_SECONDS = 30.0
"""What starting and ending may take beside the program itself."""


def trial(program: Program, where: str, *, seconds: float = 30.0) -> list[str]:
    """Run a program on `plain` MPI or on a grid such as `1|2|3`; return what is wrong with it.

    `seconds` is how long the program may take, without its start. A rank that takes longer says
    where it is; that is part of the answer.
    """
    with tempfile.TemporaryDirectory(prefix="random-program-") as folder:
        path = Path(folder, "program.json")
        path.write_text(program.to_json(), "utf-8")
        arguments = [str(path), str(seconds)]
        command = _command(MODULE, arguments, where, program.size, folder)
        code, said = _run(command, seconds + START_SECONDS)
        seen = [path.with_suffix(f".{rank}.txt") for rank in range(program.size)]
        texts = [one.read_text("utf-8") if one.exists() else None for one in seen]
    return faults(program, texts) + ([f"exit code {code}", said] if code else [])


def together(
    seeds: range, length: int, where: str, size: int, *, seconds: float
) -> tuple[int, str]:
    """Run the programs of many seeds in one start; return its exit code, and what it has said.

    `seconds` is how long each of them may take.
    """
    arguments = [str(one) for one in (seeds.start, len(seeds), length, seconds)]
    with tempfile.TemporaryDirectory(prefix="random-programs-") as folder:
        command = _command(BATCH, arguments, where, size, folder)
        return _run(command, seconds * len(seeds) + START_SECONDS)


def _command(module: str, arguments: list[str], where: str, size: int, folder: str) -> list[str]:
    """Return what runs a module of Python on plain MPI or on a grid."""
    if where == PLAIN:
        return ["mpiexec", "-n", str(size), sys.executable, "-m", module, *arguments]
    script = ROOT / (module.replace(".", "/") + ".py")
    grid = Path(folder, "grid.xml")
    grid.write_text(descriptor(where, str(script), arguments), "utf-8")
    return [*COMMAND, "--quiet", str(grid)]


def _run(command: list[str], seconds: float) -> tuple[int, str]:
    variables = {**environment(), "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            said, _ = process.communicate()
            return 124, f"{said}\nended after {seconds:.0f} s"
    return process.returncode, said


def faults(program: Program, texts: list[str | None]) -> list[str]:
    """Return the first thing of each rank that is not as it has to be; None: it did not end."""
    found: list[str] = []
    for rank, (wanted, text) in enumerate(zip(expected(program), texts, strict=True)):
        if text is None:
            found.append(f"rank {rank} did not come to its end")
            continue
        for due, seen in zip_longest(wanted, text.splitlines()):
            if due != seen:
                found.append(f"rank {rank} saw\n    {seen}\nand not\n    {due}")
                found.append(f"in {_event(program, due or seen or '', rank)}")
                break
    return found


def _event(program: Program, line: str, rank: int) -> str:
    event = program.events[int(line.partition(" ")[0])]
    return f"{event.unit} {event.steps.get(rank)}"
