"""Windows over several clusters: what ranks do to each other's memory, and errors."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.commands import gcm_deploy
from tests.grids import Grid, SharedGrid, on
from tests.mpi_homes import open_mpi  # noqa: F401 - a fixture
from tools.on_grids import COMMAND, ROOT, descriptor, environment

pytestmark = pytest.mark.mpi

RANDOM_PROGRAMS = 25


@on("2+1")
def test_puts_gets_and_reductions_reach_other_clusters_and_the_own_one(shared: SharedGrid) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        me, size = world.rank, world.size
        window = MPI.Win.Allocate(8 * (4 + me), 8, comm=world)
        mine = memoryview(window.tomemory()).cast("d")
        for at in range(4 + me):
            mine[at] = 10 * me + at
        after = (me + 1) % size
        window.Fence()
        window.Put(array("d", [me + 0.5]), after, 2)
        window.Fence()
        found = array("d", [0] * 3)
        window.Get(found, after)
        window.Accumulate(array("d", [1]), 0, 3)
        window.Fence()
        sum_of_all = array("d", [0])
        window.Lock_all()
        window.Fetch_and_op(array("d", [100]), sum_of_all, 0, 0)
        window.Unlock_all()
        world.Barrier()
        print(sorted(world.allgather(sum_of_all[0])))
        if me == 0:
            window.Lock(0)
            print(list(mine))
            window.Unlock(0)
        print(list(found))
        print(window.group_size, window.Get_group().size, window.attrs[1:], window.flavor)
        window.Free()
        print(window == MPI.WIN_NULL)
        """
    )
    counted = "[0.0, 100.0, 200.0]"
    assert said == {
        0: [counted, "[300.0, 1.0, 2.5, 6.0]", "[10.0, 11.0, 0.5]", "3 3 (32, 8) 2", "True"],
        1: [counted, "[20.0, 21.0, 1.5]", "3 3 (40, 8) 2", "True"],
        2: [counted, "[0.0, 1.0, 2.5]", "3 3 (48, 8) 2", "True"],
    }


@on("2+1")
def test_a_lock_lets_each_rank_count_alone(shared: SharedGrid) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        window = MPI.Win.Create(array("q", [0]) if world.rank == 1 else None, 8, comm=world)
        value = array("q", [0])
        for _ in range(20):
            window.Lock(1)
            window.Get(value, 1)
            window.Flush(1)
            value[0] += 1
            window.Put(value, 1)
            window.Unlock(1)
        world.Barrier()
        window.Lock(1, MPI.LOCK_SHARED)
        window.Get(value, 1)
        window.Unlock(1)
        print(value[0])
        window.Free()
        """
    )
    assert said == {rank: ["60"] for rank in range(3)}


@on("1+1")
def test_a_target_that_computes_serves_meanwhile(shared: SharedGrid) -> None:
    said = shared(
        """
        import time
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        window = MPI.Win.Allocate(8, 8, comm=world)
        memory = memoryview(window.tomemory()).cast("q")
        memory[0] = 0
        world.Barrier()
        if world.rank == 0:
            window.Lock(1)
            window.Put(array("q", [7]), 1)
            window.Unlock(1)
            print("put")
        else:
            until = time.monotonic() + 30
            while memory[0] != 7 and time.monotonic() < until:
                time.sleep(0.01)  # no call of MPI
            print(memory[0])
        window.Free()
        """
    )
    assert said == {0: ["put"], 1: ["7"]}


@on("1+1")
def test_derived_types_scatter_at_the_target_and_gather_here(shared: SharedGrid) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        column = MPI.INT.Create_vector(3, 1, 4).Commit()
        window = MPI.Win.Allocate(48, 4, comm=world)
        mine = memoryview(window.tomemory()).cast("i")
        mine[:] = array("i", range(12))
        window.Fence()
        if world.rank == 0:
            window.Put([array("i", [-1, -2, -3]), MPI.INT], 1, (1, 1, column))
        window.Fence()
        there = array("i", [0] * 12)
        if world.rank == 0:
            window.Get([there, 1, column], 1, (1, 1, column))
            window.Accumulate([array("i", [100] * 3), MPI.INT], 1, (2, 1, column), MPI.SUM)
        window.Fence()
        print(list(mine) if world.rank else list(there))
        window.Free()
        column.Free()
        """
    )
    assert said == {
        0: ["[-1, 0, 0, 0, -2, 0, 0, 0, -3, 0, 0, 0]"],
        1: ["[0, -1, 102, 3, 4, -2, 106, 7, 8, -3, 110, 11]"],
    }


