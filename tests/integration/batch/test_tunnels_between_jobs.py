"""Two clusters in jobs of a real Slurm: by default nobody expects their nodes to be reached."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.integration.batch.site import PATIENCE
from tests.integration.batch.slurm_daemons import Slurm

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm]

PROGRAM = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
other = (world.rank + 2) % 4
assert world.sendrecv(bytes(1 << 20), other, source=other) == bytes(1 << 20)
nodes = world.allgather(os.environ["SLURMD_NODENAME"])
if world.rank == 0:
    print(nodes[0] == nodes[1] != nodes[2] == nodes[3], flush=True)
"""
SECOND = """<cluster name="saone">
  <batch system="slurm" tasks-per-node="2" walltime="00:05:00" options="--exclusive"/>
  <mpi command-path="{}"/><front-end python="{}" folder="{}"/></cluster>"""


def test_messages_between_jobs_go_over_the_sessions_into_them(slurm: Slurm) -> None:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    second = SECOND.format(mpiexec, sys.executable, slurm.home / "runs")
    path = slurm.descriptor(PROGRAM, 'options="--exclusive"', second)
    run = slurm.start(path, "--quiet", "--format", "json")
    output, errors = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, errors
    said, last = output.splitlines()
    assert said == "True"
    (tunnel,) = json.loads(last)["connections"]["tunnels"]
    assert (tunnel["first"], tunnel["second"]) == ("lyon/rhone", "lyon/saone")
    assert min(tunnel["sent"], tunnel["received"]) > 2 << 20
    assert not slurm.queue()
