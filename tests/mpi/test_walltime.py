"""How much time a rank has left, and what it does once before that is over."""

from __future__ import annotations

import pytest

from tests.grids import Grid, Plain

pytestmark = pytest.mark.mpi

LIMITED = """
import math, sys, threading
import numpy as np
from mpi4py import MPI
from runtime.membership.rank_link import current

world, wrapper, saved = MPI.COMM_WORLD, current().wrapper, []


@MPI.Before_walltime
def save():
    saved.append(("main", threading.current_thread() is threading.main_thread()))


def beside():
    MPI.Before_walltime(lambda: saved.append(("beside", threading.current_thread().name)))
    begun.set()
    go_on.wait()
    MPI.COMM_SELF.Barrier()


begun, go_on = threading.Event(), threading.Event()
thread = threading.Thread(target=beside, name="own")
thread.start()
begun.wait()
assert MPI.Time_left() == math.inf
world.barrier()
assert saved == []
wrapper.limit_time(100, 0)
assert saved == [] and 90 < MPI.Time_left() <= 100
world.allreduce(np.ones(1))
assert saved == [("main", True)], saved
world.Barrier()
go_on.set()
thread.join()
assert saved == [("main", True), ("beside", "own")], saved


@MPI.Before_walltime
def stop():
    sys.exit(0)


wrapper.limit_time(-1, -1)
assert MPI.Time_left() == 0
print("saved", len(saved), flush=True)
request = MPI.COMM_SELF.Ibarrier()
print("not reached")
"""


@pytest.mark.parametrize("machine", ["2", "2+1"])
def test_each_rank_saves_once_at_a_call_of_the_thread_that_has_asked_for_it(
    grid: Grid, machine: str
) -> None:
    said = grid(machine, LIMITED)
    assert list(said.values()) == [["saved 2"]] * len(said)


def test_replicas_have_the_same_time_left(grid: Grid) -> None:
    program = """
        from mpi4py import MPI
        from runtime.membership.rank_link import current

        current().wrapper.limit_time(1000 if current().name.startswith("0:0:") else 10, 0)
        print(MPI.COMM_WORLD.allgather(MPI.Time_left() > 900))
    """
    said = grid("2+2", program, replicas=2)
    assert [said[0], said[1]] == [["[True, True]"]] * 2


def test_nothing_limits_a_program_under_plain_mpiexec(plain: Plain) -> None:
    program = """
        from runtime import MPI
        MPI.Before_walltime(lambda: print("saved"))
        MPI.COMM_WORLD.Barrier()
        print(MPI.Time_left())
    """
    assert plain(2, program) == ["inf", "inf"]