@on("1+1")
def test_groups_attached_memory_and_shared_memory(shared: SharedGrid) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        other = world.group.Incl([1 - world.rank])
        window = MPI.Win.Create_dynamic(comm=world)
        memory = array("q", [0, 0])
        window.Attach(memory)
        address = world.allgather(MPI.Get_address(memory))[1 - world.rank]
        window.Post(other)
        window.Start(other)
        window.Put(array("q", [world.rank + 5]), 1 - world.rank, address + 8)
        window.Complete()
        window.Wait()
        print(list(memory))
        try:
            window.Lock(1 - world.rank)
            window.Put(array("q", [1]), 1 - world.rank, 64)
            window.Unlock(1 - world.rank)
        except MPI.Exception as error:
            print(error.error_class == MPI.ERR_RMA_RANGE, error.__notes__)
        world.Barrier()
        window.Detach(memory)
        window.Free()
        window = MPI.Win.Allocate_shared(8, 8, comm=world)
        theirs, unit = window.Shared_query(1 - world.rank)
        theirs[:] = bytes([world.rank + 1] * 8)
        world.Barrier()
        print(window.tomemory()[0], unit, window.flavor == MPI.WIN_FLAVOR_SHARED)
        window.Free()
        """
    )
    for rank in (0, 1):
        assert said[rank][0] == f"[0, {6 - rank}]"
        assert said[rank][1].startswith("True")
        assert f"rank {1 - rank}" in said[rank][1]
        assert "0x40 to 0x48 are not attached" in said[rank][1]
        assert said[rank][2] == f"{2 - rank} 8 True"


@on("1+1")
def test_wrong_calls_have_the_class_that_mpi_wants_and_say_who_and_where(
    shared: SharedGrid,
) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        window = MPI.Win.Allocate(16, 8, comm=world)
        one = array("d", [1])

        def raised(call):
            try:
                call()
            except MPI.Exception as error:
                print(MPI.Get_error_string(error.error_class).partition(",")[0].split()[0])
                names = [one for one in dir(MPI) if one.startswith("ERR_")]
                print([one for one in names if getattr(MPI, one) == error.error_class][0],
                      *getattr(error, "__notes__", ()))

        raised(lambda: window.Put(one, 1))
        window.Lock(1)
        raised(lambda: window.Put(one, 1, 2))
        raised(lambda: window.Put(one, 0))
        raised(lambda: window.Lock(1))
        raised(window.Free)
        window.Unlock(1)
        raised(lambda: window.Flush(1))
        raised(window.Wait)
        raised(lambda: window.Attach(bytearray(8)))
        other = MPI.Win(window)
        window.Free()
        raised(lambda: other.Lock(1))
        raised(other.Free)
        raised(other.tomemory)
        """
    )
    lines = said[0][1::2]
    assert lines[0].startswith("ERR_RMA_SYNC Win.Put: Put to rank 1: there is no epoch")
    assert (
        "ERR_RMA_RANGE Put to rank 1 wants bytes 16 to 24 of its window, which has 16" in lines[1]
    )
    assert "rank 0 is not locked, but rank 1" in lines[2]
    assert "rank 1 is locked already" in lines[3]
    assert "ERR_RMA_SYNC Win.Free: rank 1 is still locked" in lines[4]
    assert "nothing is locked" in lines[5]
    assert "Post was not called" in lines[6]
    assert lines[7].startswith("ERR_RMA_FLAVOR")
    assert lines[8:10] == ["ERR_WIN the window was freed already, by another handle of it"] * 2
    assert lines[10].startswith("ERR_WIN")


