"""Programs that go on without ranks that are lost: `failures="return"` and the words of ULFM."""

from __future__ import annotations

import os

import pytest

from tests.grids import Grid

pytestmark = pytest.mark.mpi


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
            how = error.cause.rpartition(" at ")[0]
            print(is_loss, error.process, how, flush=True)
"""


@pytest.mark.parametrize(
    ("layout", "ending", "words"),
    [
        (
            "1+1|1",
            "os.kill(os.getpid(), 9)",
            "0:1:0 rank 1 (site0/cluster1 0) on {host} was killed by SIGKILL",
        ),
        ("3", "os._exit(7)", "0:0:1 rank 1 on {host} ended with exit code 7"),
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


def test_survivors_agree_on_who_is_lost_and_go_on_in_a_smaller_communicator(grid: Grid) -> None:
    said = grid(
        "2+1|1",
        LOSS.format(ending="os.kill(os.getpid(), 9)")
        + """
    tried(world.allreduce, 1)
    try:
        world.Agree(3)
    except MPI.Exception as error:
        print(error.Get_error_class() == MPI.ERR_PROC_FAILED, error.flag)
    print(world.Ack_failed(), world.Get_failed().Translate_ranks(None, world.Get_group()))
    print(world.Agree(6 if world.rank else 3))
    small = world.Shrink()
    print(small.rank, small.size, small.allreduce(world.rank))
    print(small.Split(small.rank % 2).size, small.Dup().bcast(small.rank, root=2))
    """,
        failures="return",
    )
    for place, rank in enumerate((0, 2, 3)):
        assert said[rank][1:] == ["True 3", "1 [1]", "2", f"{place} 3 5", f"{2 - place % 2} 2"]


@pytest.mark.parametrize("size", [5, 5_000_000])
def test_a_broadcast_whose_relay_is_lost_reaches_all_that_live(grid: Grid, size: int) -> None:
    said = grid(
        "1|1+1+1",
        f"""
    import os
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    if world.rank == 1:  # through which the data comes to the second site
        for other in (0, 2, 3):  # in a barrier some might miss it
            world.recv(source=other)
        os._exit(9)
    world.send("go on", dest=1)
    data = bytearray((b"x" if world.rank == 0 else b"-") * {size})
    for call in (lambda: world.Bcast(data), lambda: world.bcast(data)):
        try:
            print((call() or data).count(b"x"), flush=True)
        except MPI.Exception as error:
            print(error, flush=True)
    """,
        failures="return",
    )
    assert said == {rank: [str(size)] * 2 * (rank != 1) for rank in range(4)}


def test_a_revoked_communicator_ends_what_others_wait_for_on_it_and_can_be_shrunk(
    grid: Grid,
) -> None:
    said = grid(
        "1+1|1",
        """
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    comm = world.Dup()
    if world.rank == 0:
        world.recv(source=1)
        comm.Revoke()
    def code_of(call, *args, **kwargs):
        try:
            call(*args, **kwargs)
        except MPI.Exception as error:
            return error.Get_error_class() == MPI.ERR_REVOKED
    if world.rank == 1:
        waiting = comm.irecv(source=2)
        world.send("now", 0)
        print(code_of(comm.recv, source=2), code_of(waiting.wait))
    else:
        print(code_of(comm.barrier))
    print(comm.Is_revoked(), world.Is_revoked(), code_of(comm.send, 1, MPI.PROC_NULL))
    print(code_of(comm.Dup), comm.Agree(5), comm.Shrink().allreduce(1))
    comm.Free()
    """,
        failures="return",
    )
    first = ["True", "True True", "True"]
    rest = ["True False True", "True 5 3"]
    assert said == {rank: [first[rank], *rest] for rank in range(3)}


def test_survivors_agree_although_leaders_die_meanwhile(grid: Grid) -> None:
    deaths = (0, 1)
    said = grid(
        "4",
        f"""
    import os, threading
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    world.barrier()
    if world.rank in {deaths}:
        threading.Timer(0.2 + 0.01 * world.rank, os._exit, [9]).start()
        while True:
            world.Agree(1)
    comm, sizes = world, []
    while len(sizes) < 50 or comm.size > 4 - {len(deaths)}:
        comm.Ack_failed()
        comm = comm.Shrink()
        sizes.append(comm.size)
    print(comm.allgather(sizes[-1]))
    """,
        failures="return",
    )
    for rank in range(4):
        left = 4 - len(deaths)
        assert said[rank] == ([] if rank in deaths else [str([left] * left)])


def test_a_receive_from_any_rank_goes_on_once_the_loss_is_acknowledged(grid: Grid) -> None:
    said = grid(
        "1+1+1",
        LOSS.format(ending="os._exit(9)")
        + """
    if world.rank == 0:
        tried(world.recv)
        world.Ack_failed()
        world.send("ready", 2)
        print(world.recv())
    else:
        world.recv(source=0)
        world.send("late", 0)
    """,
        failures="return",
    )
    assert said[0][-1] == "late"
    assert said[0][0].startswith("True 0:1:0 rank 1 (site0/cluster1 0) on")


def test_a_receive_that_begins_in_the_moment_of_a_revocation_ends_too(grid: Grid) -> None:
    said = grid(
        "1+1|1",
        """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        ended = 0
        for _ in range(100):
            comm = world.Dup()
            if world.rank == 0:
                world.recv(source=1)
                comm.Revoke()
            elif world.rank == 1:
                world.send("now", 0)
                try:
                    comm.recv(source=2)
                except MPI.Exception as error:
                    ended += error.Get_error_class() == MPI.ERR_REVOKED
            comm.Shrink().Free()
            comm.Free()
        print(ended)
        """,
        failures="return",
    )
    assert said[1] == ["100"]
