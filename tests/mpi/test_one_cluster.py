"""Without gcm-deploy, `from runtime import MPI` is a grid of one cluster."""

from __future__ import annotations

import pytest

from tests.grids import Plain

pytestmark = pytest.mark.mpi


SIZES = """
    from runtime import MPI
    names = ("CLUSTER", "SITE", "GRID", "SITE_GATEWAYS", "GRID_GATEWAYS", "WORLD")
    comms = [getattr(MPI, f"COMM_{name}") for name in names]
    here = " ".join(f"{one.rank}/{one.size}" if one else "-" for one in comms)
    print(f"{MPI.COMM_WORLD.rank}: {here}")
"""


def test_a_process_alone_is_a_grid(plain: Plain) -> None:
    assert plain(0, SIZES) == ["0: 0/1 0/1 0/1 0/1 0/1 0/1"]


def test_all_ranks_of_mpiexec_are_one_cluster_and_the_first_is_its_gateway(plain: Plain) -> None:
    assert plain(3, SIZES) == [
        "0: 0/3 0/3 0/3 0/1 0/1 0/3",
        "1: 1/3 1/3 1/3 - - 1/3",
        "2: 2/3 2/3 2/3 - - 2/3",
    ]


def test_topology_calls_print_well(plain: Plain) -> None:
    said = plain(
        2,
        """
        from runtime import MPI
        if MPI.COMM_WORLD.rank == 0:
            name = MPI.Get_processor_name()
            for one in (MPI.COMM_GRID.my_cluster, MPI.COMM_GRID.gateways):
                print(str(one).replace(name, "host"))
            print(MPI.COMM_GRID.neighborhood(0, 1), MPI.COMM_GRID.neighborhood(1, 1), sep="; ")
            print(MPI.COMM_SELF.translate(0, MPI.COMM_GRID))
            print(MPI.COMM_GRID.translate(1, MPI.COMM_SELF))
        """,
    )
    assert said == [
        "0",
        "1 hop, same node; 0 hops, same process",
        "None",
        "cluster site0/cluster0 (0:0): ranks 0 to 1 on host",
        "gateways of clusters: rank 0; of sites: rank 0",
    ]


def test_objects_of_mpi4py_itself_are_instances_of_the_classes_of_the_face(plain: Plain) -> None:
    said = plain(
        0,
        """
        from mpi4py import MPI as native
        from runtime import MPI
        class Mine(MPI.Intracomm): pass
        world, mine = native.COMM_WORLD, Mine(MPI.COMM_WORLD)
        print(isinstance(world, MPI.Intracomm), isinstance(world, Mine))
        print(isinstance(mine, native.Intracomm), type(mine.Dup()).__name__, mine == world)
        print(issubclass(native.Cartcomm, MPI.Comm), issubclass(native.Comm, MPI.Intracomm))
        """,
    )
    assert said == ["True False", "True False", "True Mine True"]


def test_communicators_of_the_machine_can_be_pickled(plain: Plain) -> None:
    said = plain(
        0,
        """
        import pickle
        from runtime import MPI
        for name in ("COMM_WORLD", "COMM_SELF", "COMM_NULL"):
            one = getattr(MPI, name)
            print(pickle.loads(pickle.dumps(one)) == one)
        """,
    )
    assert said == ["True"] * 3


@pytest.mark.parametrize(
    ("words", "unloaded"),
    [
        ("import runtime", "dataclasses"),
        ("from runtime import coupling", "mpi4py"),
        (
            "from runtime.mpi.surface.install import install; install()",
            "mpi4py",
        ),
    ],
)
def test_nothing_is_loaded_before_it_is_asked_for(plain: Plain, words: str, unloaded: str) -> None:
    program = f"import sys\n{words}\nprint({unloaded!r} in sys.modules)\n"
    assert plain(0, program) == ["False"]