@on("1+1")
def test_a_window_that_one_rank_cannot_make_is_an_error_of_all(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        much = 1 << 56

        def made(call):
            try:
                call()
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_NO_MEM, *error.__notes__)
            except (BufferError, TypeError) as error:
                print(error)

        made(lambda: MPI.Win.Create(bytes(8) if world.rank else bytearray(8), comm=world))
        made(lambda: MPI.Win.Allocate(0 if world.rank else much, comm=world))
        made(lambda: MPI.Win.Allocate_shared(much, comm=world))
        made(lambda: MPI.Win.Allocate_shared(8 if world.rank else None, comm=world))
        """
    )
    assert said[0][0].startswith("False rank 1 could not make its part of the window: BufferError")
    assert said[1][0] == "Object is not writable."
    assert said[0][1].startswith("True there are no 72057594037927936 bytes of memory")
    assert said[1][1].startswith("True rank 0 could not make its part of the window")
    assert "there are no 72057594037927936 bytes of memory" in said[1][1]
    for rank in (0, 1):
        assert said[rank][2].startswith("True /dev/shm has no room for 144115188075855872 bytes")
    assert "None" in said[0][3]
    assert said[1][3].startswith("False rank 0 could not make its part of the window: TypeError")


def test_a_lock_of_a_lost_rank_goes_to_the_next_and_a_lost_target_is_an_error(grid: Grid) -> None:
    said = grid(
        "2+1",
        """
        import os, time
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        window = MPI.Win.Allocate(8, 8, comm=world)
        one = array("q", [1])
        if world.rank == 2:
            window.Lock(0)
            window.Put(one, 0)
            window.Flush(0)
            world.Barrier()
            time.sleep(0.5)
            os._exit(3)
        world.Barrier()
        if world.rank == 1:
            window.Lock(0)
            window.Put(array("q", [2]), 0)
            window.Unlock(0)
            print("locked")
            try:
                window.Lock(2)
                window.Put(one, 2)
                window.Unlock(2)
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_PROC_FAILED)
            world.send(None, 0)
        else:
            world.recv(source=1)
        """,
        failures="return",
        code=(0, 1, 3),
    )
    assert said[1] == ["locked", "True"]


@on("1+1")
def test_who_waits_hears_that_the_communicator_was_revoked_and_can_free_the_window(
    shared: SharedGrid,
) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        comm = MPI.COMM_WORLD.Dup()
        window = MPI.Win.Allocate(8, 8, comm=comm)
        try:
            if comm.rank == 0:
                window.Post(comm.group.Incl([1]))
                window.Wait()
            else:
                comm.Revoke()
                window.Lock(0)
        except MPI.Exception as error:
            print(error.error_class == MPI.ERR_REVOKED)
        window.Free()
        print(window == MPI.WIN_NULL)
        """
    )
    assert said == {rank: ["True", "True"] for rank in (0, 1)}


@on("1+1")
def test_a_revocation_ends_a_free_that_waits_for_the_one_that_knows_of_it(
    shared: SharedGrid,
) -> None:
    said = shared(
        """
        import time
        from array import array
        from mpi4py import MPI
        comm = MPI.COMM_WORLD.Dup()
        window = MPI.Win.Allocate(8, 8, comm=comm)
        window.Fence()
        if comm.rank == 0:
            window.Put(array("q", [1]), 1)
            time.sleep(0.5)  # the other one is in Free by then
            comm.Revoke()
        try:
            window.Free()
        except MPI.Exception as error:
            assert error.error_class == MPI.ERR_REVOKED, error
        print(window == MPI.WIN_NULL)
        """
    )
    assert said == {rank: ["True"] for rank in (0, 1)}


