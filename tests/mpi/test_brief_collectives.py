"""Collectives on little data, which take a way of their own: results and faults."""

from __future__ import annotations

import pytest

from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


RESULTS = """
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    me, size = world.rank, world.size
    add = MPI.Op.Create(lambda a, b, _: np.frombuffer(b, "i")[:].__iadd__(np.frombuffer(a, "i")))
    sums = size * (size + 1) // 2
    for comm in (world, world.Dup(), world.Split(0, -me)):
        for count in (0, 1, 2000, 16384, 16385, 20_000):
            mine, result = np.full(count, me + 1, "d"), np.zeros(count)
            comm.Barrier()
            comm.Allreduce(mine, result)
            assert (result == sums).all()
            comm.Allreduce(mine, result, MPI.MAX)
            assert (result == size).all()
            comm.Allreduce(mine, result, MPI.AVG)
            assert (result == sums / size).all()
            comm.Allreduce(MPI.IN_PLACE, mine, MPI.PROD)
            assert (mine == np.prod(np.arange(1.0, size + 1))).all()
            whole = np.full(count, me + 1, "i")
            comm.Allreduce(MPI.IN_PLACE, whole, add)
            assert (whole == sums).all()
            everybody = np.arange(1.0, size + 1).repeat(count)
            own, from_all = np.full(count, comm.rank + 1.0), np.zeros(size * count)
            comm.Allgather(own, from_all)
            assert (from_all == everybody).all()
            from_all[:] = comm.rank + 1
            comm.Allgather(MPI.IN_PLACE, from_all)
            assert (from_all == everybody).all()
            comm.Alltoall(everybody * 10 + comm.rank, from_all)
            assert (from_all == everybody - 1 + 10 * (comm.rank + 1)).all()
            from_all = everybody * 10 + comm.rank
            comm.Alltoall(MPI.IN_PLACE, from_all)
            assert (from_all == everybody - 1 + 10 * (comm.rank + 1)).all()
            comm.Scan(own, result)
            assert (result == (comm.rank + 1) * (comm.rank + 2) // 2).all()
            result[:] = -1
            comm.Exscan(own, result)
            assert (result == (comm.rank * (comm.rank + 1) // 2 if comm.rank else -1)).all()
            comm.Reduce_scatter_block(everybody, result)
            assert (result == size * (comm.rank + 1)).all()
            for root in range(size):
                at_root = comm.rank == root
                if at_root and count % 2:
                    from_all = np.full(size * count, root + 1.0)
                    comm.Gather(MPI.IN_PLACE, from_all, root)
                    comm.Scatter(from_all, MPI.IN_PLACE, root)
                else:
                    from_all = np.zeros(size * count)
                    comm.Gather(own, from_all if at_root else None, root)
                    result[:] = -1
                    comm.Scatter(from_all if at_root else None, result, root)
                    assert (result == comm.rank + 1).all()
                assert not at_root or (from_all == everybody).all()
                if comm.rank == root and count % 2:
                    comm.Reduce(MPI.IN_PLACE, mine := np.full(count, me + 1, "d"), MPI.SUM, root)
                    assert (mine == sums).all()
                else:
                    result[:] = -1
                    comm.Reduce(np.full(count, me + 1, "d"), result, MPI.SUM, root)
                    assert (result == (sums if comm.rank == root else -1)).all()
                said = np.full(count, comm.rank, "d")
                comm.Bcast(said, root)
                assert (said == root).all()
        spaced = np.full((4, 2), comm.rank)
        column = MPI.INT64_T.Create_vector(4, 1, 2).Commit()
        comm.Bcast([spaced, 1, column], size - 1)
        assert (spaced[:, 0] == size - 1).all() and (spaced[:, 1] == comm.rank).all()
    print("right")
"""


@pytest.mark.parametrize("layout", ["2+2", "1+2|3", "9+1"])
def test_results_are_right_whatever_the_size(grid: Grid, layout: str) -> None:
    said = grid(layout, RESULTS)
    assert said == {rank: ["right"] for rank in said}


@on("2+2")
def test_they_come_after_what_was_begun_before_them(shared: SharedGrid) -> None:
    said = shared(
        """
    import time
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    me, size = world.rank, world.size
    other = world.Dup()
    for turn in range(20):
        large, little = np.full(100_000, 1.0), np.full(1, 1.0)
        into, least = np.zeros(100_000), np.zeros(1)
        begun = [world.Iallreduce(large, into), world.Ibarrier(), other.Iallreduce(little, least)]
        if turn % size == me:
            time.sleep(0.01)  # each one is the last to come in its turn
        world.Barrier()
        other.Bcast(little, turn % size)
        assert begun[0].Test() and begun[1].Test()
        world.Allreduce(MPI.IN_PLACE, little)
        MPI.Request.Waitall(begun)
        assert (into == size).all() and least[0] == little[0] == size
    print("right")
""",
    )
    assert said == {rank: ["right"] for rank in range(4)}


