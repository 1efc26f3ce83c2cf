"""Programs that know nothing of the machine, and what no program can do on it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.grids import Grid, Plain, SharedGrid, on

pytestmark = pytest.mark.mpi


WAYS = [
    "from mpi4py import MPI",
    "import mpi4py.MPI as MPI",
    "import mpi4py.MPI; MPI = mpi4py.MPI",
    "from mpi4py.MPI import COMM_WORLD; import mpi4py.MPI as MPI",
    "import mpi4py; mpi4py.rc.threads = False; from mpi4py import MPI",
    "from mpi4py.util import pkl5; from mpi4py import MPI",
    "from runtime import MPI; from mpi4py import MPI as other; assert other is MPI",
]


def test_every_way_to_import_mpi4py_gives_the_grid(grid: Grid) -> None:
    program = f"""
    from runtime.membership.rank_link import current
    exec({WAYS}[int(current().name.split(":")[1])])  # each rank has one of its own
    print(MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
    """
    said = grid("+".join("1" * len(WAYS)), program)
    assert said == {rank: [f"{rank} {len(WAYS)}"] for rank in range(len(WAYS))}


HANDLES = """
    import pickle
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for comm in (MPI.COMM_SELF, world):
        comm.free()  # leaves predefined ones alone
        try:
            comm.Free()
        except MPI.Exception as error:
            print(comm.size, error.error_class == MPI.ERR_COMM)
    request = world.isend(None, world.rank)
    print(isinstance(request, MPI.Request), pickle.loads(pickle.dumps(MPI.Request)) is MPI.Request)
    world.recv(source=world.rank)
    request.wait()
"""


@pytest.mark.parametrize("layout", ["2", "1+1"])
def test_handles_are_as_in_plain_mpi(grid: Grid, plain: Plain, layout: str) -> None:
    said = grid(layout, HANDLES)
    assert Counter(said[0] + said[1]) == Counter(plain(2, HANDLES))


@on("1+1")
def test_out_of_band_pickles_cross_clusters(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        from mpi4py.util import pkl5
        import numpy
        world = pkl5.Intracomm(MPI.COMM_WORLD)
        if world.rank == 0:
            world.send(numpy.arange(100000), dest=1)
        else:
            print(world.recv(source=0).sum())
        print(world.bcast(world.rank, root=1))
        """,
    )
    assert said == {0: ["1"], 1: ["4999950000", "1"]}


@on("1+1")
def test_tasks_are_computed_by_ranks_of_other_clusters(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py.futures import MPICommExecutor
        from mpi4py import MPI
        with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
            if executor is not None:
                print(list(executor.map(abs, [-1, -2, -3])))
        """,
    )
    assert said == {0: ["[1, 2, 3]"], 1: []}


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        ("world.Spawn('program')", "descriptor"),
        ("world.Spawn_multiple(['program'])", "descriptor"),
    ],
)
@on("1+1")
def test_what_is_not_possible_says_what_to_use_instead(
    shared: SharedGrid, call: str, instead: str
) -> None:
    said = shared(
        f"""
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        try:
            {call}
        except NotImplementedError as error:
            print(isinstance(error, MPI.NotOnTheGrid), {instead!r} in str(error))
        """,
    )
    assert said == {0: ["True True"], 1: ["True True"]}


@on("1+1")
def test_spawning_inside_a_cluster_says_why_there_are_no_more_processes(shared: SharedGrid) -> None:
    said = shared(
        """
        import sys
        from mpi4py import MPI
        try:
            MPI.COMM_SELF.Spawn(sys.executable, ["-c", ""])
        except MPI.Exception as error:
            print(error.Get_error_class() == MPI.ERR_SPAWN, *error.__notes__)
        """,
    )
    words = (
        "True Spawn is not possible here: gcm-pmi has started the ranks of this cluster, and starts"
    )
    assert [line.startswith(words) for line in said[0] + said[1]] == [True, True]


def test_abort_ends_the_whole_run_with_its_code(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank == 1:
            MPI.COMM_WORLD.Abort(7)
        MPI.COMM_WORLD.recv(source=1)
        """,
        code=7,
    )
    assert said == {0: [], 1: []}


def test_where_errors_are_fatal_they_end_the_whole_run(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        world.Set_errhandler(MPI.ERRORS_ARE_FATAL)
        if world.rank == 1:
            world.send("?", dest=99)
        world.recv(source=1)
        """,
        code=6,  # MPI.ERR_RANK
    )
    assert said == {0: [], 1: []}


def test_an_error_handler_hears_of_a_process_that_is_gone(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        def handle(comm, code):
            print(comm == world, MPI.Get_error_class(code) == MPI.ERR_PROC_FAILED)
        if world.rank == 0:
            world.Set_errhandler(MPI.Comm.Create_errhandler(handle))
            try:
                world.recv(source=1)
            except MPI.ProcessGone:
                print("gone")
        """,
    )
    assert said[0] == ["True True", "gone"]


def test_a_rank_that_ends_early_is_no_error_for_those_who_do_not_need_it(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        import time
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        if world.rank == 0:
            world.isend(b"x" * 1000000, dest=1)
        else:
            time.sleep(0.5)
            print(len(world.recv(source=0)))
        """,
    )
    assert said == {0: [], 1: ["1000000"]}


def test_who_waits_for_anybody_goes_on_when_one_has_ended_unseen(grid: Grid) -> None:
    said = grid(
        "1|1|1",
        """
        import time
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        if world.rank == 1:
            time.sleep(2.5)  # longer than a wait takes to look whether its senders are there
            world.send("late", dest=2)
        elif world.rank == 2:
            print(world.recv(source=MPI.ANY_SOURCE))
        """,
    )
    assert said == {0: [], 1: [], 2: ["late"]}


@on("1+1")
def test_the_world_has_the_name_that_mpi_gives_it(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        print(MPI.COMM_WORLD.Get_name(), MPI.COMM_CLUSTER.Get_name())
        """,
    )
    assert said == {0: ["MPI_COMM_WORLD COMM_CLUSTER"], 1: ["MPI_COMM_WORLD COMM_CLUSTER"]}


@on("2+1")
def test_callbacks_of_attributes_see_the_communicator_that_is_freed(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        sizes = []
        key = MPI.Comm.Create_keyval(lambda *_: 1, lambda comm, *_: sizes.append(comm.size))
        first = MPI.COMM_WORLD.Dup()
        first.Set_attr(key, 1)
        second = first.Dup()
        second.Free()
        first.Delete_attr(key)
        first.Set_attr(key, 1)
        first.Disconnect()
        print(sizes, first == MPI.COMM_NULL, second == MPI.COMM_NULL)
        """,
    )
    assert said == {rank: ["[3, 3, 3] True True"] for rank in range(3)}


@on("2+1")
def test_sessions_see_the_whole_world(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        session = MPI.Session.Init()
        group = session.Create_group("mpi://WORLD")
        comm = MPI.Intracomm.Create_from_group(group, "all")
        told = session.Get_pset_info("mpi://WORLD")["mpi_size"]
        print(group.size, comm.allreduce(1), told, session.Create_group("mpi://SELF").size)
        comm.Free()
        session.Finalize()
        """,
    )
    assert said == {rank: ["3 3 3 1"] for rank in range(3)}
