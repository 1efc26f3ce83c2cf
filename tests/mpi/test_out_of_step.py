"""Collectives that do not fit together: every rank learns of it, and why, instead of waiting."""

from __future__ import annotations

import pytest

from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


TRIED = """
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    me, size = world.rank, world.size
    last = size - 1
    comm = world.Dup()
    comm.Barrier()

    def tried(call):
        try:
            print(call())
        except MPI.OutOfStep as error:
            name, _, told = error.cause.partition(" on ")
            print(name, "|", told.partition(" ")[2])
        except MPI.Exception as error:
            print(MPI.Get_error_string(error.error_class).split(",")[0])
        except Exception as error:
            print(type(error).__name__)
"""

REST = """
    tried(lambda: comm.allreduce(1))
    tried(lambda: comm.Dup().allreduce(1))
    world.Barrier()  # nobody has ended before all were told
"""


REFUSED = {
    "comm.allgather(print if me < last else lambda: 0)": "refused allgather (call 2): ",
    "comm.Allreduce(MPI.IN_PLACE, np.ones(2) if me < last else 'x')": "refused Allreduce",
    "comm.Ibarrier().Wait() if me < last else comm.Ibcast(bytearray(2), 9)": "refused",
    "comm.Split(-5 if me == last else 1)": "refused Split (call 2): the color -5 is",
}
"""Calls that the last rank refuses, and what all ranks are told of that."""

ANOTHER = """
    comm = world.Dup()
    comm.Barrier()
"""


@on("1+1", "2+2")
def test_all_ranks_are_told_of_a_call_that_one_of_them_refuses(shared: SharedGrid) -> None:
    said = shared(TRIED + ANOTHER.join(f"    tried(lambda: {call})\n{REST}" for call in REFUSED))
    last = max(said)
    for rank, lines in said.items():
        for number, told in enumerate(REFUSED.values()):
            first, second, duplicate = lines[3 * number : 3 * number + 3]
            assert duplicate == str(len(said))
            wrong = [second] if rank == last else [first, second]
            for line in wrong:
                assert line.startswith(f"rank {last} (site0/cluster1 {last // 2}) | {told}")
            assert rank != last or "refused" not in first


def test_the_communicator_is_named_that_is_out_of_step(grid: Grid) -> None:
    program = """
    from mpi4py import MPI
    ocean = MPI.COMM_WORLD.Dup()
    ocean.Set_name("ocean")
    for comm in (MPI.COMM_WORLD, ocean, MPI.COMM_WORLD.Dup()):
        try:
            comm.allgather(print if comm.rank else lambda: 0)
            comm.allreduce(1)
        except MPI.OutOfStep as error:
            print(error.what)
        except Exception:
            try:
                comm.allreduce(1)
            except MPI.OutOfStep as error:
                print(error.what)
    MPI.Finalize()
    """
    said = grid("1+1", program)
    names = ["COMM_WORLD", "ocean", "this communicator"]
    told = [f"the collectives of {name} are out of step" for name in names]
    assert said == {0: told, 1: told}


@on("2+2")
def test_collectives_that_were_begun_before_a_refused_call_are_finished(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + """
    if me == 3:
        world.recv(source=2)  # so that those before the refused call go on when it is told
    results = [np.zeros(30_000) for _ in range(20)]
    begun = [comm.Iallreduce(np.ones(30_000), one) for one in results]
    if me < 2:
        world.send(None, 2)
    if me == 2:
        for rank in range(2):
            world.recv(source=rank)  # and they are in it
    tried(lambda: comm.bcast(None, 9) if me == 2 else comm.Barrier())
    if me == 2:
        world.send(None, 3)
    MPI.Request.Waitall(begun)
    print(all((one == size).all() for one in results))
    world.Barrier()
""",
    )
    assert [lines[1] for lines in said.values()] == ["True"] * 4
    assert "refused" not in said.pop(2)[0]
    assert {lines[0].partition("(call")[0] for lines in said.values()} == {
        "rank 2 (site0/cluster1 0) | refused bcast "
    }


