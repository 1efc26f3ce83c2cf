"""Sites with the daemons of real batch systems, on hosts of an emulated grid."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.grid import EmulatedGrid, missing
from runtime.testing.sshd import Sshd
from tests.integration.batch import two_slurms
from tests.integration.batch.grid_engine_daemons import GridEngine
from tests.integration.batch.oar_daemons import Oar, missing_cpusets
from tests.integration.batch.site import folder_of_account
from tests.integration.batch.slurm_daemons import Slurm
from tests.mpi_homes import open_mpi  # noqa: F401 - a fixture

pytest.register_assert_rewrite("tests.integration.batch.batch_contract")


def hosts_of(sites: int) -> EmulatedGrid:
    """Return the hosts of so many sites; without the means the test is skipped."""
    if lacking := missing():
        pytest.skip(lacking)
    return two_slurms.hosts_of(sites)


@pytest.fixture(scope="session")
def grid() -> Iterator[EmulatedGrid]:
    """The hosts of two sites with Slurm."""
    with hosts_of(2) as made:
        yield made


@pytest.fixture(scope="session")
def all_of_slurm(grid: EmulatedGrid) -> Iterator[Slurm]:
    """A Slurm of three nodes."""
    with two_slurms.near_slurm(grid) as made:
        yield made


@pytest.fixture(scope="session")
def far_slurm(grid: EmulatedGrid) -> Iterator[tuple[Slurm, Sshd]]:
    """Another Slurm, whose commands are only found behind an sshd, and whose clock is wrong."""
    with two_slurms.far_slurm(grid) as made, two_slurms.sshd_of(made) as server:
        yield made, server


@pytest.fixture(scope="session")
def all_of_grid_engine() -> Iterator[GridEngine]:
    """A Grid Engine of three nodes."""
    with hosts_of(1) as grid, folder_of_account("grid-engine") as folder:
        made = GridEngine(grid, list(grid.clusters), folder)
        yield made
        made.close()


@pytest.fixture
def slurm(all_of_slurm: Slurm) -> Iterator[Slurm]:
    """The Slurm, with an empty folder to work in, and nodes that hold nothing."""
    with all_of_slurm.fresh():
        yield all_of_slurm


@pytest.fixture
def grid_engine(all_of_grid_engine: GridEngine) -> Iterator[GridEngine]:
    """The Grid Engine, with an empty folder to work in, and nodes that hold nothing."""
    with all_of_grid_engine.fresh():
        yield all_of_grid_engine


@pytest.fixture(scope="session")
def all_of_oar() -> Iterator[Oar]:
    """An OAR of three nodes."""
    if lacking := missing_cpusets():
        pytest.skip(lacking)
    with hosts_of(1) as grid, folder_of_account("oar") as folder:
        made = Oar(grid, list(grid.clusters), folder)
        yield made
        made.close()


@pytest.fixture
def oar(all_of_oar: Oar) -> Iterator[Oar]:
    """The OAR, with an empty folder to work in, and nodes that hold nothing."""
    with all_of_oar.fresh():
        yield all_of_oar
