"""The machine as an assembly: its paths and bindings, and that its document is a good one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gcm.adl.writing.describe import export
from gcm.cli import main as gcm
from gcm.documents import Diagnostics
from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.deployment import DeploymentPlan, Surroundings, make_plan, read_descriptor
from runtime.engine.hierarchy import Clustering, clustering_path, host_of, part_path
from runtime.engine.outcome import Connections
from runtime.engine.route_monitor import RouteMonitor
from runtime.engine.tree import machine_document, machine_tree

EMULATED = (
    b'<deployment><application module="m"/><emulate sites="2" clusters="2" ranks="2"/></deployment>'
)


def plan() -> DeploymentPlan:
    found = Diagnostics()
    deployment = read_descriptor(EMULATED, surroundings=Surroundings("/"), diagnostics=found)
    assert deployment is not None, [str(one) for one in found]
    return make_plan(deployment)


def refuse(invocation: Invocation) -> Future[Any]:
    raise AssertionError(invocation)


def test_every_part_is_found_under_its_path_and_bound_to_the_one_above() -> None:
    tree = machine_tree(plan().components(), refuse)
    found = tree.find("site1/cluster0/wrapper1")
    assert found.path == "/grid/site1/cluster0/wrapper1"
    assert [str(one) for one in found.client("up").servers] == [
        "/grid/site1/cluster0/clustering.srv"
    ]
    down = tree.find("site1/clustering").client("down").servers
    assert [str(one) for one in down] == ["/grid/site1/cluster0.srv", "/grid/site1/cluster1.srv"]


def test_a_call_goes_to_where_the_component_lives() -> None:
    sent: list[Invocation] = []

    def send(invocation: Invocation) -> Future[Any]:
        sent.append(invocation)
        future: Future[Any] = Future()
        future.set_result("everybody")
        return future

    wrapper: Any = machine_tree(plan().components(), send).find("site0/cluster1/wrapper0")
    wrapper.start()
    assert wrapper.server("srv").stub.ready("report") == "everybody"
    assert (sent[0].component, sent[0].args) == ("/grid/site0/cluster1/wrapper0", ("report",))


@pytest.mark.parametrize("part", ["site1/cluster0/wrapper1", "site1/cluster0/clustering"])
def test_the_monitor_of_a_part_asks_where_it_lives(part: str) -> None:
    sent: list[Invocation] = []

    def send(invocation: Invocation) -> Future[Any]:
        sent.append(invocation)
        future: Future[Any] = Future()
        future.set_result(Connections(tries=3))
        return future

    found: Any = machine_tree(plan().components(), send).find(part)
    assert found.controller(RouteMonitor).connections() == Connections(tries=3)
    (asked,) = sent
    assert (asked.component, asked.interface, asked.operation) == (
        f"/grid/{part}", "monitor-controller", "connections",
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


def test_a_clustering_component_without_a_parent_answers_everybody_with_everything() -> None:
    gathered: list[str] = []
    top = Clustering(lambda: gathered.append("grid"), Connections)
    assert top.ready([["a", "b"], ["c"]]) == [["a", "b", "c"], ["a", "b", "c"]]
    assert gathered == ["grid"]
