"""Native code that is given a communicator over several clusters: it finds all of them."""

from __future__ import annotations

import pytest

from tests.far_host import NEAR_AND_FAR
from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


NATIVE = """
    import ctypes
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    library = next(line.split()[-1] for line in open("/proc/self/maps") if "mpi4py/MPI" in line)
    mpi = ctypes.CDLL(library)
    handle = ctypes.c_int if MPI._sizeof(MPI.Comm) == 4 else ctypes.c_void_p

    def size(comm):
        found = ctypes.c_int(-1)
        mpi.MPI_Comm_size(handle.from_address(MPI._addressof(comm)), ctypes.byref(found))
        return found.value
"""


@NEAR_AND_FAR
def test_where_the_library_cannot_be_had_asking_for_a_handle_names_reason_and_way_out(
    grid: Grid,
) -> None:
    said = grid(
        "1+1",
        """
        import os
        from mpi4py import MPI
        os.environ["XDG_CACHE_HOME"] = "/tmp/a:b"
        world = MPI.COMM_WORLD
        asked = (lambda c: c.handle, lambda c: c.py2f(), lambda c: c.toint(), MPI._addressof,
            MPI._handleof)
        for ask in asked:
            try:
                ask(world)
            except NotImplementedError as error:
                print("cannot name a file in" in str(error) and "MPI.COMM_CLUSTER" in str(error))
        print({type(ask(MPI.COMM_CLUSTER)) for ask in asked}, MPI._sizeof(world) > 0)
        """,
    )
    assert said == {rank: [*["True"] * 5, "{<class 'int'>} True"] for rank in said}


@NEAR_AND_FAR
@pytest.mark.parametrize("layout", ["2+1", "1|2"])
def test_native_code_finds_all_clusters_behind_a_handle(grid: Grid, layout: str) -> None:
    said = grid(
        layout,
        NATIVE
        + """
    for comm in (MPI.COMM_CLUSTER, MPI.COMM_CLUSTER.Dup(), MPI.COMM_SELF):
        assert size(comm) == comm.size
    inter = world.Split(world.rank == 0).Create_intercomm(0, world, world.rank == 0)
    made = (world, world.Dup(), world.Create_cart([3]), inter)
    print([size(comm) == comm.size for comm in made])
    copy = handle()
    assert mpi.MPI_Comm_dup(handle.from_address(MPI._addressof(world)), ctypes.byref(copy)) == 0
    of_c = MPI.Comm.fromhandle(copy.value & 0xFFFFFFFF if ctypes.sizeof(copy) == 4 else copy.value)
    print(type(of_c) is MPI.Intracomm, of_c.allreduce(1), of_c.Compare(world) == MPI.CONGRUENT)
    assert mpi.MPI_Comm_free(ctypes.byref(copy)) == 0
    print(MPI.Comm.f2py(world.py2f()) == world, MPI._handleof(world) == world.handle)
    of_c = 0x44000000  # MPICH's MPI_COMM_WORLD
    if MPI._sizeof(world) > 4:
        of_c = ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
    print(world.handle == of_c, world.Dup().handle != of_c)
    group, found = world.Get_group(), ctypes.c_int()
    mpi.MPI_Group_size(handle.from_address(MPI._addressof(group)), ctypes.byref(found))
    print(found.value)
    """,
    )
    lines = ["[True, True, True, True]", "True 3 True", "True True", "True True", "3"]
    assert said == dict.fromkeys(said, lines)


@NEAR_AND_FAR
def test_a_grid_of_one_cluster_has_the_handle_of_its_communicator(grid: Grid) -> None:
    said = grid(
        "2",
        NATIVE
        + """
    print(size(world), size(world.Dup()), MPI.Comm.fromhandle(world.handle) == world)
    print(MPI.Comm.f2py(world.py2f()).size, MPI._handleof(world) == world.handle)
    """,
    )
    assert said == {rank: ["2 2 True", "2 True"] for rank in said}


@on("1+1")
def test_memory_is_packed_for_a_communicator_over_several_clusters(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        world, room = MPI.COMM_WORLD, bytearray(64)
        end = MPI.INT.Pack(bytearray(b"abcdefgh"), room, 0, world)
        print(end, bytes(room[:8]), MPI.INT.Pack_size(2, world))
        """,
    )
    assert said == {rank: ["8 b'abcdefgh' 8"] for rank in said}


@on("1+1")
def test_what_mpi_keeps_with_a_communicator_is_there_without_a_handle(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        comm = MPI.COMM_WORLD.Dup()
        key = MPI.Comm.Create_keyval(copy_fn=True, delete_fn=lambda c, _k, v: print(c.size, v))
        comm.Set_attr(key, "kept")
        comm.name = "mine"
        comm.Set_errhandler(MPI.ERRORS_ARE_FATAL)
        comm.info = MPI.Info.Create({"mpi_assert_no_any_tag": "true"})
        copy = comm.Dup()
        print(copy.Get_attr(key), comm.name, comm.Get_errhandler() == MPI.ERRORS_ARE_FATAL)
        print(comm.info.get("mpi_assert_no_any_tag"), comm.Get_attr(MPI.TAG_UB) > 0)
        same = MPI.Intracomm(comm)
        print(same == comm, comm != copy, comm == MPI.COMM_NULL, bool(comm))
        copy.Free()
        comm.Free()
        print(comm == MPI.COMM_NULL, bool(comm))
        """,
    )
    lines = ["kept mine True", "true True", "True True False True", "2 kept", "2 kept"]
    assert said == {rank: [*lines, "True False"] for rank in said}
