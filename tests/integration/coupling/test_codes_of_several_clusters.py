"""Codes of several clusters that start later than the machine, or again: ranks find each other.

Components of the machine outlive them, and merge nothing that a former incarnation has given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.processes.launcher.machine import Machine

PROGRAM = """
from pathlib import Path

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
one, total = np.full(1, world.rank + 1), np.zeros(1, int)
other = world.Dup()
done = Path(__file__).with_name("done")
is_again = done.exists()
if is_again == (world.rank < 2):  # in the first incarnation the others never do
    begun = other.Iallreduce(one if is_again else 100 * one, total)
world.allreduce(0)
if is_again:
    if world.rank == 2:
        begun = other.Iallreduce(one, total)
    begun.Wait()
    assert total == 6, total
done.touch()
print(world.allreduce(world.rank), "of", world.size, flush=True)
"""


@pytest.fixture(params=["direct", "front-end"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    (tmp_path / "solver.py").write_text(PROGRAM, encoding="utf-8")
    path = tmp_path / "solver.xml"
    path.write_text(
        '<deployment name="solver" plans="components">'
        '<application name="solver" script="solver.py"/>'
        '<grid><site name="here">'
        f'<cluster name="one" reachability="{request.param}"><mpi ranks="2"/></cluster>'
        f'<cluster name="two" reachability="{request.param}"><mpi ranks="1"/></cluster>'
        "</site></grid></deployment>",
        encoding="utf-8",
    )
    faults = Diagnostics()
    around = surroundings_of(str(path), python=sys.executable)
    read = read_descriptor(str(path), surroundings=around, diagnostics=faults)
    assert read is not None, list(map(str, faults))
    with Machine(make_plan(read), steered=True, idle=True) as machine:
        yield machine


def test_a_code_that_is_started_later_and_again_spans_its_clusters(machine: Machine) -> None:
    code = machine.code("solver").control
    for incarnation in (1, 2):
        code.start()
        assert code.wait(60) == {0: 0, 1: 0, 2: 0}
        lines = [line.text for line in code.output() if line.stream == "stdout"]
        assert lines == ["3 of 3"] * 3 * incarnation