UNLIKE = [
    ("Barrier()", "Bcast(np.zeros(1), 0)"),
    ("Bcast(np.zeros(1), 2)", "Bcast(np.zeros(5000), 2)"),
    ("Barrier()", "Allreduce(*np.zeros((2, 5000)))"),
    ("Bcast(np.zeros(5000), 0)", "Reduce(*np.zeros((2, 5000)))"),
    ("bcast(1, 0)", "bcast(1, 1)"),
    ("Bcast(np.zeros(1), 0)", "Bcast(np.zeros(1), 3)"),
    ("Bcast(np.zeros(5000), 2)", "Bcast(np.zeros(5000), 1)"),
]
"""What all ranks call but one, and what that one calls."""


@pytest.mark.parametrize("layout", ["1+1|1+1", "3+1"])
def test_no_rank_waits_for_ever_for_one_that_is_in_another_call(grid: Grid, layout: str) -> None:
    cases = [(who, *calls) for who in (0, 1) for calls in UNLIKE]
    text = ANOTHER.join(
        f"""
    tried(lambda: comm.{odd} if me == {who} else comm.{usual})
    tried(comm.Barrier)
    world.Barrier()  # nobody has ended before all were told
"""
        for who, usual, odd in cases
    )
    said = grid(layout, TRIED + text)
    for number, (_, usual, odd) in enumerate(cases):
        told = {rank: lines[2 * number : 2 * number + 2] for rank, lines in said.items()}
        assert {len(lines) for lines in told.values()} == {2}
        if usual.partition("(")[0] != odd.partition("(")[0]:  # other roots may do no harm
            assert any(" is in " in line for lines in told.values() for line in lines), told


@pytest.mark.parametrize("error", ["MemoryError()", "ValueError('name \\udc80 of a file')"])
@on("2+1")
def test_whatever_ends_a_collective_at_one_rank_is_told_to_the_others(
    shared: SharedGrid, error: str
) -> None:
    said = shared(
        TRIED
        + f"""
    class Bad:
        def __reduce__(self):
            raise {error}

    tried(lambda: comm.allgather(Bad() if me == 1 else 1))
    world.Barrier()  # nobody has ended before all were told
""",
    )
    assert said.pop(1) == [error.partition("(")[0]]
    for (line,) in said.values():
        assert line.startswith("rank 1 (site0/cluster0 1) | refused allgather (call 2): ")


@on("2+2")
def test_a_function_that_fails_inside_a_reduction_lets_nobody_wait(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + "    tried(lambda: comm.allreduce(me, op=lambda a, b: 1 / 0 if me == 0 else a + b))\n"
        + REST,
    )
    why = "ZeroDivisionError: division by zero"
    told = f"rank 0 (site0/cluster0 0) | gave up allreduce (call 2): {why}"
    assert said.pop(0) == ["ZeroDivisionError", told, "4"]
    assert said == {rank: [told, told, "4"] for rank in said}


@on("1+1", "2+2")
def test_clusters_that_are_in_different_calls_are_told(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + "    tried(lambda: comm.Barrier() if me < size // 2 else comm.allreduce(1))\n"
        + REST,
    )
    first = len(said) // 2
    one = f"rank {first} (site0/cluster1 0) | is in allreduce (SUM) (call 2) while rank 0 ("
    other = f"rank 0 (site0/cluster0 0) | is in Barrier (call 2) while rank {first} ("
    for lines in said.values():
        assert lines[-1] == str(len(said))
        assert all(line.startswith((one, other)) for line in lines[:-1])


@on("1+1")
def test_a_cluster_that_leaves_out_a_call_learns_of_it_with_the_next_one(
    shared: SharedGrid,
) -> None:
    said = shared(
        TRIED
        + """
    if me == 0:
        comm.Bcast(bytearray(8), 0)
    tried(lambda: comm.Barrier())
    world.Barrier()  # nobody has ended before all were told
    """,
    )
    ranks = ("rank 0 (site0/cluster0 0) | is in ", "rank 1 (site0/cluster1 0) | is in ")
    for (line,) in said.values():
        assert line.startswith(ranks)
        assert "(call 2)" in line


