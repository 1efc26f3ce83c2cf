"""What the component model does in one process, it does between node processes too."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import Pyro5.api
import pytest

from gcm import Cardinality, Component, submit
from gcm.adl import Assembly, assemble
from gcm.adl.plan import (
    AssemblyPlan,
    ComponentPlan,
    InterceptorPlan,
    MembraneKind,
    MembranePlan,
    RoundsPlan,
)
from gcm.adl.writing.describe import describe
from gcm.adl.writing.export import write_definition
from gcm.components import Notes, VirtualNodeNote
from gcm.errors import (
    AdlError,
    CircularCallError,
    CopyError,
    GathercastMemberError,
    GathercastTimeoutError,
    IllegalContentError,
)
from gcm.interfaces.collective.gathering import RoundSettings, WhenLeft
from gcm.membranes.collective import GathercastController
from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.migration import MigrationController
from gcm.membranes.monitor import MonitorController
from runtime.hosting.node_factory import NodeFactory
from runtime.hosting.remote_references import find_remote
from tests.integration.hosting.conftest import LONG, Launcher, launched
from tests.integration.hosting.hosted_parts import Adder, Client, Run, Sum
from tests.integration.hosting.modelled_parts import (
    Counter,
    Giver,
    Guide,
    ListAdder,
    Locked,
    Log,
    Meeting,
    Models,
    Passer,
    Surface,
    Taker,
    Tally,
    Walker,
    Watch,
    Watched,
    Ways,
    Work,
    Worker,
)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    """Three node processes that all tests here share."""
    folder: Path = tmp_path_factory.mktemp("nodes")
    with launched(folder) as made:
        made.start("/n1", "/n2", "/n3")
        yield made


def pid(grid: Launcher, home: str) -> int:
    return grid.processes[f"/{home}"].pid


def edited(plan: ComponentPlan, path: str, **changes: Any) -> ComponentPlan:
    """Return a plan with changes to one component in it."""
    if plan.path == path:
        return replace(plan, **changes)
    return replace(plan, components=tuple(edited(one, path, **changes) for one in plan.components))


@contextmanager
def deployed(grid: Launcher, plan: ComponentPlan) -> Iterator[Component]:
    """Put the components of each virtual node into the process of that name."""

    def node_of(one: ComponentPlan) -> Any:
        return grid.nodes[f"/{one.notes.virtual_node.name}"] if one.notes.virtual_node else None

    factory = NodeFactory(grid.host, node_of, nodes=grid.nodes)
    root = assemble(AssemblyPlan(plan, 1), make=factory.make, find_remote=find_remote)
    grid.host.publish(root.path, root)
    try:
        root.start()
        yield root
    finally:
        root.stop()
        root.terminate()
        grid.host.withdraw(root.path)


def sent(grid: Launcher) -> int:
    """Return how much has come to this process from all nodes."""
    return sum(node.channel.received_bytes for node in grid.nodes.values())


def pair(**worker: Any) -> ComponentPlan:
    described = Assembly("app")
    described.serves("run", Work)
    described.primitive("passer", Passer, node="n1")
    described.primitive("worker", Worker, node="n2", **worker)
    described.bind("this.run", "passer.work")
    described.bind("passer.next", "worker.work")
    return described.plan().root


def test_interceptors_and_components_of_a_membrane_act_where_the_component_lives(
    grid: Launcher,
) -> None:
    watch = Assembly("any").primitive("watch", Watch).plan().root.components[0]
    plan = edited(
        pair(),
        "/app/worker",
        content=Watched,
        interceptors=(
            InterceptorPlan("work", factory=Log),
            InterceptorPlan("work", "watch", "watch"),
        ),
        membrane=MembranePlan(MembraneKind.PRIMITIVE, components=(watch,)),
    )
    two = pid(grid, "n2")
    with deployed(grid, plan) as root:
        run: Any = root.stub("run", Work).work
        assert run(1) == (two, [f"before work(1,) in {two}", f"watched work in {two}"])
        assert "after work" in run(2)[1]
    assert Log.seen == []


def test_controllers_of_a_component_are_asked_where_it_lives(grid: Launcher) -> None:
    described = PRIMITIVE.including(Tally)
    plan = edited(pair(), "/app/worker", membrane=MembranePlan(MembraneKind.PRIMITIVE, described))
    with deployed(grid, plan) as root:
        run = root.stub("run", Work).work
        worker = root.find("worker")
        worker.controller(MonitorController).enable()
        for number in range(3):
            run(number)
        assert worker.controller(Tally).counted() == (pid(grid, "n2"), 3)
        assert "work" in str(worker.controller(MonitorController).figures())


def boxed(node: str = "") -> ComponentPlan:
    """A client in one composite calls a server in another one, through the faces of both."""
    described = Assembly("app")
    described.serves("run", Work)
    left, right = described.composite("left"), described.composite("right")
    left.serves("run", Work).needs("out", Work)
    left.primitive("passer", Passer, node="n1")
    left.bind("this.run", "passer.work").bind("passer.next", "this.out")
    right.serves("in", Work)
    right.primitive("worker", Worker, node="n2").primitive("other", Worker, node="n3", factor=5)
    right.bind("this.in", "worker.work")
    described.bind("this.run", "left.run").bind("left.out", "right.in")
    plan = described.plan().root
    if node:
        plan = edited(plan, "/app/left", notes=Notes(virtual_node=VirtualNodeNote(node)))
        plan = edited(plan, "/app/right", notes=Notes(virtual_node=VirtualNodeNote(node)))
    return plan


def test_a_binding_across_composites_goes_from_node_to_node(grid: Launcher) -> None:
    with deployed(grid, boxed()) as root:
        run = root.find("left/passer").server("work").stub
        before = grid.nodes["/n2"].channel.received_bytes
        assert run.work(1) == (pid(grid, "n2"), 2)  # type: ignore[attr-defined]
        assert grid.nodes["/n2"].channel.received_bytes == before
        assert root.stub("run", Work).work(2) == (pid(grid, "n2"), 4)


def test_a_composite_that_is_rebound_inside_loses_no_call_from_outside(grid: Launcher) -> None:
    with deployed(grid, boxed()) as root:
        run: Any = root.find("left/passer").server("work").stub.work  # type: ignore[attr-defined]
        right = root.find("right")
        futures = []
        for target in ("other", "worker") * 3:
            futures += [submit(run, number) for number in range(20)]
            right.stop()
            futures += [submit(run, number) for number in range(20)]
            right.unbind("in")
            right.bind("in", right.find(target).server("work"))
            right.start()
        found = {future.result(LONG)[0] for future in futures}
        assert found == {pid(grid, "n2"), pid(grid, "n3")}
        assert run(1) == (pid(grid, "n2"), 2)


def test_what_watches_a_composite_sees_the_calls_that_could_pass_it(grid: Launcher) -> None:
    with deployed(grid, boxed()) as root:
        run: Any = root.find("left/passer").server("work").stub.work  # type: ignore[attr-defined]
        monitor = root.find("right").controller(MonitorController)
        monitor.enable()
        run(1)
        assert "work" in str(monitor.figures())


def test_the_membrane_of_a_composite_lives_on_a_node(grid: Launcher) -> None:
    plan = boxed("n3")
    plan = edited(plan, "/app/right", interceptors=(InterceptorPlan("in", factory=Log),))
    plan = edited(plan, "/app/right/other", content=Watched)
    with deployed(grid, plan) as root:
        assert root.stub("run", Work).work(1) == (pid(grid, "n2"), 2)
        run: Any = root.find("left/passer").server("work").stub.work  # type: ignore[attr-defined]
        before = sent(grid)
        assert run(3) == (pid(grid, "n2"), 6)
        assert sent(grid) - before < 400  # the answer of the passer, and nothing passed on
        root.stop()
        right = root.find("right")
        right.unbind("in")
        right.bind("in", right.find("other").server("work"))
        root.start()
        three = pid(grid, "n3")
        assert f"before work(4,) in {three}" in run(4)[1]
    assert Log.seen == []


ROW = 4096 * 8


def test_a_submitted_call_brings_its_rows_and_a_failure_keeps_none(grid: Launcher) -> None:
    plan = exchanging()
    with deployed(grid, plan) as root:
        put: Any = root.find("air").server("surface").stub.put  # type: ignore[attr-defined]
        heat = np.repeat(np.arange(5.0), 4096).reshape(5, 4096)
        wind = submit(put, heat, 2).result(LONG)
        assert type(wind) is np.ndarray
        assert (wind == heat * 10 + 2).all()
        failed = submit(put, np.arange(20480.0).reshape(5, 4096), 2).exception(LONG)
        assert "AssertionError" in str(failed)
    assert len(grid.host.blocks) == 0


def exchanging(*, active: bool = False, placed: bool = True) -> ComponentPlan:
    """Three members on two nodes have an array between them, two others on two nodes take it."""
    described = Assembly("app")
    described.serves("run", Models)
    ocean, air = described.composite("ocean"), described.composite("air")
    ocean.serves("models", Models, cardinality=Cardinality.MULTICAST)
    ocean.needs("air", Surface)
    add = ocean.active if active else ocean.primitive
    for name, node, first, size in (("o1", "n1", 0, 2), ("o2", "n2", 2, 3), ("o3", "n2", 5, 1)):
        add(name, Giver, node=node, first=first, size=size)
        ocean.bind("this.models", f"{name}.model").bind(f"{name}.air", "this.air")
    air.serves("surface", Surface, cardinality=Cardinality.MULTICAST)
    for name, node in (("a1", "n3"), ("a2", "n1")):
        air.primitive(name, Taker, node=node)
        air.bind("this.surface", f"{name}.surface")
    described.bind("this.run", "ocean.models").bind("ocean.air", "air.surface")
    plan = described.plan().root
    if placed:
        plan = edited(plan, "/app/ocean", notes=Notes(virtual_node=VirtualNodeNote("n2")))
        plan = edited(plan, "/app/air", notes=Notes(virtual_node=VirtualNodeNote("n3")))
    return plan


EXCHANGED = [[1.0 * 2, 11.0 * 2], [21.0 * 2, 31.0 * 2, 41.0 * 2], [51.0 * 2]]


@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("placed", [False, True])
def test_arrays_go_from_member_to_member_each_row_once(
    grid: Launcher, active: bool, placed: bool
) -> None:
    def received() -> dict[tuple[str, str], int]:
        homes = "/n1", "/n2", "/n3"
        links = {home: grid.ask(home, "node", "links") for home in homes}
        return {(to, of): links[to].get(of, (0, 0))[1] for to in homes for of in homes if to != of}

    with deployed(grid, exchanging(active=active, placed=placed)) as root:
        run = root.stub("run", Models).advance
        assert run(1) == EXCHANGED
        before, here = received(), sent(grid)
        assert run(1) == EXCHANGED
        rows = {link: (now - before[link]) / ROW for link, now in received().items()}
        # a1 (n3) takes rows 0 to 2, a2 (n1) rows 3 to 5; o1 (n1) has 0 and 1, all others are on n2.
        expected = {
            ("/n3", "/n1"): 2, ("/n3", "/n2"): 1, ("/n1", "/n2"): 3,
            ("/n1", "/n3"): 2, ("/n2", "/n3"): 1, ("/n2", "/n1"): 3,
        }  # fmt: skip
        assert {link: round(count, 1) for link, count in rows.items()} == pytest.approx(
            expected, abs=0.3
        )
        assert sent(grid) - here < ROW
    for home in grid.nodes:
        assert grid.ask(home, "node", "kept_blocks") == 0


def test_a_remote_reference_is_called_from_the_node_of_its_client(grid: Launcher) -> None:
    callers: list[str] = []

    class Outside:
        @Pyro5.api.expose  # type: ignore[untyped-decorator]  # it has no types
        def work(self, number: int) -> tuple[int, int]:
            callers.append(Pyro5.api.current_context.client_sock_addr[0])
            return os.getpid(), 3 * number

    with Pyro5.api.Daemon(host="127.0.0.1", port=0) as daemon:
        uri = daemon.register(Outside(), "outside")
        serving = threading.Thread(target=daemon.requestLoop)
        serving.start()
        described = Assembly("app")
        described.serves("run", Work)
        box = described.composite("box")
        box.serves("run", Work).needs("out", Work)
        box.primitive("passer", Passer, node="n1")
        box.bind("this.run", "passer.work").bind("passer.next", "this.out")
        described.bind("this.run", "box.run").bind("box.out", f"pyro:outside@{uri.location}")
        with deployed(grid, described.plan().root) as root:
            work: Any = root.find("box/passer").server("work").stub.work  # type: ignore[attr-defined]
            here = sent(grid)
            assert tuple(work(1)) == (os.getpid(), 3)
            assert sent(grid) - here < 300  # the answer to this process, and nothing else
        daemon.shutdown()
        serving.join(LONG)
    assert callers == ["127.0.0.1"]


def test_a_reference_that_nobody_knows_is_refused_with_its_line(grid: Launcher) -> None:
    described = Assembly("app").primitive("passer", Passer, node="n1")
    described.bind("passer.next", "corba:there")
    words = r"test_model_on_nodes.py:\d+: the remote reference 'corba:there' leads nowhere"
    with pytest.raises(AdlError, match=words) as caught:
        deployed(grid, described.plan().root).__enter__()
    assert "Known are Pyro5 objects: pyro:name@host:port" in str(caught.value)


def test_active_objects_that_wait_for_each_other_between_nodes_are_told(grid: Launcher) -> None:
    described = Assembly("app")
    described.serves("run", Work)
    described.active("a", Passer, node="n1").primitive("p", Passer, node="n3")
    described.active("b", Passer, node="n2")
    described.bind("this.run", "a.work").bind("a.next", "p.work")
    described.bind("p.next", "b.work").bind("b.next", "a.work")
    with deployed(grid, described.plan().root) as root:
        with pytest.raises(CircularCallError) as caught:
            root.stub("run", Work).work(1)
        assert caught.value.what.endswith(
            ": /app/a.work.work waits for /app/b.work.work, which waits for /app/a.work.work"
        )
        assert "raised in /app/a, in the process /n1" in caught.value.__notes__


@pytest.mark.parametrize(
    ("first", "second", "between"),
    [("ss", "", "active"), ("sc", "", "active"), ("cs", "", "active"), ("ss", "", "passive"),
     ("sc", "", "passive"), ("wc", "wc", "active"), ("ws", "ws", "active"), ("sss", "", "both"),
     ("wss", "wcs", "passive")],
)  # fmt: skip
def test_a_circle_between_nodes_that_is_closed_after_the_calls_is_told(
    grid: Launcher, first: str, second: str, between: str
) -> None:
    described = Assembly("app")
    described.serves("a", Ways).serves("b", Ways)
    described.active("a", Walker, node="n1").active("b", Walker, node="n2")
    names = ["a", "b"] if between == "active" else ["a", "p", "b"]
    if between == "passive":
        described.primitive("p", Walker, node="n3")
        first = first.replace("s", "sc", 1)
    elif between == "both":
        described.active("p", Walker, node="n1")
    described.bind("this.a", "a.ways").bind("this.b", "b.ways")
    for one, after in zip(names, [*names[1:], "a"], strict=True):
        described.bind(f"{one}.next", f"{after}.ways")
    with deployed(grid, described.plan().root) as root:
        ways = [(root.stub("a", Ways).go, first), (root.stub("b", Ways).go, second)]
        futures = [submit(go, way) for go, way in ways if way]
        errors = [future.exception(LONG) for future in futures]
        told = [error for error in errors if isinstance(error, CircularCallError)]
        assert told == [error for error in errors if error is not None] != []
        assert ": /app/" in told[0].what
        assert root.stub("a", Ways).go("c") == root.stub("b", Ways).go("s") == "there"


@pytest.mark.parametrize("called", ["a", "b"])
@pytest.mark.parametrize("meeting", ["active", "passive", "in a box"])
def test_a_circle_through_a_round_on_another_node_is_told(
    grid: Launcher, called: str, meeting: str
) -> None:
    described = Assembly("app")
    described.serves("a", Ways).serves("b", Ways)
    described.active("a", Walker, node="n1").active("b", Walker, node="n2")
    described.bind("this.a", "a.ways").bind("this.b", "b.ways")
    if meeting == "in a box":  # whose membrane gathers, in this process
        box = described.composite("m").serves("all", Ways, cardinality=Cardinality.GATHERCAST)
        box.needs("next", Ways)
        box.active("one", Guide, node="n3")
        box.bind("this.all", "one.ways").bind("one.next", "this.next")
    else:
        make = described.active if meeting == "active" else described.primitive
        make("m", Meeting, node="n3")
    described.bind("a.next", "m.all").bind("b.next", "m.all").bind("m.next", f"{called}.ways")
    with deployed(grid, described.plan().root) as root:
        futures = [submit(root.stub(name, Ways).go, "c") for name in ("a", "b")]
        errors = [future.exception(LONG) for future in futures]
        assert [type(error) for error in errors] == [CircularCallError] * 2
        assert f"/app/{called}.ways.go" in str(errors[0])


def test_a_request_that_nobody_waits_for_closes_no_circle(grid: Launcher) -> None:
    described = Assembly("app")
    described.serves("a", Ways).serves("p", Ways)
    described.active("a", Walker, node="n1").primitive("p", Walker, node="n3")
    described.active("b", Walker, node="n3")
    described.bind("this.a", "a.ways").bind("this.p", "p.ways")
    described.bind("a.next", "p.ways").bind("p.next", "b.ways").bind("b.next", "a.ways")
    with deployed(grid, described.plan().root) as root:
        assert (
            root.stub("a", Ways).go("cfc") == "went on"
        )  # b calls a, and has to wait for its turn
        assert root.stub("p", Ways).go("?") == "None"


def test_a_bound_component_moves_from_node_to_node_and_loses_no_call(grid: Launcher) -> None:
    described = Assembly("app")
    described.serves("run", Work)
    described.primitive("first", Passer, node="n1").primitive("counter", Counter, node="n1")
    described.primitive("worker", Worker, node="n2")
    described.bind("this.run", "first.work").bind("first.next", "counter.work")
    described.bind("counter.next", "worker.work")
    with deployed(grid, described.plan().root) as root:
        run: Any = root.stub("run", Work).work
        assert run(1) == (1, pid(grid, "n1"), pid(grid, "n2"))
        migration = root.find("counter").controller(MigrationController)
        futures = []
        for home in ("/n3", "/n2", "/n1"):
            futures += [submit(run, number) for number in range(30)]
            migration.migrate(home)
            futures += [submit(run, number) for number in range(30)]
        found = [future.result(LONG) for future in futures]
        assert sorted(count for count, _, _ in found) == list(range(2, 182))
        migration.migrate("/n3")
        assert run(0) == (182, pid(grid, "n3"), pid(grid, "n2"))
        assert migration.has_moved()
        with pytest.raises(IllegalContentError, match="there is no node '/n4'"):
            migration.migrate("/n4")
        here = sent(grid)
        root.find("first").server("work").stub.work(0)  # type: ignore[attr-defined]
        assert sent(grid) - here < 300
        root.stop()
        root.start()
        assert run(0)[0] == 184


def test_a_component_whose_content_cannot_be_copied_stays_where_it_is(grid: Launcher) -> None:
    with deployed(grid, edited(pair(), "/app/worker", content=Locked)) as root:
        run = root.stub("run", Work).work
        with pytest.raises(
            CopyError, match="the content of /app/worker cannot be copied"
        ) as caught:
            root.find("worker").controller(MigrationController).migrate("/n3")
        assert "__getstate__" in caught.value.cure
        assert run(1) == (pid(grid, "n2"), 2)


def test_a_deployed_assembly_is_written_as_the_document_it_was_made_of(grid: Launcher) -> None:
    plan = pair(factor=7)
    with deployed(grid, plan) as root:
        written = write_definition(describe(root))
    assert written == write_definition(describe(assemble(AssemblyPlan(plan, 1))))
    assert 'name="factor" value="7"' in written


@pytest.mark.parametrize("home", ["", "n3"])
def test_rounds_of_a_composite_gather_clients_of_several_nodes(grid: Launcher, home: str) -> None:
    described = Assembly("app")
    box = described.composite("box").serves("sum", Sum, cardinality=Cardinality.GATHERCAST)
    box.primitive("adder", ListAdder, node="n1").bind("this.sum", "adder.sum")
    for name, node in (("one", "n2"), ("two", "n3")):
        described.primitive(name, Client, node=node).bind(f"{name}.sum", "box.sum")
    plan = described.plan().root
    if home:
        plan = edited(plan, "/app/box", notes=Notes(virtual_node=VirtualNodeNote(home)))
    with deployed(grid, plan) as root:
        one = submit(root.find("one").stub("run", Run).run, 1)
        assert root.find("two").stub("run", Run).run(2)[0] == [1, 2]
        assert one.result(LONG)[0] == [1, 2]


def test_rounds_that_wait_for_a_client_elsewhere_end_in_time(grid: Launcher) -> None:
    described = Assembly("app").primitive("adder", Adder)
    for name, node in (("one", "n2"), ("two", "n3")):
        described.primitive(name, Client, node=node).bind(f"{name}.sum", "adder.sum")
    with deployed(grid, described.plan().root) as root:
        rounds = root.find("adder").controller(GathercastController)
        rounds.configure("sum", wait_for_all=True, timeout=0.2)
        with pytest.raises(GathercastTimeoutError, match="/app/two.sum did not call"):
            root.find("one").stub("run", Run).run(1)


def test_a_client_elsewhere_that_leaves_a_round_is_named_to_those_that_have_called(
    grid: Launcher,
) -> None:
    described = Assembly("app").primitive("adder", Adder, node="n1")
    for name, node in (("one", "n2"), ("two", "n3")):
        described.primitive(name, Client, node=node).bind(f"{name}.sum", "adder.sum")
    how = RoundsPlan("sum", RoundSettings(when_left=WhenLeft.REFUSE))
    with deployed(grid, edited(described.plan().root, "/app/adder", rounds=(how,))) as root:
        rounds = root.find("adder").controller(GathercastController)
        assert rounds.settings("sum") == how.settings
        waiting = submit(root.find("one").stub("run", Run).run, 1)
        while rounds.waiting("sum") != {"add": ["/app/two.sum"]}:
            assert not waiting.done()
        root.find("two").stop()
        root.find("two").unbind("sum")
        with pytest.raises(GathercastMemberError, match=r"was not called by /app/two\.sum"):
            waiting.result(LONG)


def test_an_active_object_on_a_node_is_bound_through_its_own_controller(grid: Launcher) -> None:
    described = Assembly("app").active("passer", Passer, node="n1")
    described.primitive("worker", Worker, node="n2").primitive("other", Worker, node="n3")
    described.bind("passer.next", "worker.work")
    with deployed(grid, described.plan().root) as root:
        root.stop()
        other = grid.host.find("/app/other", "work")
        grid.ask("/app/passer", "binding-controller", "unbind", "next")
        grid.ask("/app/passer", "binding-controller", "bind", "next", other)
        root.start()
        work: Any = root.find("passer").server("work").stub.work  # type: ignore[attr-defined]
        assert work(1) == (pid(grid, "n3"), 2)
