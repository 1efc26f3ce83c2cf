"""Ranks that are lost: who is left learns who it was, soon, in every call that would need it."""

from __future__ import annotations

import time

import pytest

from tests.grids import Grid

pytestmark = pytest.mark.mpi


LOST = """
    import os, mpi4py
    mpi4py.rc.errors = "{errors}"
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    world.Barrier()
    last = world.size - 1
    if world.rank == last:
        for other in range(last):  # some may still be in the barrier, and would miss it there
            world.recv(source=other)
        os.kill(os.getpid(), 9)
    world.send("go on", dest=last)

    def tried(call):
        try:
            print(call(), flush=True)
        except MPI.ProcessGone as error:
            print(error.what.split(" on ")[0], flush=True)
"""


@pytest.mark.parametrize("layout", ["1+1", "2+2"])
def test_no_communicator_is_made_without_a_rank_that_is_lost(grid: Grid, layout: str) -> None:
    said = grid(
        layout,
        LOST.format(errors="exception")
        + """
    if world.rank == 0:
        tried(world.Barrier)
    everybody = world.Get_group()
    tried(world.Dup)
    tried(lambda: world.Idup()[1].Wait())
    tried(lambda: world.Split(0))
    tried(lambda: world.Create(everybody))
    tried(lambda: world.Create_group(everybody))
    tried(lambda: world.Create_cart([world.size]))
    tried(lambda: MPI.Intracomm.Create_from_group(everybody))
    """,
        code=137,
    )
    lost = f"rank {2 if layout == '2+2' else 1} (site0/cluster1 0)"
    wanted = {0: [lost] * 8, 1: [lost] * 7} if layout == "2+2" else {0: [lost] * 8}
    assert {rank: said[rank][-len(lines) :] for rank, lines in wanted.items()} == wanted


def test_those_who_are_left_can_still_make_communicators_among_themselves(grid: Grid) -> None:
    said = grid(
        "1+1+1",
        LOST.format(errors="exception")
        + """
    tried(world.Barrier)
    left = world.Create_group(world.Get_group().Excl([2]))
    print(left.allreduce(1), flush=True)
    """,
        code=137,
    )
    told = ["rank 2 (site0/cluster2 0)", "2"]
    assert [said[rank][-2:] for rank in (0, 1)] == [told, told]


@pytest.mark.parametrize("call", ["world.Barrier()", "world.Dup()", "world.recv(source=last)"])
def test_a_loss_ends_the_run_where_errors_are_fatal(grid: Grid, call: str) -> None:
    began = time.monotonic()
    said = grid(
        "1+1",
        LOST.format(errors="fatal")
        + f"""
    while True:
        {call}
    """,
        code=137,  # of who was killed, and not of who found that
        stderr=True,
    )
    assert "ProcessGone: rank 1 (site0/cluster1 0) on " in " ".join(said[0])
    assert time.monotonic() - began < 40


def test_a_lost_rank_whose_end_its_parent_sees_late_is_blamed_all_the_same(grid: Grid) -> None:
    """Later than the rank that missed it has ended the run, as on a busy machine."""
    program = LOST.replace(
        "os.kill(os.getpid(), 9)",
        """parent, go_on = os.getppid(), "sleep 0.5; kill -CONT $0"
        os.posix_spawn("/bin/sh", ["/bin/sh", "-c", go_on, str(parent)], os.environ, setsid=True)
        os.kill(parent, 19)
        os.kill(os.getpid(), 9)""",
    )
    grid("1+1", program.format(errors="fatal") + "\n    world.Barrier()\n", code=137)
