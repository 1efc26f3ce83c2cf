"""Components that change, and what classes and members promise about them."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    PRIMITIVE,
    Cardinality,
    ComponentType,
    Controller,
    InterfaceType,
    Role,
    active,
    attribute,
    composite,
    immediate,
    primitive,
    provides,
    requires,
    wrapper,
)
from gcm.components import Notes, VirtualNodeNote
from gcm.components.declarations import declared_attributes
from gcm.components.model import is_component_name
from gcm.errors import (
    IllegalBindingError,
    IllegalTypeError,
    InstantiationError,
    NoSuchInterfaceError,
)
from gcm.membranes.content import ContentController
from gcm.membranes.introspection import NameController
from gcm.membranes.membrane_controller import MembraneController
from tests.unit.parts import Echo, within


class LoudEcho(Echo, Protocol):
    def shout(self, text: str) -> str: ...


class Other(Protocol):
    def say(self, text: str) -> str: ...


@provides("echo", Echo)
class Speaker:
    next: Annotated[Echo, requires(optional=True)]
    crowd: Annotated[Echo, requires(optional=True, cardinality=Cardinality.COLLECTION)]
    mark = ""

    def say(self, text: str) -> str:
        return f"{self.mark}{text}"

    @immediate
    def listen(self) -> str:
        return "yes"


class First(Speaker):
    mark = "1"


class Second(Speaker):
    mark = "2"


@provides("echo", LoudEcho)
class Loud(Speaker):
    def shout(self, text: str) -> str:
        return text.upper()


def test_parts_come_and_go_in_order() -> None:
    a, b, c = parts = [primitive(Speaker, name) for name in "abc"]
    box = within("box", *parts)
    box.controller(ContentController).remove(b)
    assert (box.children, b.parents, box.child("b")) == ((a, c), (), None)
    a.controller(NameController).set("z")
    assert (box.children, box.child("z"), box.child("c"), box.child("a")) == ((a, c), a, c, None)


def test_a_running_part_follows_the_bindings_of_the_stopped_composite_around_it() -> None:
    first, second, part = primitive(First), primitive(Second), primitive(Speaker)
    box = within("box", part, type=ComponentType((InterfaceType("out", Echo, Role.CLIENT),)))
    part.bind("next", box.inner_server("out"))
    for one in (first, second, part):
        one.start()
    box.bind("out", first.server("echo"))
    assert part.content.next.say("x") == "1x"
    box.unbind("out")
    box.bind("out", second.server("echo"))
    assert part.content.next.say("x") == "2x"


def test_an_internal_interface_is_served_by_the_membrane_or_refused() -> None:
    part = primitive(Speaker)
    box = within(
        "box", part, type=ComponentType((InterfaceType("help", Echo, Role.INTERNAL_SERVER),))
    )
    part.bind("next", box.inner_server("help"))
    part.start()
    with pytest.raises(
        IllegalBindingError, match="nothing in the membrane serves the interface"
    ) as caught:
        part.content.next.say("x")
    assert "controller(MembraneController).export(" in caught.value.cure
    membrane = box.controller(MembraneController)
    membrane.add(primitive(First, "helper"))
    membrane.export("help", "helper.echo")
    membrane.start()
    assert part.content.next.say("x") == "1x"


class Whisper(Controller):
    """Says that a call came in through it."""

    name = "whisper"

    def wrap(self, interface: Any, operation: str, proceed: Any) -> Any:
        if interface.type.is_client:
            return proceed
        return lambda text: f"({proceed(text)})"


def test_an_internal_interface_is_composed_anew_when_the_membrane_changes() -> None:
    inside = ComponentType((InterfaceType("help", Echo, Role.INTERNAL_SERVER),))
    part = primitive(Speaker)
    box = within("box", part, type=inside)
    part.bind("next", box.inner_server("help"))
    part.start()
    membrane = box.controller(MembraneController)
    membrane.add(primitive(First, "helper"))
    membrane.export("help", "helper.echo")
    membrane.start()
    assert part.content.next.say("x") == "1x"
    box.membrane.add(Whisper(box))
    assert part.content.next.say("x") == "(1x)"
    box.membrane.remove("whisper")
    assert part.content.next.say("x") == "1x"


def test_the_outer_face_of_a_composite_is_composed_anew_when_the_membrane_changes() -> None:
    part = primitive(First)
    box = within("box", part, type=ComponentType((InterfaceType("echo", Echo),)))
    box.inner_client("echo").bind(part.server("echo"))
    box.start()
    stub = box.stub("echo", Echo)
    box.membrane.add(Whisper(box))
    assert stub.say("x") == "(1x)"


def test_the_inner_face_of_a_member_is_made_once() -> None:
    many = InterfaceType("many", Echo, cardinality=Cardinality.COLLECTION)
    box = composite("box", ComponentType((many,)))
    assert box.inner("many1") is box.inner("many1") is not box.inner("many2")
    outer = box.interface("many3")
    assert box.interfaces["many3"] is outer


def test_an_internal_interface_has_an_inner_face_only() -> None:
    single = InterfaceType("help", Echo, Role.INTERNAL_SERVER)
    many = InterfaceType("aid", Echo, Role.INTERNAL_SERVER, cardinality=Cardinality.COLLECTION)
    box = composite("box", ComponentType((single, many)))
    assert box.interface("help") is box.inner("help")
    member = box.interface("aid1")
    assert box.inner("aid1") is member
    assert not {"help", "aid1"} & set(box.interfaces)


def test_members_of_a_collection_appear_in_the_content_and_disappear() -> None:
    caller, server = primitive(Speaker, "caller"), primitive(First)
    server.start()
    assert caller.content.crowd == {}
    caller.bind("crowdA", server.server("echo"))
    caller.bind("crowdB", server.server("echo"))
    assert list(caller.content.crowd) == ["A", "B"]
    assert caller.content.crowd["A"].say("x") == "1x"
    caller.unbind("crowdA")
    assert list(caller.content.crowd) == ["B"]


def test_what_the_content_declares_immediate_is_told() -> None:
    component = primitive(Speaker)
    assert component.serves_at_once("listen") is True
    assert component.serves_at_once("say") is False
    assert composite("box").serves_at_once("say") is False
    assert Speaker().listen() == "yes"
    with pytest.raises(IllegalTypeError, match="^@immediate marks an operation"):
        immediate(5)  # type: ignore[type-var]  # what the test is about


def test_a_stub_is_typed_by_the_signature_or_a_base_of_it() -> None:
    component = primitive(Loud)
    component.start()
    assert component.stub("echo", LoudEcho).shout("x") == "X"
    assert component.stub("echo", Echo).say("x") == "x"
    with pytest.raises(IllegalTypeError) as caught:
        component.stub("echo", Other)
    assert str(caught.value) == (
        "the signature is LoudEcho, not Other [component /loud, interface 'echo']. "
        "Ask for LoudEcho, or name another interface"
    )


def test_a_control_interface_is_named_after_its_controller() -> None:
    component = primitive(Speaker)
    control = component.interface("lifecycle-controller")
    assert (control.name, control.owner) == ("lifecycle-controller", component)
    with pytest.raises(NoSuchInterfaceError, match="there is no interface 'lifecycle'"):
        component.interface("lifecycle")


def test_an_attribute_is_declared_with_its_type() -> None:
    class Sized:
        size: Annotated[int, attribute()] = 5
        other: int = 6

    assert declared_attributes(Sized) == {"size": int}


def test_an_active_object_is_named_after_its_class() -> None:
    made = active(Speaker)
    assert made.name == "speaker"
    made.terminate()


def test_every_interface_that_a_content_does_not_implement_is_told() -> None:
    class Mute:
        def say(self) -> str:
            return ""

    kind = ComponentType((InterfaceType("a", LoudEcho),))
    with pytest.raises(InstantiationError) as caught:
        primitive(Mute, "mute", type=kind)
    assert caught.value.what.count("; ") == 1
    assert caught.value.what.count("interface 'a': ") == 2
    assert "; interface 'a': " in caught.value.what


class Witness(Controller):
    """Notes when its component is complete."""

    name = "witness"
    seen: list[str]

    def attached(self) -> None:
        self.seen = [self.component.path]


class Nowhere:
    def call(self, invocation: Any) -> Any:
        raise AssertionError(invocation)

    def on_start(self) -> None: ...

    def on_stop(self) -> None: ...

    def on_terminate(self) -> None: ...


def test_controllers_are_told_when_their_component_is_complete() -> None:
    description = PRIMITIVE.including(Witness)
    made = primitive(Speaker, controllers=description)
    assert made.controller(Witness).seen == ["/speaker"]
    around = wrapper("w", ComponentType(), Nowhere(), controllers=description)
    assert around.controller(Witness).seen == ["/w"]


def test_a_document_says_nothing_of_a_component_made_in_python() -> None:
    component = primitive(Speaker)
    assert component.notes == Notes("", None, ())
    assert VirtualNodeNote("cluster") == VirtualNodeNote("cluster", multiple=False)


@pytest.mark.parametrize(("name", "fits"), [("a~b", True), ("a b", True), ("a.b", False)])
def test_a_name_may_hold_all_but_the_marks_of_paths(name: str, fits: bool) -> None:
    assert is_component_name(name) is fits


def test_what_the_membrane_exports_is_an_interface_of_the_component() -> None:
    component = primitive(Speaker)
    membrane = component.controller(MembraneController)
    membrane.add(primitive(First, "helper"))
    membrane.export("help", "helper.echo")
    membrane.start()
    assert component.stub("help", Echo).say("x") == "1x"


def test_a_shared_part_is_named_by_its_first_composite() -> None:
    part = primitive(Speaker)
    within("one", part)
    within("two", part)
    assert part.path == "/one/speaker"