@on("2+1")
def test_calls_that_all_ranks_refuse_leave_them_in_step(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + """
    for _ in range(3):
        tried(lambda: comm.bcast(None, 77))
        tried(lambda: comm.gather(lambda: 0))
    tried(lambda: comm.allreduce(1))
    """,
    )
    assert said == {rank: ["Invalid root", "AttributeError"] * 3 + ["3"] for rank in said}


@on("1+1", "2+1")
def test_a_collective_behind_one_that_does_not_fit_ends_with_it(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + """
    begun = comm.Iallreduce(*np.zeros((2, 5000))) if me == 0 else comm.Ibarrier()
    tried(lambda: comm.Bcast(np.zeros(1), 0))
    tried(begun.Wait)
    world.Barrier()  # nobody has ended before all were told
    """,
    )
    for lines in said.values():
        assert all(" is in " in line for line in lines), said


@on("1+1")
def test_who_refuses_a_call_for_which_others_have_waited_for_long_says_why(
    shared: SharedGrid,
) -> None:
    said = shared(
        TRIED
        + """
    import time
    time.sleep(1.5 * me)  # longer than others wait before they ask why
    tried(lambda: comm.gather(1, 0 if me == 0 else 77))
    tried(comm.Barrier)
    world.Barrier()  # nobody has ended before all were told
    """,
    )
    assert "Invalid root" in said[1][0]
    told = "rank 1 (site0/cluster1 0) | refused gather (call 2): "
    assert {lines[-1].startswith(told) for lines in said.values()} == {True}


@on("1+2")
def test_groups_that_talk_to_each_other_are_told_of_a_refusal(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + """
    half = world.Split(min(me, 1))
    comm = half.Create_intercomm(0, world, 1 if me == 0 else 0)
    tried(lambda: comm.allgather(me if me < last else lambda: 0))
    tried(lambda: comm.allgather(me))
    world.Barrier()  # nobody has ended before all were told
    """,
    )
    told = "rank 2 (site0/cluster1 1) | refused allgather (call 1)"
    for rank, lines in said.items():
        assert [line for line in lines[rank == 2 :] if not line.startswith(told)] == []


@on("1+2")
def test_a_duplicate_that_is_made_meanwhile_waits_for_the_collectives_before_it(
    shared: SharedGrid,
) -> None:
    said = shared(
        TRIED
        + """
    half = world.Split(min(me, 1))
    between = half.Create_intercomm(0, world, 1 if me == 0 else 0)
    for one in comm, between:
        sums = [np.zeros(1) for _ in range(3)]
        begun = [one.Iallreduce(np.ones(1), into) for into in sums]
        copy, request = one.Idup()
        begun.append(one.Ibarrier())
        MPI.Request.Waitall([*begun, request])
        print(*(int(one[0]) for one in sums), copy.allreduce(1))
    """,
    )
    assert said == {rank: ["3 3 3 3", "2 2 2 2" if rank == 0 else "1 1 1 1"] for rank in range(3)}


@on("2+1")
def test_no_duplicate_is_made_meanwhile_where_collectives_do_not_fit(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + """
    tried(lambda: comm.allgather(me if me < last else lambda: 0))
    tried(lambda: comm.Idup()[1].Wait())
    """,
    )
    assert {lines[1].split(":")[-2] for lines in said.values()} == {" AttributeError"}


