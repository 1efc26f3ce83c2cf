"""One assembly, its components spread over node processes: the tree here stands for all of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from gcm import Component, submit
from gcm.adl import Assembly
from gcm.errors import IllegalLifeCycleError, NoSuchAttributeError
from gcm.membranes.attribute import AttributeController
from gcm.membranes.content import ContentController
from runtime.hosting.mirror import Mirror
from runtime.hosting.node_factory import NodeFactory
from runtime.transport.errors import ChannelClosed
from tests.integration.hosting.conftest import Launcher
from tests.integration.hosting.hosted_parts import (
    Adder,
    Chief,
    Client,
    Eager,
    Run,
    Stubborn,
    Worker,
)


def app() -> Assembly:
    described = Assembly("app")
    described.serves("run", Run)
    described.primitive("chief", Chief, node="vn1")
    described.primitive("worker", Worker, node="vn2", label="bob", size=7)
    described.bind("this.run", "chief.run")
    described.bind("chief.work", "worker.work")
    return described


@contextmanager
def deployed(launcher: Launcher, described: Assembly, **places: str) -> Iterator[Component]:
    """Put the components of each virtual node into the process it is mapped to."""
    with ExitStack() as stack:
        factory = NodeFactory(
            launcher.host,
            lambda plan: (
                launcher.nodes[places[plan.notes.virtual_node.name]]
                if plan.notes.virtual_node and plan.notes.virtual_node.name in places
                else None
            ),
        )
        root = described.assemble(make=factory.make)
        launcher.publish("/app", root)
        root.start()
        stack.callback(root.terminate)
        stack.callback(root.stop)
        yield root


def pids(launcher: Launcher) -> dict[str, int]:
    return {home: process.pid for home, process in launcher.processes.items()}


def test_the_same_assembly_runs_here_or_on_nodes(launcher: Launcher) -> None:
    launcher.start("/node1", "/node2")
    one, two = pids(launcher).values()
    with deployed(launcher, app()) as root:
        assert root.stub("run", Run).run(3) == (6, os.getpid(), os.getpid())
    with deployed(launcher, app(), vn1="/node1", vn2="/node2") as root:
        assert root.stub("run", Run).run(3) == (6, two, one)
    with deployed(launcher, app(), vn1="/node1", vn2="/node1") as root:
        assert root.stub("run", Run).run(3) == (6, one, one)


def test_processes_talk_directly_where_they_can(launcher: Launcher) -> None:
    _, two = launcher.start("/node1", "/node2")
    with deployed(launcher, app(), vn1="/node1", vn2="/node2") as root:
        before = two.channel.received_bytes
        root.stub("run", Run).run(3)
        assert two.channel.received_bytes == before


def test_processes_that_cannot_be_dialled_talk_through_the_launcher(launcher: Launcher) -> None:
    _, two = launcher.start("/node1", "/node2", listening=False)
    with deployed(launcher, app(), vn1="/node1", vn2="/node2") as root:
        before = two.channel.received_bytes
        assert root.stub("run", Run).run(3)[0] == 6
        assert two.channel.received_bytes > before


def test_a_component_here_is_reached_from_a_node(launcher: Launcher) -> None:
    launcher.start("/node1")
    with deployed(launcher, app(), vn1="/node1") as root:
        assert root.stub("run", Run).run(3) == (6, os.getpid(), pids(launcher)["/node1"])


def test_attributes_and_states_are_those_of_the_component(launcher: Launcher) -> None:
    launcher.start("/node1", "/node2")
    with deployed(launcher, app(), vn1="/node1", vn2="/node2") as root:
        worker = root.find("worker")
        assert isinstance(worker, Mirror)
        attributes = worker.controller(AttributeController)
        assert attributes.names() == ["label", "size"]
        assert attributes.get("label") == "bob"
        attributes.set("size", 8)
        assert launcher.ask("/app/worker", "work", "settings") == ("bob", 8)
        with pytest.raises(NoSuchAttributeError, match="did you mean 'size'"):
            attributes.set("sise", 9)
        assert launcher.ask("/app/worker", "lifecycle-controller", "state") == "started"
        root.stop()
        assert launcher.ask("/app/worker", "lifecycle-controller", "state") == "stopped"
        root.start()


def test_a_tree_is_rebound_while_it_is_stopped(launcher: Launcher) -> None:
    launcher.start("/node1", "/node2")
    described = app()
    described.primitive("other", Worker, node="vn1")
    one, two = pids(launcher).values()
    with deployed(launcher, described, vn1="/node1", vn2="/node2") as root:
        assert root.stub("run", Run).run(1) == (2, two, one)
        root.stop()
        chief, other = root.find("chief"), root.find("other")
        chief.unbind("work")
        chief.bind("work", other.server("work"))
        root.start()
        assert root.stub("run", Run).run(1) == (2, one, one)


def test_a_whole_tree_stops_and_starts_under_load_and_loses_nothing(launcher: Launcher) -> None:
    launcher.start("/node1", "/node2")
    with deployed(launcher, app(), vn1="/node1", vn2="/node2") as root:
        run = launcher.stub("/app/chief", "run").run  # past the tree here
        futures = [submit(run, number) for number in range(50)]
        for _ in range(4):
            root.stop()
            known = len(futures)
            futures += [submit(run, known + number) for number in range(20)]
            root.start()
        assert [future.result(20)[0] for future in futures] == [2 * n for n in range(130)]


def test_a_server_is_started_before_a_client_that_calls_it_at_once(launcher: Launcher) -> None:
    launcher.start("/node1", "/node2")
    for order in (("eager", "worker"), ("worker", "eager")):
        described = Assembly("app")
        for name in order:
            content = {"eager": Eager, "worker": Worker}[name]
            described.primitive(name, content, node={"eager": "vn1", "worker": "vn2"}[name])
        described.bind("eager.work", "worker.work")
        with deployed(launcher, described, vn1="/node1", vn2="/node2") as root:
            assert root.find("eager").stub("run", Run).run(0) == 42


def test_gathercast_between_nodes_and_the_launcher(launcher: Launcher) -> None:
    launcher.start("/node1", "/node2")
    described = Assembly("app")
    described.primitive("adder", Adder, node="vn1")
    for name, node in (("far", "vn2"), ("near", "here")):
        described.primitive(name, Client, node=node)
        described.bind(f"{name}.sum", "adder.sum")
    with deployed(launcher, described, vn1="/node1", vn2="/node2") as root:
        far = submit(root.find("far").stub("run", Run).run, 1)
        near = root.find("near").stub("run", Run).run(2)
        values, _ = far.result(20)
        assert sorted(values) == [1, 2]
        assert near == (values, os.getpid())


@pytest.mark.parametrize("server", ["vn1", "here"])
def test_a_client_that_is_unbound_and_removed_is_waited_for_no_more(
    launcher: Launcher, server: str
) -> None:
    launcher.start("/node1", "/node2")
    described = Assembly("app")
    described.primitive("adder", Adder, node=server)
    for name in ("first", "second"):
        described.primitive(name, Client, node="vn2")
        described.bind(f"{name}.sum", "adder.sum")
    with deployed(launcher, described, vn1="/node1", vn2="/node2") as root:
        first, second = (
            submit(root.find(one).stub("run", Run).run, 1) for one in ("first", "second")
        )
        assert first.result(20)[0] == second.result(20)[0] == [1, 1]
        root.stop()
        gone = root.find("second")
        gone.unbind("sum")
        root.controller(ContentController).remove(gone)
        root.start()
        left = submit(root.find("first").stub("run", Run).run, 2)
        assert left.result(20)[0] == [2]


def test_a_binding_of_a_stopped_component_is_there_at_once(launcher: Launcher) -> None:
    launcher.start("/node1", "/node2")
    described = app()
    described.primitive("other", Worker, node="vn1")
    with deployed(launcher, described, vn1="/node1", vn2="/node2") as root:
        root.stop()
        chief = root.find("chief")
        for name in ("other", "worker"):
            chief.unbind("work")
            assert launcher.ask("/app/chief", "binding-controller", "lookup", "work") == ()
            chief.bind("work", root.find(name).server("work"))
            (bound,) = launcher.ask("/app/chief", "binding-controller", "lookup", "work")
            assert bound.path == f"/app/{name}.work"
        root.start()


def test_what_fails_to_start_there_stops_what_was_started_before(launcher: Launcher) -> None:
    launcher.start("/node1", "/node2")
    described = Assembly("app")
    described.primitive("stubborn", Stubborn, node="vn1")
    described.primitive("worker", Worker, node="vn2")
    described.bind("stubborn.work", "worker.work")
    factory = NodeFactory(
        launcher.host,
        lambda plan: (
            launcher.nodes[{"vn1": "/node1", "vn2": "/node2"}[plan.notes.virtual_node.name]]
            if plan.notes.virtual_node
            else None
        ),
    )
    root = described.assemble(make=factory.make)
    with pytest.raises(IllegalLifeCycleError, match="I will not start") as caught:
        root.start()
    assert "hosted_parts.py" in str(caught.value.__cause__)
    for path in ("/app/worker", "/app/stubborn"):
        assert launcher.ask(path, "lifecycle-controller", "state") == "stopped"


def test_a_node_that_died_is_named_when_its_component_is_used(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    described = Assembly("app")
    described.primitive("worker", Worker, node="vn1")
    factory = NodeFactory(launcher.host, lambda plan: node if plan.notes.virtual_node else None)
    root = described.assemble(make=factory.make)
    root.start()
    launcher.processes["/node1"].kill()
    launcher.processes["/node1"].wait(20)
    with pytest.raises(ChannelClosed, match="/node1"):
        root.stop()
