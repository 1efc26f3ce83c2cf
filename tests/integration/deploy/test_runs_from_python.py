"""Python programs run programs on a grid, look at them while they go on, and stop them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from runtime import run, start
from runtime.runs import RunFailed

PROGRAM = """\
import sys, time
from mpi4py import MPI

world = MPI.COMM_WORLD
print(f"<rank {world.rank}> of {world.size}", *sys.argv[1:], flush=True)
if "fail" in sys.argv and world.rank == 1:
    sys.exit(3)
if "stay" in sys.argv:
    time.sleep(600)
"""

pytestmark = pytest.mark.mpi


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def test_the_result_has_output_ranks_and_a_report(program: Path) -> None:
    result = run(program, 7, machine="2x1x2")
    lines = [f"<rank {number}> of 4 7" for number in range(4)]
    assert sorted(result.output.splitlines()) == lines
    assert [rank.output for rank in result.ranks] == [f"{line}\n" for line in lines]
    assert [(rank.number, rank.code) for rank in result.ranks] == [(n, 0) for n in range(4)]
    assert repr(result).startswith("<result of program: exit code 0; 4 ranks in 2 clusters; ")
    assert "&lt;rank 2&gt; of 4 7" in result._repr_html_()
    assert result._repr_svg_().startswith("<svg")
    assert "<html" in result.report()


def test_a_run_that_fails_raises_with_its_result(program: Path) -> None:
    with pytest.raises(RunFailed, match=r"rank 1 .* failed.*: exit code 3") as caught:
        run(program, "fail", machine=2)
    assert caught.value.result.code == 3
    assert run(program, "fail", machine=2, check=False).code == 3


def test_leaving_the_block_ends_what_still_runs(program: Path) -> None:
    with start(program, "stay", machine=2) as going:
        while going.output.count("\n") < 2:
            time.sleep(0.05)
        assert [rank.state for rank in going.ranks] == ["running"] * 2
        assert "running" in repr(going)
        assert going.waits() == []
        with pytest.raises(TimeoutError):
            going.wait(0.01)
    assert all(not Path(f"/proc/{rank.pid}").exists() for rank in going.ranks)
    assert going.wait().code == 0
    assert going.waits() == []


def test_runs_can_be_awaited_side_by_side(program: Path) -> None:
    async def both() -> list[str]:
        async with start(program, "a", machine=1) as one, start(program, "b", machine=1) as other:
            return [(await one).output, (await other).output]

    assert asyncio.run(both()) == ["<rank 0> of 1 a\n", "<rank 0> of 1 b\n"]
