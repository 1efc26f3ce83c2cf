"""The machine as an assembly: its paths and bindings, and that its document is a good one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gcm.adl.writing.describe import export
from gcm.cli import main as gcm
from gcm.documents import Diagnostics
from gcm.errors import IllegalLifeCycleError
from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from gcm.membranes.lifecycle import State
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.lifecycle.outcome import Connections
from runtime.machine.paths import clustering_path, host_of, part_path
from runtime.processes.launcher.bindings import bindings_of
from runtime.processes.launcher.tree import machine_document, machine_tree
from runtime.processes.part_controllers import RouteMonitor

EMULATED = (
    b'<deployment><application module="m"/><emulate sites="2" clusters="2" ranks="2"/></deployment>'
)


def plan(descriptor: bytes = EMULATED) -> DeploymentPlan:
    found = Diagnostics()
    deployment = read_descriptor(descriptor, surroundings=DescriptorContext("/"), diagnostics=found)
    assert deployment is not None, [str(one) for one in found]
    return make_plan(deployment)


def refuse(invocation: Invocation) -> Future[Any]:
    raise AssertionError(invocation)


NAMED = (
    b'<deployment><application module="m"/><grid><mpi ranks="2"/><site name="north">'
    b'<cluster name="alder"/><cluster name="birch"/></site><site name="south">'
    b'<cluster name="cedar"/></site></grid></deployment>'
)


def bound(component: Any, client: str) -> list[str]:
    return [str(one) for one in component.client(client).servers]


def test_every_part_has_the_name_that_the_user_gave_it_and_is_bound_both_ways() -> None:
    tree = machine_tree(plan(NAMED).components(), refuse)
    found = tree.find("north/birch/wrapper1")
    assert found.path == "/grid/north/birch/wrapper1"
    for contract in ("membership", "health", "references"):
        assert bound(found, f"{contract}-up") == [f"/grid/north/birch/clustering.{contract}"]
    for contract in ("views", "control", "routes"):
        assert bound(tree.find("north/birch/clustering"), f"{contract}-down") == [
            f"/grid/north/birch/wrapper{rank}.{contract}" for rank in range(2)
        ]
    assert bound(tree.find("north/clustering"), "views-down") == [
        "/grid/north/alder.views",
        "/grid/north/birch.views",
    ]
    assert bound(tree.find("north/alder"), "membership-up") == ["/grid/north/clustering.membership"]


CODES = (
    b'<deployment><application name="ocean" module="m" clusters="north/alder"/>'
    b'<application name="air" module="m" clusters="north/birch south/cedar south/fir"/>'
    b'<application name="native" executable="/bin/true" clusters="north/pine"/>'
    b'<grid><mpi ranks="2"/>'
    b'<controller role="plan-choice" class="plans.Chain"/><site name="north">'
    b'<interceptor class="lens.Count" between="sites"/>'
    b'<cluster name="alder"/><cluster name="birch"/>'
    b'<cluster name="pine"/></site><site name="south">'
    b'<cluster name="cedar"/><cluster name="fir"/>'
    b"</site></grid></deployment>"
)


def test_ranks_are_bound_to_those_of_their_own_code_in_other_clusters() -> None:
    tree = machine_tree(plan(CODES).components(), refuse)
    found = {str(one) for one in bindings_of(tree) if ".peers" in one.client}
    assert found == {
        *(f"/grid/north/birch/wrapper{rank}.peers -> /grid/south.delivery-air" for rank in (0, 1)),
        *(
            f"/grid/south/{one}/wrapper{rank}.peers -> {server}"
            for one, other in (("cedar", "fir"), ("fir", "cedar"))
            for server in (f"/grid/south/{other}.delivery", "/grid/north.delivery-air")
            for rank in (0, 1)
        ),
    }
    cedar: Any = tree.find("south/cedar")
    assert [str(one) for one in cedar.inner_client("delivery").servers] == [
        f"/grid/south/cedar/wrapper{rank}.delivery" for rank in (0, 1)
    ]


def test_codes_whose_names_differ_in_punctuation_alone_have_interfaces_of_their_own() -> None:
    names = ("a.b", "a-b", "a_b", "a--b", "a-2eb", "a.")
    clusters = [f"north/c{number} south/c{number}" for number, _ in enumerate(names)]
    codes = "".join(
        f'<application name="{name}" module="m" clusters="{some}"/>'
        for name, some in zip(names, clusters, strict=True)
    )
    inside = "".join(f'<cluster name="c{number}"/>' for number, _ in enumerate(names))
    sites = "".join(f'<site name="{one}">{inside}</site>' for one in ("north", "south"))
    text = f'<deployment>{codes}<grid><mpi ranks="1"/>{sites}</grid></deployment>'
    found = plan(text.encode())
    tree = machine_tree(found.components(), refuse)
    pairs = [str(one).split(" -> ") for one in bindings_of(tree) if "wrapper0.peers" in one.client]
    servers = {client: server for client, server in pairs if client.startswith("/grid/north")}
    assert len(servers) == len(set(servers.values())) == len(names)
    ElementTree.fromstring(machine_document(found, "machine").encode())


def test_controllers_and_interceptors_are_named_in_the_document() -> None:
    root = ElementTree.fromstring(machine_document(plan(CODES), "machine").encode())

    def comments(part: str) -> list[str | None]:
        found = root.find(part) if part else root
        assert found is not None
        return [one.text for one in found.findall("comment")]

    assert comments("") == ["plan-choice: plans.Chain"]
    assert comments("component[@name='north']") == ["interceptor between sites: lens.Count"]
    assert comments("component[@name='south']") == []


def test_a_part_says_how_the_run_is_and_refuses_what_would_change_nothing() -> None:
    states = {"0:1:0": State.STOPPED, "0:1": State.STARTED, "": State.STARTING}
    tree = machine_tree(plan(NAMED).components(), refuse, lambda part: states[part])
    wrapper: Any = tree.find("north/birch/wrapper0")
    birch = tree.find("north/birch")
    assert (tree.state, birch.state, wrapper.state) == ("starting", "started", "stopped")
    with pytest.raises(IllegalLifeCycleError) as caught:
        wrapper.server("routes").stub.come("1:0:0")
    assert str(caught.value) == (
        "'come' is called by the processes of the machine only "
        "[component /grid/north/birch/wrapper0, interface 'routes', state stopped]. Ask the "
        "controllers of the component, such as `monitor`; the ranks of a code are reached with "
        "machine.code(name)"
    )
    with pytest.raises(IllegalLifeCycleError) as caught:
        birch.stop()
    assert str(caught.value) == (
        "'stop' of its lifecycle controller would change nothing in the process of a part of the "
        "machine [component /grid/north/birch, state started]. Machine.stop() ends the run; "
        "machine.code(name).control starts and stops the ranks of a code"
    )


@pytest.mark.parametrize(
    ("part", "rank"), [("site1/cluster0/wrapper1", "1:0:1"), ("site1/cluster0/clustering", "")]
)
def test_the_monitor_of_a_part_asks_the_component_of_its_cluster(part: str, rank: str) -> None:
    sent: list[Invocation] = []

    def send(invocation: Invocation) -> Future[Any]:
        sent.append(invocation)
        future: Future[Any] = Future()
        future.set_result(asdict(Connections(tries=3)))
        return future

    found: Any = machine_tree(plan().components(), send).find(part)
    assert found.controller(RouteMonitor).connections() == Connections(tries=3)
    (asked,) = sent
    assert (asked.component, asked.interface, asked.operation, asked.args) == (
        "/grid/site1/cluster0/clustering", "monitor-controller", "figures", (rank,),
    )  # fmt: skip


def test_the_document_of_a_machine_passes_the_check_and_draws(tmp_path: Path) -> None:
    file = tmp_path / "machine.fractal"
    file.write_text(machine_document(plan(), "machine"))
    assert gcm(["check", str(file)]) == 0
    assert gcm(["draw", str(file), "-o", str(tmp_path / "machine.svg")]) == 0
    assert (tmp_path / "machine.svg").read_text().count("wrapper1") >= 4


def test_the_tree_of_a_machine_exports() -> None:
    assert 'name="wrapper1"' in export(machine_tree(plan().components(), refuse))


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("/grid/clustering", "1:2"),
        ("/grid/site0/clustering", "0:3"),
        ("/grid/site1/cluster0/clustering", "1:0"),
        ("/grid/site1/cluster7/wrapper3", "1:7"),
        ("/grid/site2/clustering", None),
        ("/grid/site0", None),
        ("/gridx/site0/cluster0", None),
        ("/launcher", None),
        ("/ranks/0:0:1", None),
    ],
)
def test_the_host_of_a_component_is_read_off_its_path(path: str, host: str | None) -> None:
    assert host_of(path, leaders=[3, 2], leader=1) == host


def test_paths_say_what_identifiers_mean() -> None:
    assert [part_path(one) for one in ("", "1", "1:0", "1:0:2")] == [
        "/grid",
        "/grid/site1",
        "/grid/site1/cluster0",
        "/grid/site1/cluster0/wrapper2",
    ]
    assert clustering_path("1") == "/grid/site1/clustering"
