"""Programs that go on without ranks that are lost: `failures="return"` and the words of ULFM."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.mpi

Grid = Callable[..., dict[int, list[str]]]

LOSS = """
    import os, sys
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    world.barrier()
    others = [rank for rank in range(world.size) if rank != 1]
    if world.rank == 1:
        for other in others:  # some may still be in the barrier, and would miss it there
            world.recv(source=other)
        {ending}
    world.send("go on", dest=1)

    def tried(call, *args, **kwargs):
        try:
            call(*args, **kwargs)
        except MPI.Exception as error:
            is_loss = error.Get_error_class() == MPI.ERR_PROC_FAILED
            print(is_loss, error.cause.rpartition(" at ")[0], flush=True)
"""


@pytest.mark.parametrize(
    ("layout", "ending", "words"),
    [
        ("1+1|1", "os.kill(os.getpid(), 9)", "0:1:0 on {host} was killed by SIGKILL"),
        ("3", "os._exit(7)", "0:0:1 on {host} ended with exit code 7"),
        ("2+2", "os._exit(7)", "0:0:1 on {host} ended with exit code 7"),
    ],
)
def test_calls_that_need_the_lost_rank_say_how_it_ended_and_all_others_go_on(
    grid: Grid, layout: str, ending: str, words: str
) -> None:
    said = grid(
        layout,
        LOSS.format(ending=ending)
        + """
    tried(world.barrier)
    tried(world.recv, source=1)
    place = others.index(world.rank)
    right, left = others[(place + 1) % len(others)], others[place - 1]
    print(world.sendrecv(world.rank, right, source=left) == left, flush=True)
    """,
        failures="return",
    )
    loss = f"True {words.format(host=os.uname().nodename)}"
    assert {rank: lines for rank, lines in said.items() if rank != 1} == {
        rank: [loss, loss, "True"] for rank in said if rank != 1
    }


def test_errors_that_are_fatal_end_the_run_where_losses_could_be_survived(grid: Grid) -> None:
    grid(
        "1+1",
        LOSS.format(ending="os._exit(7)")
        + """
    world.Set_errhandler(MPI.ERRORS_ARE_FATAL)
    world.barrier()
    print("not reached")
    """,
        failures="return",
        code=range(1, 256),
    )


def test_an_exception_of_the_program_is_no_loss_to_be_passed_over(grid: Grid) -> None:
    said = grid(
        "1+1",
        LOSS.format(ending="raise ValueError('wrong')") + "    tried(world.barrier)",
        failures="return",
        code=1,
        stderr=True,
    )
    assert any("ValueError: wrong" in line for line in said[0])
