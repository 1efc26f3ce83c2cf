"""What the component model does in one process, it does between node processes too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gcm import Cardinality, Component, submit
from gcm.adl import Assembly, assemble
from gcm.adl.plan import (
    AssemblyPlan,
    ComponentPlan,
    InterceptorPlan,
    MembraneKind,
    MembranePlan,
    VirtualNodePlan,
)
from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.monitor import MonitorController
from runtime.hosting.node_factory import NodeFactory
from tests.integration.hosting.conftest import LONG, Launcher, launched
from tests.integration.hosting.modelled_parts import (
    Giver,
    Log,
    Models,
    Passer,
    Surface,
    Taker,
    Tally,
    Watch,
    Watched,
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
        return grid.nodes[f"/{one.virtual_node.name}"] if one.virtual_node else None

    factory = NodeFactory(grid.host, node_of)
    root = assemble(AssemblyPlan(plan, 1), make=factory.make)
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
        interceptors=(InterceptorPlan("work", factory=Log), InterceptorPlan("work", "watch")),
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
        plan = edited(plan, "/app/left", virtual_node=VirtualNodePlan(node))
        plan = edited(plan, "/app/right", virtual_node=VirtualNodePlan(node))
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
        plan = edited(plan, "/app/ocean", virtual_node=VirtualNodePlan("n2"))
        plan = edited(plan, "/app/air", virtual_node=VirtualNodePlan("n3"))
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
