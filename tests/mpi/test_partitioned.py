"""Partitioned messages within and between clusters."""

from __future__ import annotations

import pytest

from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


@on("2+1")
def test_parts_arrive_one_by_one_and_each_side_cuts_the_message_for_itself(
    shared: SharedGrid,
) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        if world.rank == 0:
            data = array("d", [0] * 12)
            sending = world.Psend_init(data, 4, 2, 5)
            for turn in range(2):
                sending.Start()
                for part in (3, 1):
                    data[3 * part:3 * part + 3] = array("d", [10 * turn + part] * 3)
                    sending.Pready(part)
                world.recv(source=2)
                for part in (0, 2):
                    data[3 * part:3 * part + 3] = array("d", [10 * turn + part] * 3)
                sending.Pready_list([0])
                sending.Pready_range(2, 2)
                sending.Wait()
                world.recv(source=2)
            sending.Free()
            print(sending == MPI.REQUEST_NULL)
        if world.rank == 2:
            data, status = array("d", [-1] * 12), MPI.Status()
            receiving = world.Precv_init(data, 2, 0, 5)
            print(receiving.Parrived(1))
            for turn in range(2):
                receiving.Start()
                while data[9] != 10 * turn + 3:
                    receiving.Parrived(1)
                print(receiving.Parrived(0), receiving.Parrived(1))
                world.send(None, 0)
                receiving.Wait(status)
                print(list(map(int, data)), status.source, status.tag, status.Get_count(MPI.DOUBLE))
                world.send(None, 0)
            receiving.Free()
        """
    )
    first = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    second = [10 + one for one in first]
    assert said == {
        0: ["True"],
        1: [],
        2: ["True", "False False", f"{first} 0 5 12", "False False", f"{second} 0 5 12"],
    }


@on("2+1")
def test_requests_belong_together_in_their_order_and_types_have_gaps(shared: SharedGrid) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        pairs = MPI.DOUBLE.Create_vector(2, 1, 2).Create_resized(0, 32).Commit()
        after, before = (world.rank + 1) % 3, (world.rank - 1) % 3
        sends = [world.Psend_init(array("d", [100 * n + world.rank] * 4), 2, after) for n in (0, 1)]
        source = array("d", range(8))
        sends.append(world.Psend_init([source, 1, pairs], 2, after))
        memory = [array("d", [-1] * 4) for _ in range(2)] + [array("d", [-1] * 8)]
        receives = [world.Precv_init(one, 4, before, 0) for one in memory[:2]]
        receives.append(world.Precv_init([memory[2], 1, pairs], 2, before, 0))
        for request in (*reversed(receives), *reversed(sends)):
            request.Start()
        for one in reversed(sends):
            one.Pready_range(0, 1)
        MPI.Request.Waitall([*sends, *receives])
        print(*(list(map(int, one)) for one in memory))
        for request in (*sends, *receives):
            request.Free()
        """
    )
    rest = "[0, -1, 2, -1, 4, -1, 6, -1]"
    assert said == {
        rank: [f"{[(rank - 1) % 3] * 4} {[100 + (rank - 1) % 3] * 4} {rest}"] for rank in range(3)
    }


@on("2+1")
def test_messages_with_nobody_are_done_at_once(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        memory, status = bytearray(b"as it was"), MPI.Status()
        requests = [
            world.Psend_init(memory, 3, MPI.PROC_NULL, 1),
            world.Precv_init(memory, 3, MPI.PROC_NULL, 1),
        ]
        MPI.Prequest.Startall(requests)
        requests[0].Pready_range(0, 2)
        print(requests[1].Parrived(1), requests[0].Test())
        requests[1].Wait(status)
        print(memory.decode(), status.source == MPI.PROC_NULL, status.Get_count(MPI.BYTE))
        for request in requests:
            request.Free()
        print(requests == [MPI.REQUEST_NULL] * 2)
        """
    )
    assert said == {rank: ["True True", "as it was True 0", "True"] for rank in range(3)}


@on("1+1")
def test_wrong_partitions_are_errors_that_say_why(shared: SharedGrid) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        other = 1 - world.rank
        def tried(call, *args):
            try:
                call(*args)
            except (MPI.Exception, ValueError) as error:
                kinds = ("ERR_ARG", "ERR_RANK", "ERR_TAG", "ERR_REQUEST", "ERR_TRUNCATE")
                number = error.Get_error_class() if isinstance(error, MPI.Exception) else None
                kind = next((one for one in kinds if getattr(MPI, one) == number), str(error)[:40])
                print(kind, *getattr(error, "__notes__", ()))
        tried(world.Psend_init, bytearray(4), 0, other)
        tried(world.Psend_init, bytearray(4), 3, other)
        tried(world.Precv_init, bytearray(4), 2)
        tried(world.Precv_init, bytearray(4), 2, other)
        sending = world.Psend_init(bytearray(6), 3, other)
        receiving = world.Precv_init(bytearray(4), 2, other, 0)
        tried(sending.Pready, 0)
        sending.Start()
        receiving.Start()
        tried(sending.Pready, 3)
        sending.Pready(0)
        tried(sending.Pready, 0)
        tried(receiving.Parrived, 2)
        sending.Pready_range(1, 2)
        sending.Wait()
        tried(receiving.Wait)
        tried(receiving.Pready, 0)
        sending.Free()
        receiving.Free()
        """
    )
    told = [
        "ERR_ARG a message has 1 to 1073709055 partitions, and not 0",
        "message: cannot infer count, number of e",
        "ERR_RANK",
        "ERR_TAG",
        "ERR_REQUEST partition 0 is ready, but nothing is started",
        "ERR_ARG partition 3 is not one of 3",
        "ERR_ARG partition 0 was marked as ready already",
        "ERR_ARG partition 2 is not one of 2",
        "ERR_TRUNCATE the sender has 3 partitions of 2 bytes, the receiver 2 of 2",
        "ERR_REQUEST a receive has no parts to be marked as ready",
    ]
    assert said == {0: told, 1: told}


def test_both_ends_learn_of_the_death_of_the_other_one(grid: Grid) -> None:
    said = grid(
        "1+1|1",
        """
        import os
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        if world.rank == 1:
            world.recv(source=0)
            os._exit(7)
        if world.rank == 0:
            sending = world.Psend_init(bytearray(4), 2, 1)
            receiving = world.Precv_init(bytearray(4), 2, 1, 0)
            sending.Start()
            receiving.Start()
            sending.Pready(0)
            world.send(None, 1)
            for request in (receiving, sending):
                try:
                    request.Wait()
                except MPI.Exception as error:
                    print(error.Get_error_class() == MPI.ERR_PROC_FAILED, flush=True)
                if request is receiving:
                    sending.Pready(1)
        """,
        failures="return",
    )
    assert said == {0: ["True", "True"], 1: [], 2: []}
