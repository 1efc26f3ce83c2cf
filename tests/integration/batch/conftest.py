"""Sites with the daemons of real batch systems, on hosts of an emulated grid."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, missing
from tests.integration.batch.grid_engine_daemons import GridEngine
from tests.integration.batch.oar_daemons import Oar, missing_cpusets
from tests.integration.batch.site import NODES, NUMBER, folder_of_account
from tests.integration.batch.slurm_daemons import Slurm
from tests.mpi_homes import open_mpi  # noqa: F401 - a fixture
from tests.sshd import Sshd, running_sshd
from tools.on_grids import ROOT

LINE = Line(delay=0.0002, rate=10e9)


def hosts_of(sites: int) -> EmulatedGrid:
    """Return the hosts of so many sites, each with a login node and nodes."""
    if lacking := missing():
        pytest.skip(lacking)
    return EmulatedGrid(Layout(sites * (NODES + 1,), lan=LINE, wan=LINE))


@pytest.fixture(scope="session")
def grid() -> Iterator[EmulatedGrid]:
    """The hosts of two sites with Slurm."""
    with hosts_of(2) as made:
        yield made


@pytest.fixture(scope="session")
def all_of_slurm(grid: EmulatedGrid) -> Iterator[Slurm]:
    """A Slurm of three nodes."""
    with folder_of_account("slurm") as folder:
        made = Slurm(grid, list(grid.clusters)[: NODES + 1], folder)
        yield made
        made.close()


@pytest.fixture(scope="session")
def far_slurm(grid: EmulatedGrid) -> Iterator[tuple[Slurm, Sshd]]:
    """Another Slurm, whose commands are only found behind an sshd."""
    with folder_of_account("far") as folder, folder_of_account("sshd") as keys:
        made = Slurm(grid, list(grid.clusters)[NODES + 1 :], folder)
        with running_sshd(
            keys,
            address=grid.clusters[made.login].address,
            popen=lambda command, **how: grid.popen(made.login, command, stderr=how["stderr"]),
            SLURM_CONF=made.configuration,
            HOME=made.home,
            PYTHONPATH=ROOT,
        ) as server:
            for one in keys.iterdir():
                os.chown(one, NUMBER, NUMBER)
            yield made, server
        made.close()


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
