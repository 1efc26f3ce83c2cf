"""A program steers a run over networks, and a rank of it is killed, in two runs of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, cluster_element, missing
from tools.on_grids import ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

PORT = 7100
"""Where the front-ends forward."""

PROGRAM = """
import os, signal
from mpi4py import MPI

world = MPI.COMM_WORLD
if world.rank == 1:
    world.recv(source=0)
    os.kill(os.getpid(), signal.SIGKILL)
world.send("ready", 1)
try:
    world.recv(source=1)
except MPI.Exception as error:
    print(str(error).splitlines()[1], flush=True)
os._exit(0)
"""

STEERS = """
import sys
from gcm.documents import Diagnostics
from runtime.deployment import make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.processes.launcher.machine import Machine

around, faults = surroundings_of("grid.xml", python=sys.executable), Diagnostics()
read = read_descriptor("grid.xml", surroundings=around, diagnostics=faults)
assert read is not None, list(map(str, faults))
with Machine(make_plan(read), steered=True, idle=True) as machine:
    code = machine.code("pair").control
    for _ in range(2):
        code.start()
        code.wait(60)
    for line in code.output():
        if line.stream == "stdout":
            print(line.text)
"""


@pytest.mark.parametrize("reachability", ["direct", "front-end"])
def test_the_rank_that_waits_hears_how_the_other_one_has_ended_before_it_is_ended_itself(
    tmp_path: Path, reachability: str
) -> None:
    """A code of which a rank has failed is ended five seconds later; its ranks are told before."""
    if lacking := missing():
        pytest.skip(lacking)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "steers.py").write_text(STEERS)
    with EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=400e6))) as grid:
        sites = "".join(
            f"<site>{cluster_element(one, 1, reachability=reachability, port=PORT)}</site>"
            for one in grid.clusters.values()
        )
        (tmp_path / "grid.xml").write_text(
            '<deployment name="t"><application name="pair" script="program.py" comm-world="grid"/>'
            f"<grid>{sites}</grid></deployment>"
        )
        run = grid.popen(
            "c0",
            [sys.executable, "steers.py"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=str(tmp_path),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        output, said = run.communicate(timeout=120)
    heard = output.splitlines()
    assert len(heard) == 2, said
    told = r"    rank 1 \(site1/cluster0 0\) on c1 was killed by SIGKILL at \d\d:\d\d:\d\d"
    assert all(re.fullmatch(told, line) for line in heard), heard