@on("1+1")
def test_a_revocation_ends_a_fence_though_who_revokes_does_not_use_the_window(
    shared: SharedGrid,
) -> None:
    said = shared(
        """
        import time
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        comm = world.Dup()
        window = MPI.Win.Allocate(8, 8, comm=comm)
        window.Fence()
        if world.rank == 0:
            time.sleep(0.5)  # the other one is in Fence by then
            comm.Revoke()
            world.recv(source=1)
        else:
            try:
                window.Fence()
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_REVOKED)
            world.send(None, 0)
        window.Free()
        again = world.Dup()
        if world.rank == 0:
            time.sleep(0.5)  # the other one waits for this one to make a window
            again.Revoke()
            world.recv(source=1)
        else:
            try:
                MPI.Win.Allocate(8, 8, comm=again)
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_REVOKED)
            world.send(None, 0)
        """
    )
    assert said == {0: [], 1: ["True", "True"]}


@on("1+1")
def test_who_has_accessed_too_much_takes_part_in_the_fence_of_the_others(
    shared: SharedGrid,
) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        window = MPI.Win.Create_dynamic(comm=world)
        window.Fence()
        try:
            if world.rank == 0:
                window.Put(array("q", [1]), 1, 64)
            window.Fence()
            print("no fault")
        except MPI.Exception as error:
            print(error.error_class == MPI.ERR_RMA_RANGE)
        window.Fence()
        window.Free()
        """
    )
    assert said == {0: ["True"], 1: ["no fault"]}


def test_the_living_go_on_beside_a_lost_rank_that_they_access_too(grid: Grid) -> None:
    said = grid(
        "1+2",
        """
        import os, time
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        me, group = world.rank, world.group
        one = array("q", [1])
        groups, tested, freed = (MPI.Win.Allocate(8, 8, comm=world) for _ in range(3))

        def raised(call):
            try:
                call()
            except MPI.Exception as error:
                names = [one for one in ("ERR_PROC_FAILED", "ERR_REVOKED")
                         if getattr(MPI, one) == error.error_class]
                print(call.__name__, *names, flush=True)

        def told():
            while not tested.Test():
                time.sleep(0.01)

        if me != 2:
            groups.Post(group.Incl([2]))
            tested.Post(group.Incl([0]))
        world.Barrier()
        if me == 0:
            time.sleep(1)
            os._exit(3)
        if me == 1:
            groups.Wait()
            print(groups.tomemory()[0])
            groups.Start(group.Incl([2]))
            groups.Put(one, 2)
            groups.Complete()
            raised(told)
            freed.Lock(2)
            freed.Put(one, 2)
            world.sendrecv(None, 2, source=2)
            raised(lambda: freed.Unlock(2))
        if me == 2:
            groups.Start(group.Incl([0, 1]))
            groups.Put(one, 1)
            try:
                world.recv(source=0)
            except MPI.Exception:
                raised(groups.Complete)
            raised(lambda: groups.Post(group.Incl([0, 1])))
            raised(groups.Wait)
            world.recv(source=1)
            freed.Free()
            world.send(None, 1)
        raised(groups.Free)
        print("end")
        """,
        failures="return",
        code=(0, 1, 3),
    )
    told = "<lambda> ERR_PROC_FAILED"
    assert said[1] == ["1", "told ERR_PROC_FAILED", "<lambda> ERR_REVOKED", "end"]
    assert said[2] == ["Complete ERR_PROC_FAILED", told, "Wait ERR_PROC_FAILED", "end"]


def test_it_is_told_who_has_the_lock_that_a_rank_waits_for(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(
        dedent(
            """
            import threading
            from array import array
            from mpi4py import MPI
            world = MPI.COMM_WORLD
            window = MPI.Win.Allocate(8, 8, comm=world)
            if world.rank == 1:
                window.Lock(0)
                window.Put(array("q", [1]), 0)
                window.Flush(0)
            world.Barrier()
            if world.rank == 0:
                window.Lock(0)
                window.Unlock(0)
                world.send(None, 1)
            else:
                threading.Timer(5, window.Unlock, [0]).start()
                world.recv(source=0)
                window.Lock(1)
            world.Barrier()
            if world.rank == 0:
                window.Lock(1)
                window.Put(array("q", [1]), 1)
                window.Unlock(1)
                world.send(None, 1)
            else:
                threading.Timer(5, window.Unlock, [1]).start()
                world.recv(source=0)
            window.Free()
            """
        )
    )
    (tmp_path / "grid.xml").write_text(descriptor("1+1", "stuck.py", ()))
    done = subprocess.run(
        [*COMMAND, "--quiet", "--explain-waits", "1", str(tmp_path / "grid.xml")],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = "an MPI call at stuck.py:13, which waits for the lock of its own memory, which rank 1"
    assert told in done.stderr
    name = r"rank 1 \(site0/cluster1 0\) on \S+"
    of_another = (
        rf"stuck.py:24, which waits for accesses to the memory of {name}, whose lock {name}"
    )
    assert re.search(of_another, done.stderr)
    assert done.returncode == 0


DIES_AT = """
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD

