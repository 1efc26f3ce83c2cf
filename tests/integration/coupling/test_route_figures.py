"""How ranks found others can be asked for while they run: of a rank and of a cluster."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from gcm.errors import GcmError
from runtime.deployment import make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.errors import GridError
from runtime.lifecycle.outcome import Connections, Ways
from runtime.processes.launcher.machine import Machine
from runtime.processes.part_controllers import RouteMonitor

pytestmark = pytest.mark.mpi

PROGRAM = """
import os, sys, time
from mpi4py import MPI
from runtime.mpi.progress import waiting

comm = MPI.COMM_WORLD
if comm.rank == 0:
    for _ in range(5):
        comm.send("ping", 2)
    comm.recv(source=2)
elif comm.rank == 2:
    waiting.CHECK_INTERVAL = 60  # who has waited that long connects, too
    for _ in range(5):
        comm.recv()  # from anybody, so that it is the sender who connects
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    comm.send("go on", 0)
"""


def machine(folder: Path) -> Machine:
    (folder / "program.py").write_text(PROGRAM)
    path = folder / "grid.xml"
    path.write_text(
        '<deployment name="t"><application script="program.py" comm-world="grid">'
        f'<argument value="{folder}/go"/></application><grid><site><cluster><mpi ranks="2"/>'
        '</cluster><cluster><mpi ranks="1"/></cluster></site></grid></deployment>'
    )
    faults = Diagnostics()
    read = read_descriptor(
        str(path), surroundings=surroundings_of(str(path), python=sys.executable),
        diagnostics=faults,
    )  # fmt: skip
    assert read is not None, list(map(str, faults))
    return Machine(make_plan(read))


def test_the_monitors_of_wrappers_and_clusters_tell_how_ranks_found_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    with machine(tmp_path) as running:

        def asked(part: str) -> Connections:
            return running.assembly.find(part).controller(RouteMonitor).connections()

        deadline = time.monotonic() + 60
        found = Connections()
        while not (found.hits + found.misses == 5 and found.ways) and time.monotonic() < deadline:
            try:
                found = asked("site0/cluster0/wrapper0")
            except (GcmError, GridError):  # it has not started yet
                time.sleep(0.02)
        ways = (Ways(("0:0", "0:1"), {"direct": 1}),)
        assert found == Connections(tries=1, hits=4, misses=1, ways=ways)
        assert asked("site0/cluster0/clustering") == found
        assert asked("site0/cluster0/wrapper1") == Connections()
        assert asked("site0/clustering") == Connections()
        (tmp_path / "go").touch()
        outcome = running.wait(60)
    assert outcome.exit_code == 0, outcome.errors
    assert outcome.connections.ways == (Ways(("site0/cluster0", "site0/cluster1"), {"direct": 1}),)
    assert outcome.connections.misses >= 1
