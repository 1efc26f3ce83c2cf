"""Replicas that are started again take the place of lost ones: they can carry on in their turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.grids import Grid

pytestmark = pytest.mark.mpi


TWICE = """
    import os
    from mpi4py import MPI
    from runtime.membership.rank_link import current

    first, second = "{first}", "{second}"
    has_come = os.path.join("{folder}", first)
    me = current()
    print("begun")
    step, total, numbers, is_whole = MPI.Checkpoint((0, 0, None, not first))
    if me.incarnation > 1:
        open(has_come, "w").close()
    world = MPI.COMM_WORLD
    rank, size = world.rank, world.size
    if numbers is None:
        numbers, begun = MPI.Random(), MPI.Wtime()
        print("on", end=" ")
    while step < 6:
        if (step, me.name, me.incarnation) == (2, first, 1) or (step, me.name) == (4, second):
            os._exit(9)
        if step == 3 and not is_whole:
            # whether a file is there differs from replica to replica, but not what is received
            if rank == 0:
                world.send(os.path.exists(has_come), 1)
            if rank == 1:
                world.send(world.recv(source=0), 0)
            is_whole = world.bcast(world.recv(source=1) if rank == 0 else None)
        else:
            if rank == 0:
                for _ in range(size - 1):
                    total += world.recv(source=MPI.ANY_SOURCE)
            else:
                world.send(rank * step, 0)
            draws = world.gather(numbers.random())
            total = world.bcast(total)
            print("step", step, total, len(set(draws or ())), end=" and ")
            print("so on", flush=True)
            step += 1
        step, total, numbers, is_whole = MPI.Checkpoint((step, total, numbers, is_whole))
    print(MPI.Wtime() > 0, world.Dup().allreduce(rank), total)
"""


@pytest.mark.parametrize(("first", "second"), [("0:0:1", "0:1:1")])
def test_the_other_replica_may_die_when_the_lost_one_is_back(
    grid: Grid, tmp_path: Path, first: str, second: str
) -> None:
    undisturbed = grid("3", TWICE.format(first="", second="", folder=tmp_path))
    program = TWICE.format(first=first, second=second, folder=tmp_path)
    said = grid("3+3", program, replicas=2, restart=True)
    assert (tmp_path / first).exists()
    assert {rank: said[rank] for rank in undisturbed} == undisturbed
    assert not any(said[rank] for rank in said if rank not in undisturbed)


IN_TURNS = """
    import os
    from mpi4py import MPI
    from runtime.membership.rank_link import current

    deaths = {deaths}
    me = current()
    step, total, back = MPI.Checkpoint((0, 0, ()))
    if me.incarnation > 1:
        open(os.path.join("{folder}", f"{{me.name}}-{{me.incarnation}}"), "w").close()
    world = MPI.COMM_WORLD
    while step < 15:
        if (me.name, me.incarnation) == deaths.get(step):
            os._exit(9)
        if step - 1 in deaths and step not in back:
            name, incarnation = deaths[step - 1]
            is_back = False
            if world.rank == 0:
                come = os.path.join("{folder}", f"{{name}}-{{incarnation + 1}}")
                world.send(os.path.exists(come), 1)
                is_back = world.recv(source=1)
            else:
                world.send(world.recv(source=0), 0)
            if world.bcast(is_back):
                back += (step,)
        else:
            total += world.allreduce(step)
            print(step, total)
            step += 1
        step, total, back = MPI.Checkpoint((step, total, back))