def dies(event, args):
    if event == {event!r} and str(args[0]).startswith("/dev/shm/gcm-window-"):
        os.kill(os.getpid(), 9)

if world.rank == {rank}:
    sys.addaudithook(dies)
try:
    MPI.Win.Allocate_shared(4096, 8, comm=world)
except MPI.Exception as error:
    print(error.error_class in (MPI.ERR_PROC_FAILED, MPI.ERR_REVOKED))
"""


@pytest.mark.parametrize(("rank", "event"), [(0, "os.remove"), (1, "open")])
def test_no_memory_stays_where_a_rank_is_killed_while_it_is_shared(
    rank: int, event: str, grid: Grid
) -> None:
    before = {*Path("/dev/shm").glob("gcm-window-*")}
    program = DIES_AT.format(rank=rank, event=event)
    said = grid("1+1", program, failures="return", code=(0, 1, 137))
    assert said[1 - rank] == ["True"]
    assert {*Path("/dev/shm").glob("gcm-window-*")} <= before


OF_TWO_MPIS = """<deployment name="mixed"><application script="reduced.py"/><grid>
  <site name="one"><cluster name="mpich"><mpi ranks="1" command-path="{mpich}/mpiexec"/></cluster>
  </site>
  <site name="two"><cluster name="openmpi">
    <front-end python="{other}/python"/><mpi ranks="1" command-path="{other}/mpiexec"/></cluster>
  </site></grid>
