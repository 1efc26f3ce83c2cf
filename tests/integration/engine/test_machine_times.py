"""When a time of a run is over, and what still counts as in time."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.lifecycle.walltimes import RunTimeouts
from runtime.processes.launcher.machine import Machine

pytestmark = pytest.mark.mpi

IN_VAIN, INTERRUPTED = 203, 130


@pytest.fixture
def plan(tmp_path: Path) -> DeploymentPlan:
    path, faults = tmp_path / "one.xml", Diagnostics()
    path.write_text(
        '<deployment name="one"><application executable="/bin/true"/><grid><site name="s">'
        '<cluster name="c"><mpi ranks="1"/></cluster></site></grid></deployment>',
        encoding="utf-8",
    )
    around = surroundings_of(str(path), python=sys.executable)
    read = read_descriptor(str(path), surroundings=around, diagnostics=faults)
    assert read is not None, list(map(str, faults))
    return make_plan(read)


@pytest.fixture
def late(plan: DeploymentPlan) -> Machine:
    """Return a machine for whose start there is no time at all."""
    return Machine(plan, timeouts=RunTimeouts(start=0.0))


def test_a_machine_that_starts_too_late_does_not_run(late: Machine) -> None:
    assert late.start().wait(30).exit_code == IN_VAIN


def test_what_came_before_a_time_was_over_counts(late: Machine) -> None:
    late.interrupt()
    assert late.start().wait(30).exit_code == INTERRUPTED


def test_so_does_what_a_front_end_said_and_nobody_had_heard(late: Machine) -> None:
    late._queue.put(late.interrupt)
    assert late.start().wait(30).exit_code == INTERRUPTED


def test_a_time_is_over_although_something_always_comes(late: Machine) -> None:
    def for_ever() -> None:
        time.sleep(0.01)  # so that all of it takes longer than a time may be late
        late._queue.put(for_ever)

    for _ in range(200):
        late._queue.put(for_ever)
    assert late.start().wait(30).exit_code == IN_VAIN
