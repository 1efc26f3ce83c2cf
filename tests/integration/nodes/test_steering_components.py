"""A Python program that holds the machine changes the deployed assembly while it works."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from gcm import (
    AttributeController,
    Component,
    ContentController,
    GathercastController,
    MembraneController,
    MigrationController,
    NameController,
    Primitive,
    active,
    composite,
    primitive,
    submit,
)
from gcm.adl import Assembly
from gcm.documents import Diagnostics
from gcm.errors import IllegalContentError, IllegalLifeCycleError, InstantiationError
from runtime import planned
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.errors import GridError
from runtime.processes.launcher.machine import Machine
from runtime.transport.errors import TransportError

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

MODULE = """
import os
import threading
from typing import Annotated, Protocol
from gcm import Cardinality, provides, requires

class Work(Protocol):
    def work(self, number: int) -> tuple[str, int]: ...

@provides("serve", Work)
class Chief:
    helper: Annotated[Work, requires()]
    def work(self, number):
        return self.helper.work(number)

@provides("work", Work)
class Worker:
    def work(self, number):
        if number < 0:
            print("the worker is at", os.environ["GCM_NODE"])
        return os.environ["GCM_NODE"], 2 * number

@provides("all", Work, cardinality=Cardinality.GATHERCAST)
class Meeting:
    def work(self, number):
        return [(os.environ["GCM_NODE"], sum(number))] * len(number)

class Watch(Protocol):
    def where(self) -> str: ...

@provides("watch", Watch)
class Watchdog:
    def where(self):
        return os.environ["GCM_NODE"]

class Counting(Protocol):
    def count(self, what: str) -> int: ...

@provides("counting", Counting)
class Counter:
    def __init__(self):
        self.counted = []
        self.finished = threading.Event()
    def count(self, what):
        self.counted.append(what)
        return len(self.counted)
"""
ADL = """
<interface name="serve" role="server" signature="steered_parts.Work"/>
<component name="chief"><content class="steered_parts.Chief"/><virtual-node name="head"/>
</component>
<component name="first"><content class="steered_parts.Worker"/><virtual-node name="one"/>
</component>
<component name="second"><content class="steered_parts.Worker"/><virtual-node name="two"/>
  <controller desc="primitive">
    <interface name="watch" role="server" signature="steered_parts.Watch"/>
    <component name="dog"><content class="steered_parts.Watchdog"/></component>
    <binding client="this.watch" server="dog.watch"/>
  </controller>
