"""Front-ends that got ready before anybody knew what they would be asked to do."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import Surroundings, make_plan, read_descriptor
from runtime.engine.launch import deploy
from runtime.engine.listener import Silent
from runtime.engine.warm_start import WarmStart
from runtime.launchers.base import Reach

pytestmark = pytest.mark.mpi


def deploy_ring(warm: WarmStart) -> tuple[int, tuple[str, ...]]:
    beside = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    ring = Path(__file__).parents[3] / "examples" / "10_ring" / "ring.py"
    text = (
        f'<deployment name="t"><application script="{ring}"/><grid>'
        f'<mpi ranks="1" command-path="{shutil.which("mpiexec", path=beside)}"/>'
        '<site name="s"><cluster name="a"/><cluster name="b"/></site></grid></deployment>'
    )
    found = Diagnostics()
    surroundings = Surroundings("/", python=sys.executable)
    deployment = read_descriptor(text.encode(), surroundings=surroundings, diagnostics=found)
    assert deployment is not None, [str(one) for one in found]
    outcome = deploy(make_plan(deployment), Silent(), warm=warm)
    return outcome.exit_code, outcome.errors


def test_the_process_that_waited_becomes_the_front_ends() -> None:
    with WarmStart() as warm:
        waiting = warm._process
        assert waiting is not None
        assert deploy_ring(warm) == (0, ())
        assert warm._process is None


def test_a_process_that_died_while_it_waited_is_replaced() -> None:
    with WarmStart() as warm:
        waiting = warm._process
        assert waiting is not None
        waiting.signal(9, Reach.PROCESS)
        waiting.wait(10)
        assert deploy_ring(warm) == (0, ())


def test_another_python_is_started_anew() -> None:
    with WarmStart() as warm:
        assert warm.take("/another/python", b"") is None
