"""A live assembly is written as a document that makes the same assembly again."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    PRIMITIVE,
    Cardinality,
    Component,
    ComponentType,
    Composite,
    Controller,
    InterfaceType,
    MembraneDescription,
    attribute,
    composite,
    primitive,
    provides,
    requires,
)
from gcm.adl import Assembly, assemble, describe, export, plan_document
from gcm.adl.plan import AssemblyPlan, BindingPlan
from gcm.documents import Diagnostics, Location
from gcm.errors import AdlError
from gcm.interfaces.collective.gathering import RoundSettings, WhenLeft
from gcm.membranes.collective import GathercastController
from gcm.membranes.content import ContentController
from gcm.membranes.interceptor import InterceptorController, Where
from gcm.membranes.membrane_controller import MembraneController

ASSEMBLIES = Path(__file__).parent / "assemblies"


class Port(Protocol):
    def call(self) -> int: ...


class Pool(Protocol):
    def call(self) -> list[int]: ...


@provides("port", Port)
class Server:
    size: Annotated[int, attribute()] = 1
    anything: Annotated[dict[str, int] | None, attribute()] = None

    def call(self) -> int:
        return self.size


class Client:
    port: Annotated[Port, requires(optional=True)]


class Fan:
    ports: Annotated[Pool, requires(cardinality=Cardinality.MULTICAST)]


class Log:
    def before(self, call: object) -> None: ...

    def after(self, call: object, error: BaseException | None) -> None: ...


class Tally(Controller):
    name = "tally"


TALLIED = MembraneDescription("tallied", (*PRIMITIVE.controllers, Tally))


def planned(file: Path) -> AssemblyPlan:
    diagnostics = Diagnostics()
    plan = plan_document(file, roots=[ASSEMBLIES], diagnostics=diagnostics)
    assert list(diagnostics) == []
    assert plan is not None
    return plan


def rebuilt(component: Component, folder: Path) -> Component:
    """Write an assembly, and make the one that the document describes."""
    file = folder / f"{component.name}.fractal"
    file.write_text(export(component), encoding="utf-8")
    return assemble(planned(file))


def without_places(value: Any) -> Any:
    """Return a plan without locations and the order of bindings between different pairs."""
    if isinstance(value, Location):
        return None
    if isinstance(value, tuple):
        parts = [without_places(part) for part in value]
        is_bindings = bool(value) and isinstance(value[0], BindingPlan)
        return sorted(parts, key=repr) if is_bindings else parts
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: without_places(getattr(value, one.name)) for one in fields(value)}
    return value


def ended(*components: Component) -> None:
    for component in components:
        component.terminate()


def test_the_plan_of_the_export_is_that_of_the_original(tmp_path: Path) -> None:
    original = planned(ASSEMBLIES / "Rich.fractal")
    made = assemble(original)
    (tmp_path / "Rich.fractal").write_text(export(made), encoding="utf-8")
    again = planned(tmp_path / "Rich.fractal")
    assert without_places(again) == without_places(original)
    ended(made)


def test_the_export_of_the_export_is_the_same_text(tmp_path: Path) -> None:
    made = assemble(planned(ASSEMBLIES / "Rich.fractal"))
    again = rebuilt(made, tmp_path)
    assert export(again) == export(made)
    ended(made, again)


def test_the_order_of_gathercast_clients_and_multicast_servers_is_kept(tmp_path: Path) -> None:
    made = assemble(planned(ASSEMBLIES / "Rich.fractal"))
    again = rebuilt(made, tmp_path)
    clients = [client.path for client in again.find("sum").server("add").clients]
    servers = [server.path for server in again.find("main").client("workers").servers]
    assert clients == ["/Rich/left.sum", "/Rich/w2.sum"]
    how = again.find("sum").controller(GathercastController).settings("add")
    assert how == RoundSettings(timeout=90.0, when_left=WhenLeft.REPLACE)
    assert servers == ["/Rich/w2.work", "/Rich/left.work"]
    ended(made, again)


def test_a_shared_component_is_one_component_again(tmp_path: Path) -> None:
    made = assemble(planned(ASSEMBLIES / "Rich.fractal"))
    again = rebuilt(made, tmp_path)
    assert again.find("cache") is again.find("left/cache")
    assert '<component name="cache" definition="./left/cache"/>' in export(made)
    ended(made, again)


def test_the_membrane_is_filled_again(tmp_path: Path) -> None:
    made = assemble(planned(ASSEMBLIES / "Rich.fractal"))
    again = rebuilt(made, tmp_path)
    stats: Any = again.find("left/w1").server("stats").stub
    assert stats.work(3) == -3  # it sees the life-cycle of its own host, which is stopped
    ended(made, again)


def test_only_attributes_that_differ_from_the_default_are_written(tmp_path: Path) -> None:
    server = primitive(Server, "server")
    assert describe(server).body.attributes is None
    server.content.size = 7
    text = export(server)
    assert '<attribute name="size" value="7"/>' in text
    assert "anything" not in text
    assert rebuilt(server, tmp_path).content.size == 7


def test_everything_without_words_is_listed_at_once() -> None:
    class Local:
        pass

    outer = composite("outer")
    content = outer.controller(ContentController)
    content.add(primitive(Local, "local"))
    content.add(primitive(Server, "odd"))
    outer.find("odd").content.anything = {"a": 1}
    tallied = outer.find("odd")
    tallied.membrane.add(Tally(tallied))
    with pytest.raises(AdlError) as raised:
        export(outer)
    message = str(raised.value)
    assert message.startswith("/outer cannot be written as a document: ")
    assert "/outer/local: the class " in message
    assert "Local cannot be found by name in the module" in message
    assert "/outer/odd: attribute 'anything': " in message
    assert (
        "/outer/odd: its membrane was given the controller 'tally' later; "
        "make a MembraneDescription of it" in message
    )


def test_a_controller_that_was_taken_out_is_told() -> None:
    server = primitive(Server, "server")
    server.membrane.remove("monitor")
    with pytest.raises(AdlError, match="its membrane lost the controller 'monitor' later"):
        export(server)


def test_a_membrane_of_ones_own_is_named_by_its_module() -> None:
    controller = describe(primitive(Server, "server", controllers=TALLIED)).body.controller
    assert controller is not None
    assert controller.desc == f"{__name__}:TALLIED"


def test_a_membrane_without_a_name_is_told() -> None:
    nameless = PRIMITIVE.including(Tally, name="nameless")
    with pytest.raises(AdlError, match="the membrane 'nameless' has no name in any module"):
        export(primitive(Server, "server", controllers=nameless))


def test_a_binding_out_of_the_assembly_is_told_but_not_that_of_the_root_itself() -> None:
    inner, outside = primitive(Client, "inner"), primitive(Server, "outside")
    inner.bind("port", outside.server("port"))
    assert describe(inner).body.bindings == ()
    around = composite("around")
    around.controller(ContentController).add(inner)
    with pytest.raises(
        AdlError, match=r"/around/inner: 'port' is bound to /outside\.port, out of reach"
    ):
        describe(around)


def test_an_interceptor_on_a_group_is_written_at_each_of_its_interfaces() -> None:
    server = primitive(Server, "server")
    server.controller(InterceptorController).add(Log(), Where.SERVERS)
    (interface,) = describe(server).body.interfaces
    assert interface.interceptors == f"{__name__}:Log"


def test_what_a_membrane_offers_has_no_interceptors_of_the_content(tmp_path: Path) -> None:
    host = primitive(Server, "host")
    holder = host.controller(MembraneController)
    holder.add(primitive(Server, "watch"))
    holder.export("watched", "watch.port")
    host.controller(InterceptorController).add(Log())
    controller = describe(host).body.controller
    assert controller is not None
    assert [(one.name, one.interceptors) for one in controller.interfaces] == [("watched", "")]
    again = rebuilt(host, tmp_path)
    assert export(again) == export(host)
    ended(again)


def test_an_empty_composite_says_that_it_is_one() -> None:
    controller = describe(composite("empty")).body.controller
    assert controller is not None
    assert controller.desc == "composite"


def test_a_part_of_an_assembly_can_be_exported_alone() -> None:
    made = assemble(planned(ASSEMBLIES / "Rich.fractal"))
    text = export(made.find("left"))
    assert text.splitlines()[1] == '<definition name="left">'
    assert '<component name="cache">' in text
    ended(made)


def test_a_component_shared_within_a_membrane_is_told() -> None:
    part, other, host = composite("part"), composite("other"), primitive(Server, "host")
    left, right = composite("left"), composite("right")
    cache = primitive(Server, "cache")
    for above, below in ((part, left), (part, right), (left, cache), (right, cache)):
        above.controller(ContentController).add(below)
    host.controller(MembraneController).add(part)
    ended(other)
    with pytest.raises(AdlError, match="a component inside a membrane cannot be shared"):
        export(host)


def test_contingency_and_cardinality_are_written_where_they_are_unusual_or_overridden() -> None:
    declared = [
        (one.name, one.contingency, one.cardinality)
        for made in (primitive(Client, "client"), primitive(Fan, "fan"), primitive(Server, "s"))
        for one in describe(made).body.interfaces
    ]
    assert declared == [("port", "optional", ""), ("ports", "", "multicast"), ("port", "", "")]
    mandatory = primitive(
        Client, "client", type=ComponentType((InterfaceType("port", Port, role_of_client()),))
    )
    assert describe(mandatory).body.interfaces[0].contingency == "mandatory"


def role_of_client() -> Any:
    return primitive(Client).type.interfaces[0].role


def test_an_assembly_written_in_python_is_exported_like_any_other() -> None:
    hello = Assembly("hello").serves("port", Port)
    hello.primitive("server", Server, node="here", size=3)
    hello.bind("this.port", "server.port")
    made = hello.assemble()
    assert isinstance(made, Composite)
    assert export(made) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<definition name="hello">\n'
        f'  <interface name="port" role="server" signature="{__name__}:Port"/>\n'
        '  <component name="server">\n'
        f'    <interface name="port" role="server" signature="{__name__}:Port"/>\n'
        f'    <content class="{__name__}:Server"/>\n'
        "    <attributes>\n"
        '      <attribute name="size" value="3"/>\n'
        "    </attributes>\n"
        '    <virtual-node name="here"/>\n'
        "  </component>\n"
        '  <binding client="this.port" server="server.port"/>\n'
        "</definition>\n"
    )
