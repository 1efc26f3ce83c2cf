"""Collectives on data that members of a cluster send straight to each other, and in segments."""

from __future__ import annotations

import pytest

from tests.grids import Grid

pytestmark = pytest.mark.mpi


PROGRAM = """
import numpy as np
from runtime import MPI

PRIME = 65521
comm = MPI.COMM_GRID
size, rank = comm.size, comm.rank


def composed(left, right):  # of x -> a x + b: not commutative
    one, two = left % PRIME, left // PRIME
    three, four = right % PRIME, right // PRIME
    return one * three % PRIME + PRIME * ((two * three + four) % PRIME)


def compose(left, right, _datatype):
    result = np.frombuffer(right, "i8")
    result[:] = composed(np.frombuffer(left, "i8"), result)


def maps(of, count):
    return np.arange(1, count + 1, dtype="i8") * 7919 * (of + 3) % PRIME**2


COMPOSE = MPI.Op.Create(compose, commute=False)
for count in (1023, 1024, 40_000, 170_000):
    mine = maps(rank, count)
    sums = sum(maps(of, count) for of in range(size))
    chain = maps(0, count)
    for of in range(1, size):
        chain = composed(chain, maps(of, count))
    for root in range(size):
        data = mine.copy()
        comm.Bcast(data, root)
        assert (data == maps(root, count)).all()
        for op, expected in ((MPI.SUM, sums), (COMPOSE, chain)):
            for in_place in (False, True):
                got = mine.copy() if in_place else np.zeros_like(mine)
                sent = MPI.IN_PLACE if in_place and rank == root else mine
                comm.Reduce(sent, got if rank == root else None, op, root)
                assert rank != root or (got == expected).all()
    for op, expected in ((MPI.SUM, sums), (COMPOSE, chain)):
        got, other = np.zeros_like(mine), mine.copy()
        requests = [comm.Iallreduce(mine, got, op), comm.Iallreduce(MPI.IN_PLACE, other, op)]
        MPI.Request.Waitall(requests)
        assert (got == expected).all() and (other == expected).all()
    assert (mine == maps(rank, count)).all()
    everything = np.concatenate([maps(of, count) for of in range(size)])
    got = np.zeros_like(everything)
    comm.Allgather(mine, got)
    assert (got == everything).all()
    got[:] = 0
    got[rank * count : (rank + 1) * count] = mine
    comm.Allgather(MPI.IN_PLACE, got)
    assert (got == everything).all()
    block = np.zeros_like(mine)
    comm.Reduce_scatter_block(got, block)
    assert (block == size * maps(rank, count)).all()
    comm.Alltoall(everything + rank, got)
    assert (got.reshape(size, -1) == mine + np.arange(size)[:, None]).all()
    comm.Gather(mine, got if rank == 1 else None, 1)
    assert rank != 1 or (got == everything).all()
    comm.Scatter(everything if rank == 1 else None, block, 1)
    assert (block == mine).all()
print("right")
"""


def test_large_data_is_right_at_all_roots_in_place_and_in_the_order_of_the_ranks(
    grid: Grid,
) -> None:
    assert grid("4+2", PROGRAM, timeout=120) == {rank: ["right"] for rank in range(6)}


@pytest.mark.parametrize("layout", ["2+2", "1+2|3"])
def test_blocks_arrive_whole_where_they_take_turns(grid: Grid, layout: str) -> None:
    said = grid(
        layout,
        """
    import numpy as np
    from mpi4py import MPI
    from runtime.collectives import turns
    turns.FAR, turns.UNDER_WAY = 0.0, 1  # as if every line were long, and held one piece
    world = MPI.COMM_WORLD
    me, size = world.rank, world.size
    count = 120_000
    assert 2 * turns.PIECE < 8 * count
    sent = np.repeat(np.arange(size) + 10.0 * me, count)
    wanted = np.repeat(10.0 * np.arange(size) + me, count)
    into = np.zeros(count * size)
    for _ in range(3):
        into[:] = 0
        world.Alltoall(sent, into)
        assert (into == wanted).all()
    # without a common size small blocks go in bundles, behind large ones
    counts = [10 if (me + rank) % 3 else count for rank in range(size)]
    starts = [rank * count for rank in range(size)]
    for _ in range(3):
        into[:] = 0
        where = counts, starts, MPI.DOUBLE
        world.Ialltoallv([sent, *where], [into, *where]).Wait()
        for start, length in zip(starts, counts):
            assert (into[start : start + length] == wanted[start : start + length]).all()
            assert not into[start + length : start + count].any()
    # so do leaders of clusters whose own blocks are large
    for root in range(size):
        into[:] = 0
        lengths = [10 if (root + rank) % 3 else count for rank in range(size)]
        mine = np.full(lengths[me], 1.0 + me)
        where = lengths, starts, MPI.DOUBLE
        world.Gatherv(mine, [into, *where] if me == root else None, root)
        for rank, (start, length) in enumerate(zip(starts, lengths)):
            wanted = 1.0 + rank if me == root else 0
            assert (into[start : start + length] == wanted).all()
            assert not into[start + length : start + count].any()
        back = np.zeros_like(mine)
        world.Scatterv([into, *where] if me == root else None, back, root)
        assert (back == mine).all()
    print("right")
""",
    )
    assert said == {rank: ["right"] for rank in said}