@on("2+1")
def test_they_may_overtake_native_messages_of_the_call_before(shared: SharedGrid) -> None:
    said = shared(
        """
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    ring = world.Create_cart([world.size], periods=[True])
    for turn in range(100):
        assert len(ring.neighbor_allgather(turn)) == 2
        ring.Barrier()
    print("right")
""",
    )
    assert said == {rank: ["right"] for rank in range(3)}


@on("2+1")
def test_a_duplicate_that_was_begun_has_all_that_its_parent_has(shared: SharedGrid) -> None:
    said = shared(
        """
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    copy, begun = world.Create_cart([world.size], periods=[True]).Idup()
    begun.Wait()
    print(len(copy.neighbor_allgather(world.rank)), copy.scan(1))
""",
    )
    assert said == {rank: [f"2 {rank + 1}"] for rank in range(3)}


FAULTS = """
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    me, size = world.rank, world.size
    last = size - 1
    comm = world.Dup()
    def tried(call):
        try:
            call()
            print("done")
        except MPI.OutOfStep as error:
            print("out of step:", error.cause.split(" (")[0])
        except MPI.Exception as error:
            print(MPI.Get_error_string(error.error_class).split(",")[0])
"""


@on("2+2")
def test_data_of_another_size_than_the_root_s_is_an_error(shared: SharedGrid) -> None:
    said = shared(
        FAULTS
        + """
    tried(lambda: comm.Bcast(np.zeros(1 if me == 1 else 2), 1))
    tried(comm.Barrier)
    world.Barrier()
""",
    )
    for rank, (first, second) in said.items():
        assert first == "done" if rank == 1 else first.startswith("out of step")
        assert second.startswith("out of step")


BCAST, GATHER = "comm.Bcast(np.zeros(1), 0)", "comm.gather(1)"
ALLREDUCE = "comm.Allreduce(*np.zeros((2, 1)))"


UNLIKE = [
    *((0, BCAST), (2, BCAST), (1, GATHER), (3, GATHER)),
    *((odd, ALLREDUCE) for odd in range(4)),
]
"""The rank that does not call Barrier, and what it calls."""


def test_another_call_of_one_member_is_told_to_all(grid: Grid) -> None:
    text = "".join(
        f"""
    comm = world.Dup()
    tried(lambda: {other} if me == {odd} else comm.Barrier())
    tried(comm.Barrier)
    world.Barrier()  # nobody has ended before all were told
"""
        for odd, other in UNLIKE
    )
    said = grid("1+1|1+1", FAULTS + text)
    for lines in said.values():
        assert len(lines) == 2 * len(UNLIKE)
        assert all("out of step" in second for second in lines[1::2])


@on("2+1")
def test_another_name_of_a_communicator_that_is_freed_is_refused(shared: SharedGrid) -> None:
    said = shared(
        """
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    comm = world.Dup()
    comm.Barrier()
    other = MPI.Intracomm(comm)
    comm.Free()
    for _ in range(2):
        try:
            other.Barrier()
        except MPI.Exception as error:
            print(error.error_class == MPI.ERR_COMM)
""",
    )
    assert said == {rank: ["True", "True"] for rank in range(3)}


def test_a_result_may_lie_in_the_memory_of_what_is_given_but_elsewhere(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    for call in (world.Scan, world.Allreduce):
        memory = bytearray([1, 2, 3, 4, 0, 0, 0, 0])
        call([memory, (4, 0), MPI.UINT8_T], [memory, (4, 4), MPI.UINT8_T])
        print(*memory)
""",
    )
    assert said[0] == ["1 2 3 4 1 2 3 4", "1 2 3 4 2 4 6 8"]
    assert said[1] == ["1 2 3 4 2 4 6 8", "1 2 3 4 2 4 6 8"]


@pytest.mark.parametrize("short", [0, 2])
@pytest.mark.parametrize("call", ["Allreduce", "Reduce"])
@on("2+1")
def test_a_rank_that_gives_less_than_the_others_ends_the_call_everywhere(
    shared: SharedGrid, call: str, short: int
) -> None:
    said = shared(
        f"""
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    comm = world.Dup()
    count = 3 if world.rank == {short} else 4
    # who only gives learns of it with the next call
    for call in (lambda: comm.{call}(np.ones(count), np.zeros(count)), comm.Barrier):
        try:
            call()
        except (ValueError, MPI.OutOfStep) as error:
            print(type(error).__name__)
    world.Barrier()  # nobody has ended before all were told
""",
    )
    assert all(lines and set(lines) <= {"ValueError", "OutOfStep"} for lines in said.values())