@pytest.mark.parametrize("odd", [0, 1, 2, 3])
@on("2+2")
def test_sizes_that_differ_are_told_and_no_rank_has_a_wrong_result(
    shared: SharedGrid, odd: int
) -> None:
    said = shared(
        TRIED
        + f"""
    def data(length, value):
        return np.full(length, float(value))

    def outcome(name, call, found, wanted):
        one = world.Dup()
        try:
            call(getattr(one, name))
        except MPI.OutOfStep as error:
            told = name in error.cause and all(
                f" with {{8 * n * (size if whole else 1)}} bytes" in error.cause
                for n in (usual, other)
            )
            return "told" if told else error.cause
        return "right" if wanted is None or (found == wanted).all() else "wrong"

    everyone = np.arange(size) + 1.0
    for usual, other in ((4, 8), (8, 4), (3000, 2), (50_000, 70_000)):
        n = other if me == {odd} else usual
        mine, room, many, rooms = (data(k, me + 1) for k in (n, n, n * size, n * size))
        root = me == 0
        for name, whole, call, found, wanted in (
            ("Bcast", 0, lambda do: do(mine), mine, 1),
            ("Scatter", 0, lambda do: do(many if root else None, room), room, 1),
            ("Gather", 0, lambda do: do(mine, rooms if root else None), rooms,
             np.repeat(everyone, n) if root else None),
            ("Reduce", 0, lambda do: do(mine, room if root else None), room,
             sum(everyone) if root else None),
            ("Allreduce", 0, lambda do: do(mine, room), room, sum(everyone)),
            ("Allgather", 0, lambda do: do(mine, rooms), rooms, np.repeat(everyone, n)),
            ("Alltoall", 0, lambda do: do(many, rooms), rooms, np.repeat(everyone, n)),
            ("Reduce_scatter_block", 1, lambda do: do(many, room), room, sum(everyone)),
        ):
            found[:] = me + 1
            print(name, outcome(name, call, found, wanted))
            world.Barrier()  # whoever is done is asked here
""",
    )
    for rank, lines in said.items():
        assert len(lines) == 32
        for line in lines:
            name, result = line.split(maxsplit=1)
            spread = rank != 0 if odd == 0 else rank == odd
            is_needed = {"Bcast": spread, "Scatter": spread}
            is_needed |= {"Gather": rank == 0, "Reduce": rank == 0}
            assert result == "told" or (result == "right" and not is_needed.get(name, True)), line


def test_ranks_end_though_nobody_takes_what_they_have_sent(grid: Grid) -> None:
    """Each has more for the other than may be on its way unasked."""
    said = grid(
        "1+1",
        TRIED + "    length = (15 + me) << 17\n"
        "    tried(lambda: comm.Allreduce(np.ones(length), np.ones(length)))\n",
    )
    for line in said[0] + said[1]:
        assert "are both in Allreduce (SUM float64) with over 4194303 bytes" in line
        assert line.endswith("and give different sizes. All ranks have to give as many bytes")


@pytest.mark.parametrize("layout", ["1+1", "2+2"])
def test_reductions_by_others_or_of_other_types_are_told(grid: Grid, layout: str) -> None:
    said = grid(
        layout,
        TRIED
        + """
    def outcome(n, kind, op):
        one = world.Dup()
        try:
            one.Allreduce(np.ones(n, kind), np.ones(n, kind), op)
            return "passed"
        except MPI.OutOfStep as error:
            return error.cause

    for n in (4, 100_000):
        print(outcome(n, "f8", MPI.MAX if me == last else MPI.SUM))
        world.Barrier()  # whoever is done is asked here
        print(outcome(n, "i8" if me == last else "f8", MPI.SUM))
        world.Barrier()
        print(outcome(n, "l" if me == last else "q", MPI.SUM))
""",
    )
    for lines in said.values():
        for by_another, of_another, alike in zip(*[iter(lines)] * 3, strict=True):
            assert all(one in by_another for one in ("(MAX float64)", "(SUM float64)"))
            assert all(one in of_another for one in ("(SUM int64)", "(SUM float64)"))
            assert alike == "passed"


@pytest.mark.parametrize("odd", [1, 2])
@on("2+2")
def test_other_reductions_of_objects_are_told(shared: SharedGrid, odd: int) -> None:
    said = shared(
        TRIED
        + f"""
    def outcome(name, mine, *others):
        one = world.Dup()
        try:
            getattr(one, name)(me + 1, mine if me == {odd} else MPI.SUM, *others)
            return "passed"
        except MPI.OutOfStep as error:
            return error.cause

    for call in ("allreduce", MPI.MAX), ("reduce", MPI.MAX, 0), ("scan", MPI.MAX):
        print(outcome(*call))
        world.Barrier()  # whoever is done is asked here
    print(outcome("allreduce", MPI.SUM), outcome("allreduce", MPI.Op.Create(max)) != "passed")
""",
    )
    for rank, lines in said.items():
        assert all(one in lines[0] for one in ("allreduce (MAX)", "allreduce (SUM)")), lines
        assert rank or "reduce (MAX)" in lines[1]
        assert any("scan (MAX)" in all_[2] for all_ in said.values())
        assert lines[3] == "passed True"
