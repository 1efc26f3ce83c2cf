"""An application and an assembly in one deployment: the assembly serves as long as ranks run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

pytestmark = pytest.mark.mpi

MODULE = """
class Clerk:
    def on_start(self):
        print("open", flush=True)
    def on_stop(self):
        print("closed", flush=True)
"""
ADL = (
    '<component name="clerk"><content class="parts.Clerk"/><virtual-node name="desk"/></component>'
)
MAPPING = '<virtual-node name="desk" nodes="office/desk/node1"/>'


def test_an_assembly_without_run_ends_with_the_application(field_of_work: Field) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    mpiexec = shutil.which("mpiexec", path=path)
    (field_of_work.folder / "program.py").write_text(
        "from mpi4py import MPI\nprint('rank', MPI.COMM_WORLD.rank)\n"
    )
    field_of_work.write(
        MODULE,
        ADL,
        MAPPING,
        more='<application script="program.py" clusters="office/desk"/>',
    )
    file = field_of_work.folder / "app.xml"
    mpi = f'<mpi ranks="2" command-path="{mpiexec}"/><nodes names="node[0-1]"'
    file.write_text(file.read_text().replace('<nodes names="node[0-1]"', mpi))
    code, output, errors = field_of_work.deploy("--quiet", "--tag-output", "app.xml").end()
    assert (code, errors) == (0, "")
    assert sorted(output.splitlines()) == [
        "[0] rank 0",
        "[1] rank 1",
        "[office/desk/node1] closed",
        "[office/desk/node1] open",
    ]
    assert field_of_work.wait_until_gone() == []