"""


def test_replicas_of_a_rank_may_die_again_and_again_if_each_is_back_before_the_next_dies(
    grid: Grid, tmp_path: Path
) -> None:
    undisturbed = grid("2", IN_TURNS.format(deaths={}, folder=tmp_path))
    deaths = {2: ("0:0:1", 1), 5: ("0:1:1", 1), 8: ("0:0:0", 1), 11: ("0:0:1", 2)}
    program = IN_TURNS.format(deaths=deaths, folder=tmp_path)
    said = grid("2+2", program, replicas=2, restart=True)
    assert (tmp_path / "0:0:1-3").exists()
    assert {rank: said[rank] for rank in undisturbed} == undisturbed


def test_a_checkpoint_says_what_it_cannot_hand_over(grid: Grid) -> None:
    program = """
        from mpi4py import MPI
        assert MPI.Checkpoint("kept") == "kept"
        half = MPI.COMM_WORLD.Dup()
        half.Set_name("half")
        try:
            MPI.Checkpoint(None)
        except NotImplementedError as error:
            assert "communicators of its own: half" in str(error), error
        half.Free()
        print(MPI.Checkpoint(7))
    """
    said = grid("2+2", program, replicas=2, restart=True)
    assert [said[0], said[1]] == [["7"], ["7"]]


def test_who_is_started_again_may_not_use_mpi_before_it_has_joined(
    grid: Grid, tmp_path: Path
) -> None:
    program = f"""
        import os, pathlib
        from mpi4py import MPI
        from runtime.membership.rank_link import current
        me, said = current(), pathlib.Path("{tmp_path}", "said")
        if me.incarnation > 1:
            try:
                MPI.COMM_WORLD.Barrier()
            except Exception as error:
                said.with_suffix(".new").write_text(str(error))
                said.with_suffix(".new").rename(said)
        if (me.name, me.incarnation) == ("0:1:1", 1):
            os._exit(9)
        has_said = False
        while not has_said:
            MPI.COMM_WORLD.Barrier()
            if MPI.COMM_WORLD.rank == 0:
                MPI.COMM_WORLD.send(said.exists(), 1)
                has_said = MPI.COMM_WORLD.recv(source=1)
            else:
                has_said = MPI.COMM_WORLD.recv(source=0)
                MPI.COMM_WORLD.send(has_said, 0)
        print("ended")
    """
    said = grid("2+2", program, replicas=2, restart=True)
    assert [said[0], said[1]] == [["ended"], ["ended"]]
    assert "Call MPI.Checkpoint before anything else" in (tmp_path / "said").read_text()


AT_ONCE = """
    import os, sys, time
    from runtime.membership.rank_link import current

    me = current()
    if me.incarnation > 1:
        def slow(frame, event, _):  # who else is there becomes known while it gets ready
            if event == "return" and frame.f_code.co_name == "everybody":
                time.sleep(0.3)
        sys.setprofile(slow)
    from mpi4py import MPI
    MPI.COMM_WORLD.rank
    sys.setprofile(None)

    has_come = os.path.join("{folder}", me.name)
    step, total, back = MPI.Checkpoint((0, 0, 0))
    if me.incarnation > 1:
        open(has_come, "w").close()
    world = MPI.COMM_WORLD
    while step < 4:
        if step == 1 and me.incarnation == 1 and me.name in {first}:
            time.sleep(0.5 * {first}.index(me.name))
            os._exit(9)
        if step == 2 and back < len({first}):
            # whether a file is there differs from replica to replica, but not what is received
            if world.rank == 0:
                back = sum(os.path.exists(os.path.join("{folder}", one)) for one in {first})
                world.send(back, 1)
                back = world.recv(source=1)
            elif world.rank == 1:
                world.send(world.recv(source=0), 0)
            back = world.bcast(back)
        else:
            if step == 3 and me.name in {second}:
                os._exit(9)
            total += world.allreduce(world.rank + step)
            print(step, total)
            step += 1
        step, total, back = MPI.Checkpoint((step, total, back))
"""


def test_replicas_that_are_started_again_at_the_same_time_all_take_their_places(
    grid: Grid, tmp_path: Path
) -> None:
    undisturbed = grid("3", AT_ONCE.format(first=(), second=(), folder=tmp_path))
    first, second = ("0:0:0", "0:1:1", "0:0:2"), ("0:1:0", "0:0:1", "0:1:2")
    program = AT_ONCE.format(first=first, second=second, folder=tmp_path)
    said = grid("3+3", program, replicas=2, restart=True)
    assert all((tmp_path / one).exists() for one in first)
    assert {rank: said[rank] for rank in undisturbed} == undisturbed
