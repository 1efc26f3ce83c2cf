"""What a hostile rank sends is opened by nobody but those who receive its messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.processes.launcher.machine import Machine

pytestmark = pytest.mark.mpi

HOSTILE = """
import os, sys
from mpi4py import MPI
from runtime import coupling
from runtime.machine.calls import operations
from runtime.machine.contracts import CONTRACTS
from runtime.membership.rank_link import current
from runtime.transport.frames import Frame
from runtime.transport.messages import FAILURE, PLAIN, RESULT, Target

assert coupling.recv(code=coupling.DRIVER) == "begin"


class Runs:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (os.path.join(sys.argv[1], self.mark),)


link = current()
doors = ["/launcher", "/front-end", "/coupling", "/driver", "/nodes/x", "/", "", link.name, "/grid"]
doors += ["/grid/clustering", "/grid/site0/clustering", "/grid/site0/cluster0/clustering"]
doors += ["/grid/site0/cluster0/wrapper0", "/grid/site0/cluster1/wrapper0"]
doors += [f"/ranks/{one}" for one in ("0:0:0", "0:1:0", "0:1:9", "9:9:9", "x")]
calls = [(CONTRACTS[one], name) for one in CONTRACTS for name in operations(one)]
calls += [("@binding", "type_of"), ("@binding", "admit"), ("@blocks", "take"), ("node", "make")]
calls += [("binding-controller", "lookup"), ("lifecycle-controller", "stop")]
tried = 0
for client in (link.name, "0:1:0", "/launcher", "(driver)", ""):
    for door in doors:
        for interface, operation in calls:
            mark = f"{door}-{interface}-{operation}-{client}".replace("/", "_")
            for args in ((Runs(mark),), (link.name, Runs(mark)), (client, 1, 1, Runs(mark))):
                link._note(Target(door, interface, operation, client), args)
                tried += 1
        link._channel.post(Target(door, "@binding", "type_of", client), Runs("asked"))
for number in range(1, 40):
    link._channel._send(Frame(RESULT, number, [b"", *PLAIN.dump(Runs("result"))]))
    pickled = bytes(PLAIN.dump(Runs("failure"))[0])
    link._channel._send(Frame(FAILURE, number, [b"", pickled, b"Error", b"", b""]))
link.wrapper.answer = lambda *_: Runs("answer")
coupling.send(tried, code=coupling.DRIVER, tag=1)
coupling.send(Runs("payload"), code=coupling.DRIVER, tag=2)
coupling.send("hello", code="victim")
assert coupling.recv(code=coupling.DRIVER) == "end"
"""

VICTIM = """
from mpi4py import MPI
from runtime import coupling

assert coupling.recv(code="hostile", timeout=60) == "hello"
coupling.send("all well", code=coupling.DRIVER)
"""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Two codes, one of them hostile, and this program, which drives them."""
    mpi = f'<mpi command-path="{Path(sys.executable).with_name("mpiexec")}" ranks="1"/>'
    applications, clusters = [], []
    for name, program in (("hostile", HOSTILE), ("victim", VICTIM)):
        (tmp_path / f"{name}.py").write_text(program)
        applications.append(
            f'<application name="{name}" script="{name}.py" clusters="here/{name}">'
            f'<argument value="{tmp_path / "marks"}"/></application>'
        )
        clusters.append(f'<cluster name="{name}">{mpi}</cluster>')
    path, faults = tmp_path / "codes.xml", Diagnostics()
    path.write_text(
        f'<deployment name="codes">{"".join(applications)}<grid><site name="here">'
        f"{''.join(clusters)}</site></grid></deployment>"
    )
    (tmp_path / "marks").mkdir()
    around = surroundings_of(str(path), python=sys.executable)
    read = read_descriptor(str(path), surroundings=around, diagnostics=faults)
    assert read is not None, list(map(str, faults))
    with Machine(make_plan(read), steered=True) as made:
        yield made


def test_nothing_that_a_rank_pickles_runs_in_another_process_until_its_message_is_received(
    machine: Machine, tmp_path: Path
) -> None:
    hostile, victim = machine.code("hostile"), machine.code("victim")
    hostile.messages.send("begin")
    assert hostile.messages.recv(tag=1, timeout=60) > 1000
    assert victim.messages.recv(timeout=60) == "all well"
    machine.bindings()
    hostile.messages.send("end")
    assert victim.control.wait(60) == {0: 0}
    assert hostile.control.wait(60) == {0: 0}
    assert list((tmp_path / "marks").iterdir()) == []
    # What this program receives it opens, as any rank does: who drives a rank trusts it.
    hostile.messages.recv(tag=2, timeout=0)
    assert [one.name for one in (tmp_path / "marks").iterdir()] == ["payload"]
