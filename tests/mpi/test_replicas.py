"""Ranks with two replicas: when one of them dies the output is that of an undisturbed run."""

from __future__ import annotations

import random
import re

import pytest

from tests.grids import Grid

pytestmark = pytest.mark.mpi


TWO = "3+3"
"""Two emulated clusters, which count as hosts: the second one has the second replicas."""

STRUCK = """\
import os, threading, time
from mpi4py import MPI
from runtime.membership.rank_link import current
if current().name == "{victim}":
    threading.Timer({delay}, os.kill, (os.getpid(), 9)).start()
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
"""

MONTE_CARLO = """\
import random
draw = random.Random(rank).random
for step in range(1, 9):
    time.sleep(0.03)
    hits = sum(draw() ** 2 + draw() ** 2 < 1 for _ in range(1000))
    hits = world.reduce(hits, root=step % size)
    if rank == step % size:
        print(step, hits)
        print("step", step, flush=True)
"""

ALLREDUCE = """\
import numpy
part, whole = numpy.full(300_000, float(rank)), numpy.empty(300_000)
for step in range(30):
    time.sleep(0.01)
    world.Allreduce(part, whole)
    part[:] = whole / size + rank
    requests = [world.Isend(part, (rank + 1) % size), world.Irecv(whole, (rank - 1) % size)]
    MPI.Request.Waitall(requests)
    if step % 10 == 0:
        print(step, whole.sum(), flush=True)
"""

MERGESORT = """\
import random
from heapq import merge
half = world.Split(rank % 2, rank)
for step in range(12):
    time.sleep(0.02)
    values = random.Random(step).sample(range(3000), 3000) if rank == 0 else None
    parts = [values[one::size] for one in range(size)] if rank == 0 else None
    mine = sorted(world.scatter(parts))
    stride = 1
    while stride < size:
        if rank % (2 * stride) == stride:
            world.send(mine, dest=rank - stride, tag=stride)
            break
        if rank + stride < size:
            mine = list(merge(mine, world.recv(source=rank + stride, tag=stride)))
        stride *= 2
    if rank == 0:
        print(step, mine == list(range(3000)), half.size)
    half.barrier()
"""


@pytest.mark.parametrize(
    ("program", "victims"),
    [
        (MONTE_CARLO, ("0:0:1", "0:1:2")),
        (ALLREDUCE, ("0:0:2",)),
        (MERGESORT, ("0:1:0", "0:0:1")),
    ],
)
def test_the_output_is_that_of_an_undisturbed_run_whenever_replicas_die(
    grid: Grid, program: str, victims: tuple[str, ...]
) -> None:
    undisturbed = grid("3", STRUCK.format(victim="", delay=0) + program)
    for victim in victims:
        delay = random.uniform(0.0, 0.3)
        said = grid(TWO, STRUCK.format(victim=victim, delay=delay) + program, replicas=2)
        assert {rank: said[rank] for rank in undisturbed} == undisturbed, (victim, delay)
        assert not any(said[rank] for rank in said if rank not in undisturbed)


def test_a_rank_whose_replicas_all_die_ends_the_run_and_is_named(grid: Grid) -> None:
    program = """
        import os
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        world.barrier()
        if world.rank == 1:
            os._exit(9)
        world.recv(source=1)
    """
    said = grid(TWO, program, replicas=2, code=9, stderr=True)
    named = r"rank 1, replica [01] \(site0/cluster\d 1\) on \S+ ended with exit code 9"
    assert re.search(named, "".join(said[0]))


def test_what_has_one_effect_only_is_refused_where_ranks_have_replicas(grid: Grid) -> None:
    program = """
        from mpi4py import MPI
        for call in (
            lambda: MPI.Win.Allocate(8, comm=MPI.COMM_WORLD),
            lambda: MPI.File.Open(MPI.COMM_WORLD, "file"),
            lambda: MPI.COMM_SELF.Spawn("true"),
        ):
            try:
                call()
            except NotImplementedError as error:
                print(str(error).partition(" is ")[0], "replicas" in str(error))
    """
    said = grid("2+2", program, replicas=2)
    assert said[0] == said[1] == ["Win.Allocate True", "File.Open True", "Spawn True"]
