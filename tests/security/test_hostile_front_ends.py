"""What a compromised front-end answers and says runs nothing in the launcher."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from gcm.errors import GcmError
from runtime.deployment import make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.errors import GridError
from runtime.lifecycle.run_life import RunPhase
from runtime.processes.launcher.machine import Machine
from runtime.processes.part_controllers import RouteMonitor
from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

# Python imports this in each process that it starts; the front-end of the first cluster is another
# program from then on, with the keys and the connection of an honest one.
HOSTILE = """
import os, sys

MARKS = os.environ["HOSTILE_MARKS"]


class Runs:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (os.path.join(MARKS, self.mark),)


class Raises(Exception):
    def __reduce__(self):
        return os.mkdir, (os.path.join(MARKS, "raised"),)


def lie(front_end):
    from gcm.interfaces.future import finished
    from runtime.machine.calls import operations
    from runtime.machine.contracts import CONTRACTS
    from runtime.transport.frames import Frame
    from runtime.transport.messages import (
        CALL, FAILURE, NOTE, PLAIN, RESULT, Target, call_frame, result_frame
    )

    channel = front_end._channel
    honest, channel._codec, asked = channel._handler, PLAIN, []
    send = lambda frame: channel._send(frame)

    def speak():
        paths = ["/launcher", "/coupling", "/driver", "/grid/clustering", "/nodes/x", "/", ""]
        paths += ["/grid/site0/cluster1/clustering", "/ranks/0:1:0", "/app", "/front-end"]
        calls = [(CONTRACTS[one], name) for one in CONTRACTS for name in operations(one)]
        calls += [("@binding", "type_of"), ("@blocks", "take"), ("node", "make")]
        for path in paths:
            for interface, operation in calls:
                mark = f"{path}-{interface}-{operation}".replace("/", "_")
                for args in ((Runs(mark),), ("0:0", Runs(mark)), ("0:0", "0:0:0", Runs(mark))):
                    for kind in (CALL, NOTE):
                        target = Target(path, interface, operation, "0:0")
                        send(call_frame(kind, 1 if kind == CALL else 0, target, (args, {}), PLAIN))
        for number in range(1, 99):
            send(result_frame(number, Runs("result"), PLAIN))
            pickled = bytes(PLAIN.dump(Runs("failure"))[0])
            send(Frame(FAILURE, number, [b"", pickled, b"Error", b"", b""]))

    def answer(request):
        if request.is_note:
            return honest(request)
        asked.append(request)
        with open(os.path.join(MARKS, "..", "asked"), "a") as file:
            print(request.target, file=file)
        if len([one for one in asked if one.target.operation == "figures"]) == 2:
            speak()
        if len(asked) % 2:
            raise Raises("no")
        return finished(Runs, (f"answer{len(asked)}",), {})

    channel._handler = answer


if "runtime.frontend" in sys.orig_argv:
    import runtime.processes.front_end.main as main

    honest_run = main.FrontEndProcess.run

    def run(self, received=b""):
        if self._configuration.cluster == "0:0":
            lie(self)
        honest_run(self, received)

    main.FrontEndProcess.run = run
"""

PROGRAM = """
import os, sys, time
from mpi4py import MPI

MPI.COMM_WORLD.Barrier()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two clusters; the front-end of the first one is hostile."""
    (tmp_path / "marks").mkdir()
    (tmp_path / "paths").mkdir()
    (tmp_path / "paths" / "sitecustomize.py").write_text(HOSTILE)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("HOSTILE_MARKS", str(tmp_path / "marks"))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'paths'}:{ROOT}")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    path, faults = tmp_path / "grid.xml", Diagnostics()
    clusters = '<cluster><mpi ranks="1"/></cluster>' * 2
    path.write_text(
        '<deployment name="t"><application script="program.py" comm-world="grid">'
        f'<argument value="{tmp_path}/end"/></application>'
        f"<grid><site>{clusters}</site></grid></deployment>"
    )
    around = surroundings_of(str(path), python=sys.executable)
    read = read_descriptor(str(path), surroundings=around, diagnostics=faults)
    assert read is not None, list(map(str, faults))
    return Machine(make_plan(read))


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_a_front_end_answers_and_calls_runs_nothing_in_the_launcher(
    machine: Machine, tmp_path: Path
) -> None:
    with machine as running:
        until(lambda: running.state is RunPhase.RUNNING)
        part = running.assembly.find("site0/cluster0/clustering")
        for _ in range(2):
            _found, silent = running.bindings()
            assert "/grid/site0/cluster0/clustering" in silent
            with pytest.raises((GcmError, GridError)):
                part.controller(RouteMonitor).connections()
        (tmp_path / "end").touch()
        outcome = running.wait(60)
    assert "site0/cluster0" in outcome.errors[0]
    assert "is not understood" in outcome.errors[0]
    assert len((tmp_path / "asked").read_text().splitlines()) > 2
    assert sorted(one.name for one in (tmp_path / "marks").iterdir()) == []