</deployment>
"""


def test_an_operation_that_the_mpi_of_the_target_does_not_know_is_refused(
    open_mpi: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    mpich = Path(sys.executable).parent
    if not (mpich / "mpicc").exists():
        pytest.skip("the wheel of MPICH, which has mpicc, is needed")
    (tmp_path / "reduced.py").write_text(
        dedent(
            """
            from mpi4py import MPI
            world = MPI.COMM_WORLD
            window = MPI.Win.Allocate(8, 1, comm=world)
            window.Fence()
            try:
                window.Accumulate([bytes(8), MPI.BYTE], 1 - world.rank, op=MPI.SUM)
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_OP, *error.__notes__)
            window.Accumulate([bytes([3] * 8), MPI.UINT8_T], 1 - world.rank, op=MPI.SUM)
            window.Fence()
            print(list(window.tomemory()))
            window.Free()
            """
        )
    )
    mixed = OF_TWO_MPIS.format(mpich=mpich, other=open_mpi)
    (tmp_path / "mixed.xml").write_text(mixed)
    done = gcm_deploy("--quiet", "mixed.xml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "True Win.Accumulate: SUM is not defined for elements of type BYTE",
        "True Win.Accumulate: the MPI of rank 0 does not define SUM of elements of type BYTE",
        *["[3, 3, 3, 3, 3, 3, 3, 3]"] * 2,
    ]


def test_random_programs_do_what_the_model_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.window_programs", "2+1", "1000", str(RANDOM_PROGRAMS)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = sorted(done.stdout.splitlines())
    assert lines == [f"[{rank}] {RANDOM_PROGRAMS} programs, 0 faults" for rank in range(3)], (
        done.stderr
    )


def test_a_check_tells_of_accesses_that_conflict_and_of_no_others(tmp_path: Path) -> None:
    (tmp_path / "conflict.py").write_text(
        dedent(
            """
            from array import array
            from mpi4py import MPI
            world = MPI.COMM_WORLD
            me = world.rank
            window = MPI.Win.Allocate(32, 8, comm=world)
            one, two = array("q", [1]), array("q", [1, 2])
            for right in (0, me):  # all put the same, then each its own
                window.Fence()
                window.Put(one, 0, right)
                window.Accumulate(one, 0, 3)
                window.Fence()
            for _ in range(2):
                window.Lock(1)
                window.Put(two, 1)
                window.Unlock(1)
            world.Barrier()
            window.Lock_all()
            window.Rget(two, 1).Wait()
            world.Barrier()
            if me == 2:
                window.Put(two, 1)
            window.Unlock_all()
            window.Free()
            """
        )
    )
    done = gcm_deploy("--check", "--quiet", "--emulate", "1x3x1", "conflict.py", cwd=tmp_path)
    assert done.returncode == 208, done.stderr
    told = [line for line in done.stderr.splitlines() if "of the window" in line]
    assert told, done.stderr
    conflict = (
        r"rank \d puts bytes 0 to 7 of the window of rank 0, which rank \d puts in the same epoch"
    )
    for line in told:  # of each two ranks, at most
        assert re.search(conflict, line)
        assert "Win.Fence (conflict.py:12)" in line


@on("1+1")
def test_two_windows_over_one_memory_are_atomic_to_each_other(shared: SharedGrid) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        memory = array("q", [0])
        windows = [MPI.Win.Create(memory, 8, comm=world) for _ in range(2)]
        for window in windows:
            window.Fence()
        for _ in range(100):
            for window in windows:
                window.Accumulate(array("q", [1]), 0)
        for window in windows:
            window.Fence()
        print(memory[0])
        for window in windows:
            window.Free()
        """
    )
    assert said == {0: ["400"], 1: ["0"]}


@on("1+1")
def test_what_cannot_be_read_breaks_its_window_and_not_the_connection(shared: SharedGrid) -> None:
    said = shared(
        """
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        broken, whole = (MPI.Win.Allocate(8, 8, comm=world) for _ in range(2))
        if world.rank == 0:
            traffic = broken._grid.traffic
            there = traffic.members.peers[1]
            for body in (), (memoryview(b"data"),):  # a peer of another version
                traffic.engine.connections.send(there, traffic._head + b"\\x01short", body)
            world.send("after it", 1)
            try:
                broken.Lock(1)
                broken.Put(bytes(8), 1)
                broken.Unlock(1)
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_REVOKED, "has given the window up" in str(error))
        else:
            print(world.recv(source=0))
            try:
                broken.Lock(0)
            except MPI.Exception as error:
                print(error.error_class == MPI.ERR_OTHER, *error.__notes__)
        whole.Lock(1 - world.rank)
        whole.Put(array("q", [world.rank + 1]), 1 - world.rank)
        whole.Unlock(1 - world.rank)
        world.Barrier()
        print(whole.tomemory()[0])
        whole.Free()
        try:
            broken.Free()
        except MPI.Exception as error:
            assert error.error_class == MPI.ERR_REVOKED, error
        """
    )
    assert said[0] == ["True True", "2"]
    assert said[1][0] == "after it"
    assert said[1][1].startswith("True the window was given up here, since rank 0")
    assert "has sent what cannot be read" in said[1][1]
    assert said[1][2] == "1"
