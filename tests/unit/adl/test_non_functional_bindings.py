"""Non-functional bindings: in a membrane, through it, and between sub-components."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gcm import Component, Composite, InterfaceType, MembraneController, Role, composite, primitive
from gcm.adl import assemble, export, plan_document, scene_of, scene_of_plan
from gcm.documents import Diagnostics
from gcm.drawing import draw
from gcm.errors import (
    IllegalBindingError,
    IllegalLifeCycleError,
    NoSuchComponentError,
    NoSuchInterfaceError,
)

from .conftest import Check

FILES = Path(__file__).parents[2] / "fractal" / "files" / "membranes"


def assembled(file: Path) -> Component:
    found = Diagnostics()
    plan = plan_document(file, diagnostics=found)
    assert plan is not None, [str(one) for one in found]
    return assemble(plan)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Component:
    monkeypatch.syspath_prepend(str(FILES))
    return assembled(FILES / "NonFunctional.fractal")


def pages(component: Component, interface: str) -> list[str]:
    stub: Any = component.server(interface).stub
    found: list[str] = stub.pages()
    return found


def test_a_call_goes_into_the_content_back_and_beside(root: Component) -> None:
    assert pages(root, "all-reports") == ["Relay", "Leaf", "Relay"]
    assert pages(root.find("speaker"), "report") == ["Relay"]


def test_non_functional_interfaces_work_while_the_component_is_stopped(root: Component) -> None:
    assert root.state == "stopped"
    root.start()
    root.stop()
    assert len(pages(root, "all-reports")) == 3


def test_interfaces_of_the_membrane_are_interfaces_of_the_component(root: Component) -> None:
    front = root.find("front")
    assert {"report", "beside"} <= set(front.interfaces)
    assert {"upwards", "content-report"}.isdisjoint(front.interfaces)
    assert front.client("beside").path == "/NonFunctional/front.beside"
    (bound,) = front.client("beside").servers
    assert bound is root.find("speaker").server("report")


def test_a_live_membrane_is_written_and_read_again(root: Component, tmp_path: Path) -> None:
    text = export(root)
    file = tmp_path / "NonFunctional.fractal"
    file.write_text(text)
    again = assembled(file)
    assert export(again) == text
    assert pages(again, "all-reports") == pages(root, "all-reports")


def test_a_binding_of_the_content_to_a_membrane_is_written_and_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(FILES))
    made = assembled(FILES / "Reported.fractal")
    file = tmp_path / "Reported.fractal"
    file.write_text(export(made))
    assert '<binding client="reader.ref" server="speaker.report"/>' in file.read_text()
    assert export(assembled(file)) == file.read_text()
    plan = plan_document(FILES / "Reported.fractal", diagnostics=Diagnostics())
    assert plan is not None
    assert set(scene_of(made).root.links) == set(scene_of_plan(plan).root.links)
    assert "reader.ref" in draw(scene_of(made))


IN_MEMBRANE = """
<definition name="app">
  <interface name="greeter" role="server" signature="lib.Greeter"/>
  <component name="sub">
    <content class="lib.Server"/>
    <controller>
      <interface name="own" role="server" signature="lib.Greeter"/>
      <interface name="wants" role="client" signature="lib.Greeter"/>
      <component name="part"><content class="lib.Server"/></component>
      <binding client="this.own" server="part.greeter"/>
    </controller>
  </component>
  <binding client="this.greeter" server="sub.greeter"/>
  <controller>
    <interface name="into" role="internal-client" signature="lib.Greeter"/>
    <interface name="back" role="internal-server" signature="lib.Greeter"/>
    <component name="user"><content class="lib.Client"/></component>
    {}
  </controller>
