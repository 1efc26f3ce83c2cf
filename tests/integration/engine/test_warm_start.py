"""Front-ends that part from the process that starts them, and those that cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.mpi

# In a process of its own, because a guard parts before any thread is started.
PROGRAM = """
import sys, threading
from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, make_plan, read_descriptor
from runtime.processes.launcher.machine import Machine
from runtime.processes.launcher.warm_start import WarmStart

started = []

class Noted(WarmStart):
    def start(self, command):
        started.append(super().start(command))
        return started[-1]

text = b'<deployment name="t"><application script="{ring}"/><grid>' \\
    b'<mpi ranks="1" command-path="{mpiexec}"/>' \\
    b'<site name="s"><cluster name="a"/><cluster name="b"/></site></grid></deployment>'
found = Diagnostics()
surroundings = DescriptorContext("/", python=sys.executable)
plan = make_plan(read_descriptor(text, surroundings=surroundings, diagnostics=found))
{before}
with Noted() as warm, Machine(plan, warm=warm) as machine:
    outcome = machine.wait()
    print(outcome.exit_code, outcome.errors, [one.command.argv for one in started])
"""


def run(before: str) -> str:
    root = Path(__file__).parents[3]
    mpiexec = Path(sys.executable).with_name("mpiexec")
    ring = root / "examples" / "10_ring" / "ring.py"
    program = PROGRAM.format(ring=ring, mpiexec=mpiexec, before=before)
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()[-1]


def test_front_ends_part_from_the_process_that_starts_them() -> None:
    assert run("") == "0 () [('front-end',)]"


def test_beside_other_threads_they_are_another_python() -> None:
    before = "threading.Thread(target=threading.Event().wait, daemon=True).start()"
    assert run(before) == f"0 () [('{sys.executable}', '-P', '-m', 'runtime.frontend')]"
