"""Plans and live assemblies become the same scene."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gcm import Component
from gcm.adl import AssemblyPlan, assemble, plan_document, scene_of, scene_of_plan
from gcm.documents import Diagnostics
from gcm.drawing import Box, SceneLink, ScenePort, draw

FILE = Path(__file__).parent / "assemblies" / "Rich.fractal"


@pytest.fixture
def plan() -> AssemblyPlan:
    found = plan_document(FILE, diagnostics=Diagnostics())
    assert found is not None
    return found


@pytest.fixture
def live(plan: AssemblyPlan) -> Component:
    return assemble(plan)


def box(root: Box, path: str) -> Box:
    for name in path.split("/"):
        root = next(child for child in root.children if child.name == name)
    return root


def sorted_links(root: Box) -> list[SceneLink]:
    return sorted(root.links, key=repr)


def test_a_plan_and_what_is_made_of_it_look_the_same(plan: AssemblyPlan, live: Component) -> None:
    planned, made = scene_of_plan(plan).root, scene_of(live).root
    assert draw(scene_of_plan(plan)).startswith("<svg")
    for path in ("main", "left", "left/w1", "left/cache", "w2", "sum", "cache"):
        one, other = box(planned, path), box(made, path)
        assert replace(one, children=(), links=(), membrane=None) == replace(
            other, children=(), links=(), membrane=None
        )
        assert sorted_links(one) == sorted_links(other)
    assert sorted_links(planned) == sorted_links(made)
    assert [child.name for child in planned.children] == [child.name for child in made.children]


def test_a_box_tells_what_is_inside_and_where_it_wants_to_be(
    plan: AssemblyPlan,
) -> None:
    root = scene_of_plan(plan).root
    assert box(root, "main").note == "Main @ front"
    assert box(root, "left/w1").note == "Worker"
    assert root.note == ""


def test_the_kinds_of_components_are_shown(plan: AssemblyPlan) -> None:
    root = scene_of_plan(plan).root
    kinds = {child.name: child.kind for child in root.children}
    assert kinds == {
        "main": "active",
        "left": "composite",
        "w2": "active",
        "sum": "primitive",
        "cache": "primitive",
    }


def test_a_shared_component_is_marked_wherever_it_is(plan: AssemblyPlan, live: Component) -> None:
    for root in (scene_of_plan(plan).root, scene_of(live).root):
        shared = [box(root, path).shared for path in ("cache", "left/cache", "main")]
        assert shared == [True, True, False]


def test_interfaces_become_ports(plan: AssemblyPlan) -> None:
    assert box(scene_of_plan(plan).root, "left/w1").ports == (
        ScenePort("work", "server", interceptors=("watch",)),
        ScenePort("sum", "client"),
        ScenePort("store", "client", optional=True),
    )
    assert box(scene_of_plan(plan).root, "main").ports[1:] == (
        ScenePort("workers", "client", "multicast"),
        ScenePort("spare", "client", "collection"),
    )


def test_a_membrane_has_its_parts_their_bindings_and_the_controllers_they_use(
    plan: AssemblyPlan, live: Component
) -> None:
    for root in (scene_of_plan(plan).root, scene_of(live).root):
        membrane = box(root, "left/w1").membrane
        assert membrane is not None
        assert [part.name for part in membrane.children] == ["watch", "controllers"]
        assert membrane.children[1].ports == (ScenePort("lifecycle-controller", "server"),)
        assert membrane.ports == (ScenePort("stats", "server"),)
        assert sorted_links(membrane) == [
            SceneLink(("this", "stats"), ("watch", "stats")),
            SceneLink(("watch", "target"), ("controllers", "lifecycle-controller")),
        ]
        assert box(root, "main").membrane is None


def test_a_control_interface_that_is_bound_becomes_a_port(tmp_path: Path) -> None:
    (tmp_path / "watching.py").write_text(
        "from __future__ import annotations\n"
        "from typing import Annotated\n"
        "from gcm import requires\n"
        "from gcm.membranes.lifecycle import LifeCycleController\n"
        "class Watcher:\n"
        "    other: Annotated[LifeCycleController, requires()]\n"
        "class Idle:\n"
        "    pass\n"
    )
    (tmp_path / "Watched.fractal").write_text(
        '<definition name="Watched">'
        '<component name="watcher"><content class="watching.Watcher"/></component>'
        '<component name="idle"><content class="watching.Idle"/></component>'
        '<binding client="watcher.other" server="idle.lifecycle-controller"/>'
        "</definition>"
    )
    plan = plan_document(tmp_path / "Watched.fractal", diagnostics=Diagnostics())
    assert plan is not None
    port = ScenePort("lifecycle-controller", "server", control=True)
    link = SceneLink(("watcher", "other"), ("idle", "lifecycle-controller"))
    for root in (scene_of_plan(plan).root, scene_of(assemble(plan)).root):
        assert box(root, "idle").ports == (port,)
        assert root.links == (link,)


def test_a_binding_to_an_interface_of_a_membrane_is_drawn_at_every_home(tmp_path: Path) -> None:
    (tmp_path / "held.py").write_text(
        "from typing import Annotated, Protocol\n"
        "from gcm import provides, requires\n"
        "class Report(Protocol):\n"
        "    def report(self) -> str: ...\n"
        "@provides('report', Report)\n"
        "class Log:\n"
        "    def report(self) -> str: return ''\n"
        "class User:\n"
        "    log: Annotated[Report, requires()]\n"
        "class Held:\n"
        "    pass\n"
    )
    (tmp_path / "Held.fractal").write_text(
        '<definition name="Held"><component name="held"><content class="held.Held"/><controller>'
        '<interface name="log-controller" role="server" signature="held.Report"/>'
        '<interface name="log" role="server" signature="held.Report"/>'
        '<component name="log"><content class="held.Log"/></component>'
        '<binding client="this.log" server="log.report"/>'
        '<binding client="this.log-controller" server="log.report"/></controller></component>'
        '<component name="user"><content class="held.User"/></component>'
        '<binding client="user.log" server="held.log-controller"/>'
        '<component name="box"><component name="held" definition="./held"/>'
        '<component name="user"><content class="held.User"/></component>'
        '<binding client="user.log" server="held.log"/></component></definition>'
    )
    plan = plan_document(tmp_path / "Held.fractal", diagnostics=Diagnostics())
    assert plan is not None
    picture = draw(scene_of_plan(plan))
    assert "<title>/Held/user.log → /Held/held.log-controller</title>" in picture
    assert "<title>/Held/box/user.log → /Held/box/held.log</title>" in picture
