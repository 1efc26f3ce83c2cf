"""Two Slurm clusters, one of them behind an sshd, and the descriptor of a run over both."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.grid import EmulatedGrid, Layout, Line
from runtime.testing.sshd import Sshd, running_sshd
from tests.integration.batch.site import MPIEXEC, NODES, NUMBER, folder_of_account
from tests.integration.batch.slurm_daemons import Slurm
from tools.on_grids import ROOT

CLOCK = Path(__file__).with_name("wrong_clock.c")
AHEAD = -3600
"""By how many seconds the clock of the far site is wrong."""
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


def wrong_clock(folder: Path, ahead: int) -> str:
    """Build in a folder what gives a process a clock that is ahead; return it for LD_PRELOAD."""
    clock = folder / f"clock{ahead}.so"
    build = ("cc", "-shared", "-fPIC", f"-DAHEAD={ahead}", "-o", str(clock), str(CLOCK))
    subprocess.run(build, check=True)
    return str(clock)


@contextmanager
def far_slurm(grid: EmulatedGrid) -> Iterator[Slurm]:
    """Another Slurm, all of whose hosts have a clock that is wrong."""
    with folder_of_account("far") as folder:
        hosts, clock = list(grid.clusters)[NODES + 1 :], wrong_clock(folder, AHEAD)
        made = Slurm(grid, hosts, folder, LD_PRELOAD=clock)
        yield made
        made.close()


@contextmanager
def sshd_of(slurm: Slurm) -> Iterator[Sshd]:
    """Let the account log in to where the commands of a Slurm are, with its variables."""
    with (
        folder_of_account("sshd") as keys,
        running_sshd(
            keys,
            address=slurm.grid.clusters[slurm.login].address,
            popen=lambda command, **how: slurm.grid.popen(
                slurm.login, command, stderr=how["stderr"]
            ),
            SLURM_CONF=slurm.configuration,
            HOME=slurm.home,
            PYTHONPATH=ROOT,
            LD_PRELOAD=slurm.environment["LD_PRELOAD"],
        ) as server,
    ):
        for one in keys.iterdir():
            os.chown(one, NUMBER, NUMBER)
        yield server


@contextmanager
def two_slurms() -> Iterator[tuple[Slurm, Slurm, Sshd]]:
    """Both, and what leads to the second one."""
    with (
        hosts_of(2) as grid,
        near_slurm(grid) as near,
        far_slurm(grid) as far,
        sshd_of(far) as server,
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