</component>
<binding client="this.serve" server="chief.serve"/>
<binding client="chief.helper" server="first.work"/>
"""
MAPPING = (
    '<virtual-node name="head" nodes="office/desk/node0"/>'
    '<virtual-node name="one" nodes="office/desk/node1"/>'
    '<virtual-node name="two" nodes="lab/rack/blade1"/>'
    '<virtual-node name="spare" nodes="lab/rack/blade2"/>'
)
LONG = 30.0


@pytest.fixture
def plan(field_of_work: Field, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeploymentPlan]:
    field_of_work.write(MODULE, ADL, MAPPING)
    descriptor = field_of_work.folder / "app.xml"
    wider = descriptor.read_text().replace('blade1" hosts', 'blade[1-3]" hosts')
    descriptor.write_text(wider)
    (field_of_work.folder / "parts.py").rename(field_of_work.folder / "steered_parts.py")
    monkeypatch.setattr(sys, "path", [*sys.path])
    found = Diagnostics()
    around = DescriptorContext(
        str(field_of_work.folder), environment=os.environ, python=sys.executable
    )
    deployment = read_descriptor(
        field_of_work.folder / "app.xml", surroundings=around, diagnostics=found
    )
    assert deployment is not None, [str(one) for one in found]
    yield make_plan(deployment)
    sys.modules.pop("steered_parts", None)


@contextmanager
def load_on(work: Any) -> Iterator[list[Any]]:
    """Call without a pause, from a thread of its own, until the end of the block."""
    futures: list[Any] = []
    enough = threading.Event()

    def call() -> None:
        number = 0
        while not enough.is_set():
            futures.append(submit(work, number))
            number += 1
            if number % 20 == 0:
                futures[-1].result(LONG)

    thread = threading.Thread(target=call)
    thread.start()
    try:
        yield futures
    finally:
        enough.set()
        thread.join()


def test_a_deployed_assembly_is_rebound_under_load_and_loses_nothing(
    plan: DeploymentPlan,
) -> None:
    with Machine(plan, steered=True) as machine:
        root = machine.deployed(LONG)
        work: Any = root.server("serve").stub.work  # type: ignore[attr-defined]  # of its signature
        assert work(1) == ("office/desk/node1", 2)
        chief, first, second = (root.find(name) for name in ("chief", "first", "second"))
        with load_on(work) as futures:
            for server in (second, first) * 3:
                chief.stop()
                chief.unbind("helper")
                chief.bind("helper", server.server("work"))
                chief.start()
            work(0)
        results = [future.result(LONG) for future in futures]
        assert [number for _, number in results] == [2 * n for n in range(len(results))]
        assert {node for node, _ in results} <= {"office/desk/node1", "lab/rack/blade1"}
        chief.stop()
        chief.unbind("helper")
        chief.bind("helper", second.server("work"))
        chief.start()
        assert work(2) == ("lab/rack/blade1", 4)
        migration = second.controller(MigrationController)
        migration.migrate("lab/rack/blade2")  # one that no component has used
        with pytest.raises(IllegalContentError) as caught:
            migration.migrate("lab/rack/blade3")
        words = "the node 'lab/rack/blade3' has no process that components can move to"
        assert words in caught.value.what
        assert '<virtual-node name="spare" nodes="lab/rack/blade3"/>' in caught.value.cure
        assert work(3) == ("lab/rack/blade2", 6)
    outcome = machine.wait(LONG)
    assert (outcome.exit_code, outcome.errors) == (0, ())


def test_components_are_shown_and_print_as_in_one_process(
    plan: DeploymentPlan, capsys: pytest.CaptureFixture[str]
) -> None:
    with Machine(plan, steered=True) as machine:
        root: Any = machine.deployed(LONG)
        shown = repr(root), repr(root.find("first"))
        assert shown == ("<composite /app>", "<primitive /app/first>")
        root.server("serve").stub.work(-1)
    assert capsys.readouterr().out == "the worker is at office/desk/node1\n"


def test_components_are_made_on_nodes_while_the_assembly_runs(plan: DeploymentPlan) -> None:
    with Machine(plan, steered=True) as machine:
        root: Any = machine.deployed(LONG)
        nodes = machine.nodes(LONG)
        assert list(nodes) == [
            "lab/rack/blade1", "lab/rack/blade2", "office/desk/node0", "office/desk/node1"
        ]  # fmt: skip
        parts: Any = sys.modules["steered_parts"]
        alone = active(parts.Worker, node=nodes["lab/rack/blade2"])
        alone.start()
        assert alone.stub("work", parts.Work).work(2) == ("lab/rack/blade2", 4)
        alone.stop()
        alone.terminate()
        box = composite("box", root.type, node=nodes["office/desk/node1"])
        chief = primitive(parts.Chief, "deputy", node=nodes["lab/rack/blade2"])
        worker = primitive(parts.Worker, "third", node=nodes["lab/rack/blade1"])
        for one in (chief, worker):
            box.controller(ContentController).add(one)
        chief.bind("helper", worker.server("work"))
        box.bind("serve", chief.server("serve"))
        root.stop()
        root.controller(ContentController).add(box)
        root.find("box/third").controller(NameController).set("fourth")
        root.unbind("serve")
        root.bind("serve", box.server("serve"))
        root.start()
        assert root.server("serve").stub.work(3) == ("lab/rack/blade1", 6)
        root.find("box/fourth").controller(MigrationController).migrate("office/desk/node0")
        assert root.server("serve").stub.work(4) == ("office/desk/node0", 8)
        absent = type("Absent", (parts.Worker,), {"__module__": "steered_parts"})
        with pytest.raises(InstantiationError, match="there is no 'Absent' in the module"):
            primitive(absent, node=nodes["lab/rack/blade1"])
    with pytest.raises(GridError, match="worker cannot be made any more"):
        primitive(parts.Worker, node=nodes["lab/rack/blade1"])


def test_who_takes_part_in_rounds_moves_as_the_refusal_says(plan: DeploymentPlan) -> None:
    with Machine(plan, steered=True) as machine:
        nodes = machine.nodes(LONG)
        parts: Any = sys.modules["steered_parts"]
        meeting = primitive(parts.Meeting, node=nodes["office/desk/node0"])
        members = [
            active(parts.Chief, f"member{n}", node=nodes["office/desk/node1"]) for n in range(2)
        ]
        rounds = meeting.controller(GathercastController)
        rounds.configure("all", when_left="refuse")
        for one in members:
            one.bind("helper", meeting.server("all"))
        for one in (meeting, *members):
            one.start()

        def work() -> list[tuple[str, int]]:
            calls = [submit(one.stub("serve", parts.Work).work, 1) for one in members]
            return [call.result(LONG) for call in calls]

        def move(component: Component, bound: list[Primitive]) -> None:
            migration = component.controller(MigrationController)
            with pytest.raises(IllegalContentError) as caught:
                migration.migrate("lab/rack/blade2")
            assert "top" in caught.value.cure
            assert "unbind" in caught.value.cure
            for one in bound:
                one.stop()
                one.unbind("helper")
            migration.migrate("lab/rack/blade2")
            for one in bound:
                one.bind("helper", meeting.server("all"))
                one.start()

        assert work() == [("office/desk/node0", 2)] * 2
        move(members[0], members[:1])
        assert work() == [("office/desk/node0", 2)] * 2
        move(meeting, members)
        assert work() == [("lab/rack/blade2", 2)] * 2
        assert rounds.settings("all").when_left == "refuse"
        for one in (*members, meeting):
            one.stop()
            one.terminate()


def test_an_assembly_made_in_python_is_deployed_as_it_is(plan: DeploymentPlan) -> None:
    sys.path.insert(0, plan.deployment.folder)
    parts: Any = importlib.import_module("steered_parts")
    made = Assembly("made")
    made.serves("serve", parts.Work)
    made.primitive("chief", parts.Chief, node="head")
    made.primitive("worker", parts.Worker, node="hand")
    made.bind("this.serve", "chief.serve")
    made.bind("chief.helper", "worker.work")
    with Machine(planned(made, machine="1x1x2"), steered=True) as machine:
        root: Any = machine.deployed(LONG)
        assert root.server("serve").stub.work(3) == ("site0/cluster0/node1", 6)


def test_what_a_membrane_on_a_node_serves_is_called_and_can_be_added(
    plan: DeploymentPlan,
) -> None:
    with Machine(plan, steered=True) as machine:
        root = machine.deployed(LONG)
        parts: Any = sys.modules["steered_parts"]
        second = root.find("second")
        assert second.stub("watch", parts.Watch).where() == "lab/rack/blade1"
        membrane = root.find("first").controller(MembraneController)
        with pytest.raises(IllegalContentError, match="the membrane is in the process"):
            membrane.add(primitive(parts.Watchdog))
        dog = primitive(parts.Watchdog, node=machine.nodes()["office/desk/node1"])
        membrane.add(dog)
        membrane.export("eye", "watchdog.watch")
        membrane.start()
        assert (dog.state, membrane.names()) == ("started", ["watchdog"])
        eye = root.find("first").stub("eye", parts.Watch)
        assert eye.where() == "office/desk/node1"
        membrane.stop()
        membrane.remove("watchdog")
        assert membrane.names() == []
        dog.terminate()
        other = primitive(parts.Watchdog, "other", node=machine.nodes()["office/desk/node1"])
        membrane.add(other)
        root.stop()
        root.terminate()
        for ended in (dog, other):
            assert ended.state == "terminated"
            with pytest.raises(TransportError, match="nothing leads to /made/"):
                ended.controller(AttributeController).names()  # its node has forgotten it


def test_the_object_of_a_component_on_a_node_is_reached_there(plan: DeploymentPlan) -> None:
    with Machine(plan, steered=True) as machine:
        machine.deployed(LONG)
        parts: Any = sys.modules["steered_parts"]
        counter: Any = primitive(parts.Counter, node=machine.nodes()["lab/rack/blade1"]).content
        assert (counter.counted, counter.finished.wait(0.0)) == ([], False)
        assert counter.count("a") == 1
        counter.finished.set()
        assert (counter.counted, counter.finished.is_set()) == (["a"], True)
        counter.counted = ["b", "c"]
        assert counter.count("d") == 3
        with pytest.raises(AttributeError, match="'Counter' object has no attribute 'missing'"):
            counter.missing  # noqa: B018
        assert repr(counter).startswith("<elsewhere: <steered_parts.Counter object at")


def test_a_call_after_a_lost_node_has_ended_the_run_is_refused(plan: DeploymentPlan) -> None:
    machine = Machine(plan, steered=True).start()
    work: Any = machine.deployed(LONG).server("serve").stub.work  # type: ignore[attr-defined]
    assert machine._deployed is not None
    (pid,) = (one.pid for one in machine._deployed.reports() if one.path == "/app/first")
    os.kill(pid, signal.SIGKILL)
    outcome = machine.wait(LONG)
    assert outcome.exit_code == 204
    assert outcome.errors[0].startswith("office/desk/node1: ")
    with pytest.raises(GridError, match="there is no assembly any more") as over:
        machine.nodes(LONG)
    assert "and with it /app/first" in (over.value.cause)
    with pytest.raises(IllegalLifeCycleError, match="the component has ended"):
        work(1)


def test_a_machine_that_has_ended_has_no_assembly(plan: DeploymentPlan) -> None:
    with Machine(plan, steered=True) as machine:
        machine.deployed(LONG)
    with pytest.raises(GridError, match="there is no assembly any more") as caught:
        machine.deployed(LONG)
    assert caught.value.cause == "the machine has ended"


def test_a_machine_without_an_assembly_says_so(field_of_work: Field, plan: DeploymentPlan) -> None:
    path = field_of_work.folder / "plain.xml"
    path.write_text(
        "<deployment><application module='this'/><emulate sites='1' clusters='1' ranks='1'/>"
        "</deployment>"
    )
    found = Diagnostics()
    deployment = read_descriptor(
        path, surroundings=DescriptorContext(str(field_of_work.folder)), diagnostics=found
    )
    assert deployment is not None, [str(one) for one in found]
    with pytest.raises(GridError, match="no assembly is deployed"):
        Machine(make_plan(deployment)).deployed()
    assert plan.deployment.assembly is not None
