"""What a rank pays for the communicators of the machine, beyond mpi4py itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools.on_grids import ROOT

PROGRAM = """
import sys
import runtime.processes.rank.main, runtime.membership.rank_link, runtime.membership.bind_address
import mpi4py.MPI
before = set(sys.modules)
from runtime import MPI
assert MPI.COMM_WORLD.rank == 0
import runtime.mpi.progress.engine  # what only ranks with other clusters load
from runtime.wire import open_connections
{more}
print(*(set(sys.modules) - before))
"""

HEAVY = {"dataclasses", "inspect", "logging", "hashlib", "_hashlib", "traceback", "ssl"}
ALGORITHMS = {
    "runtime.mpi.collectives.averaged",
    "runtime.mpi.collectives.memory",
    "runtime.mpi.collectives.neighbour_plans",
    "runtime.mpi.collectives.object_plans",
    "runtime.mpi.collectives.plans",
    "runtime.mpi.collectives.reduction_plans",
    "runtime.mpi.collectives.state",
    "runtime.mpi.surface.topology_facts",
}


def imported(more: str = "") -> set[str]:
    pytest.importorskip("mpi4py")
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(more=more)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stdout.split())


def test_a_rank_imports_nothing_heavy_for_its_communicators() -> None:
    loaded = imported()
    assert not loaded & HEAVY
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(
        {"numpy", "lxml", "rich", "Pyro5"}
    )
    assert {name for name in loaded if name.startswith("gcm")} <= {"gcm", "gcm.records"}


def test_a_rank_imports_algorithms_only_when_a_program_uses_them() -> None:
    loaded = imported()
    assert not loaded & ALGORITHMS
    assert not {
        name for name in loaded if name.startswith(("runtime.collectives", "runtime.coupling"))
    }


def test_what_is_not_imported_at_first_is_there_when_it_is_used() -> None:
    more = (
        "assert 'cluster' in str(MPI.COMM_GRID.my_cluster) and MPI.ClusterInfo and MPI.Reachability"
    )
    assert "runtime.mpi.surface.topology_facts" in imported(more)


def test_objects_are_reduced_without_numpy() -> None:
    more = "assert MPI.COMM_GRID.allreduce(3, MPI.AVG) == 3"
    assert "numpy" not in imported(more)
