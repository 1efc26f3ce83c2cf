"""Two Slurm clusters, one of them behind an sshd, and the descriptor of a run over both."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.grid import EmulatedGrid, Layout, Line
from tests.integration.batch.site import MPIEXEC, NODES, NUMBER, folder_of_account
from tests.integration.batch.slurm_daemons import Slurm
from tests.sshd import Sshd, running_sshd
from tools.on_grids import ROOT

LINE = Line(delay=0.0002, rate=10e9)


def hosts_of(sites: int) -> EmulatedGrid:
    """Return the hosts of so many sites, each with a login node and nodes."""
    return EmulatedGrid(Layout(sites * (NODES + 1,), lan=LINE, wan=LINE))


@contextmanager
def near_slurm(grid: EmulatedGrid) -> Iterator[Slurm]:
    """A Slurm of three nodes, at whose login node runs are started."""
    with folder_of_account("slurm") as folder:
        made = Slurm(grid, list(grid.clusters)[: NODES + 1], folder)
        yield made
        made.close()


@contextmanager
def slurm_behind_sshd(grid: EmulatedGrid) -> Iterator[tuple[Slurm, Sshd]]:
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


@contextmanager
def two_slurms() -> Iterator[tuple[Slurm, Slurm, Sshd]]:
    """Both, and what leads to the second one."""
    with (
        hosts_of(2) as grid,
        near_slurm(grid) as near,
        slurm_behind_sshd(grid) as (far, server),
    ):
        yield near, far, server


SUM = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
node, home = os.uname().nodename, os.path.dirname(os.environ["HOME"])
print(f"{world.rank} of {world.size}: {total} on {node} of {home}", flush=True)
"""


def descriptor(
    near: Slurm, far: Slurm, server: Sshd, *, idle: str = "1min", program: str = SUM
) -> Path:
    """Write a program, and the descriptor that runs it at both and at the login node behind ssh."""
    (near.work / "sum.py").write_text(program)
    mpi = f'<mpi command-path="{MPIEXEC}"/>'
    front = f'<front-end python="{sys.executable}" folder="{{}}/runs"/>'
    path = near.work / "two.xml"
    path.write_text(
        f"""<deployment>
  <application script="sum.py"/>
  <grid>
    <site name="lyon">
      <cluster name="rhone">
        <batch system="slurm" tasks-per-node="2" walltime="5min" idle="{idle}"/>
        {mpi}{front.format(near.home)}
      </cluster>
    </site>
    <site name="nice">
      {server.hop}
      <cluster name="var">
        <batch system="slurm" tasks-per-node="2" walltime="5min"/>
        {mpi}{front.format(far.home)}
      </cluster>
      <cluster name="host">
        <mpi command-path="{MPIEXEC}" ranks="1"/>{front.format(far.home)}
      </cluster>
    </site>
  </grid>
</deployment>
"""
    )
    return path