</definition>"""
RIGHT = '<binding client="user.greeter" server="this.into"/>'


@pytest.mark.parametrize(
    ("bindings", "expected"),
    [
        (RIGHT, []),
        (
            '<binding client="user.greeter" server="sub.own"/>',
            [
                "across-membrane: 'user.greeter' and 'sub.own' are on different sides of the "
                "membrane. bind both to an interface of the membrane with the role internal-client"
            ],
        ),
        (
            RIGHT + '<binding client="sub.wants" server="this.into"/>',
            [
                "across-membrane: 'sub.wants' and 'this.into' are on different sides of the "
                "membrane. bind both to an interface of the membrane with the role internal-server"
            ],
        ),
        (
            RIGHT + '<binding client="this.into" server="sub.greeter"/>',
            [
                "unknown-interface: component 'sub' has no non-functional interface 'greeter' to "
                "be the server end. it is a functional one: bind it in the composite, outside of "
                "<controller>"
            ],
        ),
        (
            RIGHT + '<binding client="this.into" server="sub.owm"/>',
            [
                "unknown-interface: component 'sub' has no non-functional interface 'owm' to be "
                "the server end. did you mean 'own'?"
            ],
        ),
        (
            RIGHT + '<binding client="sub.own" server="this.back"/>',
            [
                "wrong-role: 'sub.own' is a server interface, not a client. exchange the two "
                "ends, or name another interface"
            ],
        ),
        (
            RIGHT + '<binding client="sbu.wants" server="this.back"/>',
            [
                "unknown-component: the client end 'sbu.wants' names no component 'sbu'. did you "
                "mean 'sub'?"
            ],
        ),
        (
            RIGHT + '<binding client="sub.wants" server="this.lifecycle-controller"/>',
            [
                "incompatible-binding: 'sub.wants' cannot be bound to 'this.lifecycle-controller': "
                "LifeCycleController has no operation 'greet'. make the server's signature the "
                "client's, or a subtype of it"
            ],
        ),
        (
            RIGHT
            + '<binding client="this.into" server="sub.own"/>'
            + '<binding client="this.into" server="sub.own"/>',
            [
                "duplicate-binding: 'this.into' is bound twice. the first binding is in "
                "app.fractal:17; remove one"
            ],
        ),
    ],
)
def test_a_binding_in_a_membrane_follows_its_rules(
    check: Check, tmp_path: Path, bindings: str, expected: list[str]
) -> None:
    done = check(IN_MEMBRANE.format(bindings))
    told = [f"{one.code}: {one.message}. {one.hint}" for one in done.found]
    assert [one.replace(f"{tmp_path}/", "") for one in told] == expected


def test_bindings_that_only_go_round_in_a_circle_are_told(check: Check) -> None:
    found = check("""
        <definition name="app">
          <component name="sub">
            <content class="lib.Server"/>
            <controller>
              <interface name="in" role="server" signature="lib.Greeter"/>
              <interface name="out" role="client" signature="lib.Greeter"/>
              <binding client="this.in" server="this.out"/>
            </controller>
          </component>
          <controller>
            <interface name="into" role="internal-client" signature="lib.Greeter"/>
            <interface name="back" role="internal-server" signature="lib.Greeter"/>
            <binding client="this.into" server="sub.in"/>
            <binding client="sub.out" server="this.back"/>
            <binding client="this.back" server="this.into"/>
          </controller>
        </definition>""").only
    assert found.code == "binding-circle"
    for step in ("/app.into", "/app/sub.in", "/app/sub.out", "/app.back"):
        assert f"{step} → " in f"{found.message} → "


def test_components_in_a_membrane_may_be_bound_in_a_circle(tmp_path: Path) -> None:
    sys.path.insert(0, str(FILES))
    try:
        (tmp_path / "app.fractal").write_text("""
            <definition name="app">
              <content class="membrane_parts.Speaker"/>
              <controller>
                <component name="a"><content class="membrane_parts.Leaf"/></component>
                <component name="b"><content class="membrane_parts.Leaf"/></component>
                <binding client="a.ref" server="b.service"/>
                <binding client="b.ref" server="a.service"/>
              </controller>
            </definition>""")
        root = assembled(tmp_path / "app.fractal")
    finally:
        sys.path.remove(str(FILES))
    parts = root.controller(MembraneController)
    assert [parts.part(name).state for name in parts.names()] == ["started", "started"]


# ------------------------------------------------------------------------------------ in Python


def test_the_same_is_built_in_python(root: Component) -> None:
    library: Any = sys.modules["membrane_parts"]
    box, inner = composite("box"), primitive(library.Asker, "inner")
    assert isinstance(box, Composite)
    box.server("content-controller").stub.add(inner)  # type: ignore[attr-defined]
    for component, part in ((box, library.Relay), (inner, library.Leaf)):
        component.controller(MembraneController).add(primitive(part, "part"))
    around, within = (one.controller(MembraneController) for one in (box, inner))
    within.export("report", "part.service")
    around.declare(InterfaceType("into", library.Report, Role.INTERNAL_CLIENT))
    around.export("report", "part.service")
    around.bind("part.ref", "this.into")
    assert box.find("inner") is inner
    around.start()
    with pytest.raises(IllegalBindingError, match="nothing is bound to the interface"):
        pages(box, "report")
    with pytest.raises(IllegalLifeCycleError, match="bindings change only while"):
        around.bind("this.into", "inner.report")
    around.stop()
    around.bind("this.into", "inner.report")
    within.start()
    around.start()
    assert pages(box, "report") == ["Relay", "Leaf"]
    box.terminate()
    assert around.part("part").state == "terminated"


def test_what_the_membrane_does_not_have_is_told(root: Component) -> None:
    holder = root.controller(MembraneController)
    with pytest.raises(NoSuchInterfaceError, match="no internal client interface 'nowhere'"):
        holder.bind("this.nowhere", "front.report")
    with pytest.raises(NoSuchComponentError, match="no component 'nobody'"):
        holder.bind("this.front-report", "nobody.report")
