"""What is said of a former incarnation of ranks is not taken for the present one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.coupling.code_run import CodeState
from runtime.engine.launch import Machine
from runtime.machine.paths import LAUNCHER
from runtime.transport.channel import IncomingCall
from runtime.transport.messages import NOTE, PLAIN, Target, call_frame

pytestmark = pytest.mark.mpi

AIR = """
from runtime import coupling

coupling.send("here", code=coupling.DRIVER)
coupling.recv(code=coupling.DRIVER)
"""


def test_the_late_end_of_a_former_incarnation_ends_nothing(steer: Callable[..., Machine]) -> None:
    machine = steer(air=AIR)
    air = machine.code("air")
    assert air.messages.recv(timeout=60) == "here"
    air.control.kill()
    air.control.start()
    assert air.messages.recv(timeout=60) == "here"
    executor = machine._executor
    assert executor is not None

    def told(operation: str, *args: object) -> None:
        """Let the front-end tell something of its ranks."""
        place = executor._places["0:0"]
        assert place.channel is not None
        frame = call_frame(NOTE, 0, Target(LAUNCHER, "cluster-health", operation), (args, {}))
        executor._hear(place, IncomingCall(frame, place.channel, PLAIN))

    told("rank_ended", "0:0#1", "0:0:0", 1, "it was taken for dead")
    told("failed", "0:0#1", "ranks:0:0", "it was taken for dead")
    told("job_ended", "0:0#1", 1, "it was taken for dead", True)
    air.messages.send("go on")
    assert air.control.wait(60) == {0: 0}
    status = air.control.status()
    assert (status.state, status.life, status.why) == (CodeState.ENDED, 2, "")
