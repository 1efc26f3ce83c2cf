"""A machine finds the `mpiexec` that was installed with its Python, wherever it is called from."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, make_plan, read_descriptor
from runtime.processes.launcher.machine import Machine

pytestmark = pytest.mark.mpi


@pytest.mark.skipif(
    sys.prefix == sys.base_prefix or not Path(sys.executable).with_name("mpiexec").exists(),
    reason="needs a virtual environment with an mpiexec",
)
def test_the_mpiexec_beside_python_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = str(Path(sys.executable).parent)
    others = [one for one in os.environ["PATH"].split(os.pathsep) if one != beside]
    monkeypatch.setenv("PATH", os.pathsep.join(others))
    (tmp_path / "program.py").write_text("from mpi4py import MPI\n")
    text = (
        b'<deployment name="t"><application script="program.py"/><emulate ranks="2"/></deployment>'
    )
    found = Diagnostics()
    surroundings = DescriptorContext(str(tmp_path), python=sys.executable)
    deployment = read_descriptor(text, surroundings=surroundings, diagnostics=found)
    assert deployment is not None, [str(one) for one in found]
    with Machine(make_plan(deployment)) as machine:
        outcome = machine.wait(60)
    assert (outcome.exit_code, outcome.errors) == (0, ())
    assert os.environ["PATH"] == os.pathsep.join(others)
