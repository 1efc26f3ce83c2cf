"""The communicators of a machine of several clusters, and what they tell about it."""

from __future__ import annotations

import pytest

from tests.grids import Grid

pytestmark = pytest.mark.mpi


RANKS = """
    from runtime import MPI
    names = ("CLUSTER", "SITE", "SITE_GATEWAYS", "GRID", "GRID_GATEWAYS", "WORLD")
    comms = [getattr(MPI, f"COMM_{name}") for name in names]
    print(" ".join(f"{one.rank}/{one.size}" if one else "-" for one in comms))
"""


def test_ranks_count_through_clusters_and_sites(grid: Grid) -> None:
    assert grid("2+1|3", RANKS) == {
        0: ["0/2 0/3 0/2 0/6 0/2 0/6"],
        1: ["1/2 1/3 - 1/6 - 1/6"],
        2: ["0/1 2/3 1/2 2/6 - 2/6"],
        3: ["0/3 0/3 0/1 3/6 1/2 3/6"],
        4: ["1/3 1/3 - 4/6 - 4/6"],
        5: ["2/3 2/3 - 5/6 - 5/6"],
    }


def test_the_world_is_the_cluster_where_the_descriptor_says_so(grid: Grid) -> None:
    program = """
        from mpi4py import MPI as native
        from runtime import MPI
        print(MPI.COMM_WORLD == native.COMM_WORLD, native is not MPI)
        print(MPI.COMM_WORLD.size, MPI.COMM_GRID.size, MPI.COMM_GRID.allreduce(1))
    """
    said = grid("1|2", program, comm_world="cluster")
    assert said == {0: ["True True", "1 3 3"], 1: ["True True", "2 3 3"], 2: ["True True", "2 3 3"]}


def test_topology_calls_know_the_whole_machine(grid: Grid) -> None:
    said = grid(
        "1+1|2",
        """
        from runtime import MPI
        world, site = MPI.COMM_GRID, MPI.COMM_SITE
        copy = site.Dup()
        if world.rank == 2:
            print(world.my_cluster.ranks, site.my_cluster.ranks, site.my_site.name)
            print([one.identifier for one in world.clusters], world.gateways)
            print([one.size for one in world.sites], [one.gateway for one in world.sites])
            print(MPI.COMM_CLUSTER.translate(1, world), world.translate(3, site))
            print(world.translate(0, site), site.translate(0, MPI.COMM_GRID_GATEWAYS))
            print(world.neighborhood(0, 1), world.neighborhood(1, 2), sep="; ")
            print(copy.my_cluster.gateway)
        """,
    )
    assert said[2] == [
        "(2, 3) (0, 1) site1",
        "['0:0', '0:1', '1:0'] gateways of clusters: ranks 0 to 2; of sites: ranks 0 and 2",
        "[2, 2] [0, 2]",
        "3 1",
        "None 1",
        "1 hop, same site; 1 hop, same grid",
        "0",
    ]
