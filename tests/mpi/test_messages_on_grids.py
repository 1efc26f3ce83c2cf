"""Point-to-point communication between real processes of several clusters."""

from __future__ import annotations

import pytest

from tests.grids import Grid

pytestmark = pytest.mark.mpi


ANY_SENDER = """
    from runtime import MPI
    comm = MPI.COMM_GRID
    me, size, many = comm.rank, comm.size, 25
    if me:
        for number in range(many):
            call = (comm.send, comm.ssend)[number % 2]
            call((me, number), 0, number % 3)
    else:
        seen = {rank: [] for rank in range(1, size)}
        status = MPI.Status()
        for turn in range(many * len(seen)):
            if turn % 3 == 0:
                while (message := comm.improbe(status=status)) is None:
                    pass
                sender, number = message.recv()
            elif turn % 3 == 1:
                sender, number = comm.irecv().wait(status)
            else:
                sender, number = comm.recv(status=status)
            assert (status.source, status.tag) == (sender, number % 3), (sender, number)
            seen[sender].append(number)
        for numbers in seen.values():
            assert numbers == list(range(many))
        print("in order")
"""


@pytest.mark.parametrize("layout", ["1+1", "2+2", "1+2|3"])
def test_messages_of_any_sender_keep_their_order(grid: Grid, layout: str) -> None:
    assert grid(layout, ANY_SENDER)[0] == ["in order"]


def test_who_waits_for_another_cluster_leaves_the_processor_to_others(grid: Grid) -> None:
    lines = grid(
        "2+1",
        """
        import time
        from runtime import MPI
        comm = MPI.COMM_GRID
        comm.Barrier()
        began, used = time.perf_counter(), time.process_time()
        if comm.rank == 2:
            time.sleep(2)
            comm.Send(b"x", 0)
        elif comm.rank == 0:
            comm.Recv(bytearray(1), 2)
            comm.Send(b"x", 1)
        else:
            comm.Recv(bytearray(1), 0)  # of the same cluster, but it waits for the other one
        share = (time.process_time() - used) / (time.perf_counter() - began)
        print("quiet" if share < 0.5 else share)
        """,
    )
    assert lines == {rank: ["quiet"] for rank in range(3)}


def test_messages_move_while_the_program_computes(grid: Grid) -> None:
    lines = grid(
        "1+1",
        """
        import pathlib, time
        from runtime import MPI
        comm = MPI.COMM_GRID
        there = pathlib.Path(__file__).with_name("received")
        large = bytearray(24 << 20)  # much more than can be on its way unasked
        if comm.rank == 0:
            large[-1] = 7
            request = comm.Isend(large, 1)
            until = time.monotonic() + 30
            while not there.exists() and time.monotonic() < until:
                sum(range(1000))  # no call of MPI
            print(there.exists(), request.Test())
        else:
            comm.Recv(large, 0)
            there.touch()
            print(large[-1])
        """,
    )
    assert lines == {0: ["True True"], 1: ["7"]}


def test_who_waits_for_a_killed_process_is_told_its_name(grid: Grid) -> None:
    lines = grid(
        "1+1",
        """
        import os, signal
        from runtime import MPI
        comm = MPI.COMM_GRID
        if comm.rank == 1:
            comm.recv(source=0)
            os.kill(os.getpid(), signal.SIGKILL)
        comm.send("go on", dest=1)
        calls = {
            "recv": lambda: comm.recv(source=1),
            "any": lambda: comm.Recv(bytearray(1), MPI.ANY_SOURCE),
            "probe": lambda: comm.Probe(1),
            "wait": lambda: comm.Irecv(bytearray(1), 1).Wait(),
            "ssend": lambda: comm.ssend(None, 1),
        }
        for name, call in calls.items():
            try:
                call()
            except Exception as error:
                print(name, type(error).__name__, error.process, flush=True)
        """,
        code=137,
    )
    assert lines[0] == [
        f"{name} ProcessGone 0:1:0" for name in ("recv", "any", "probe", "wait", "ssend")
    ]
