"""When a time of a run is over, and what still counts as in time."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.engine import machine as engine
from runtime.engine.effects import Executor
from runtime.engine.events import Begin, Effect, Event, Finish, Interrupt, Tick
from runtime.engine.machine import Machine
from runtime.engine.run_state import RunState


class Deadline:
    """A state whose time is over from the beginning; it ends with an interrupt, or a tick."""

    def __init__(self) -> None:
        self.deadline: float | None = 0.0
        self.seen: list[str] = []

    def handle(self, event: Event, _: float) -> Iterable[Effect]:
        self.seen.append(type(event).__name__)
        return {Begin: [], Interrupt: [Finish(130)], Tick: [Finish(1)]}[type(event)]


@pytest.fixture
def plan(tmp_path: Path) -> DeploymentPlan:
    path = tmp_path / "one.xml"
    path.write_text(
        '<deployment name="one"><application executable="/bin/true"/><grid><site name="s">'
        '<cluster name="c"><mpi ranks="1"/></cluster></site></grid></deployment>',
        encoding="utf-8",
    )
    faults = Diagnostics()
    read = read_descriptor(str(path), surroundings=surroundings_of(str(path)), diagnostics=faults)
    assert read is not None, list(map(str, faults))
    return make_plan(read)


@pytest.fixture
def late(plan: DeploymentPlan) -> tuple[Machine, Deadline]:
    machine, state = Machine(plan), Deadline()
    machine._state = cast(RunState, state)
    return machine, state


def loop(machine: Machine) -> int:
    return machine._loop(cast(Executor, None))


def test_what_came_before_a_time_was_over_counts(late: tuple[Machine, Deadline]) -> None:
    machine, state = late
    machine._queue.put(Interrupt())
    assert (loop(machine), state.seen) == (130, ["Begin", "Interrupt"])


def test_so_does_what_a_front_end_said_and_nobody_had_heard(
    late: tuple[Machine, Deadline],
) -> None:
    machine, state = late
    machine._queue.put(lambda: machine._queue.put(Interrupt()))
    assert (loop(machine), state.seen) == (130, ["Begin", "Interrupt"])


def test_a_time_is_over_although_something_always_comes(
    late: tuple[Machine, Deadline], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MOST_LATE", 0.05)
    machine, state = late

    def for_ever() -> None:
        time.sleep(0.01)
        machine._queue.put(for_ever)

    for _ in range(100):
        machine._queue.put(for_ever)
    assert (loop(machine), state.seen) == (1, ["Begin", "Tick"])
    assert machine._queue.qsize() == 100
