"""The factory: type, controllers and content make a component, or one clear error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Optional, Protocol

import pytest

from gcm import (
    ACTIVE,
    COMPOSITE,
    PRIMITIVE,
    Cardinality,
    ComponentType,
    Composite,
    Future,
    InterfaceType,
    Invocation,
    Primitive,
    Role,
    Wrapper,
    active,
    composite,
    new_component,
    primitive,
    provides,
    requires,
    wrapper,
)
from gcm.components import declared_interfaces
from gcm.errors import GcmError, IllegalTypeError, InstantiationError
from tests.unit.parts import ECHO, Echo, Speaker


class Nowhere:
    def call(self, invocation: Invocation) -> Future[Any]:
        raise AssertionError(invocation)

    def on_start(self) -> None: ...

    def on_stop(self) -> None: ...

    def on_terminate(self) -> None: ...


def test_type_controllers_and_content_make_a_component() -> None:
    made = new_component("a", ECHO, PRIMITIVE, Speaker)
    assert isinstance(made, Primitive)
    assert isinstance(made.content, Speaker)
    assert (made.name, made.path, made.type, made.state) == ("a", "/a", ECHO, "stopped")
    assert made.membrane.description is PRIMITIVE
    assert repr(made) == "<primitive /a>"


def test_without_content_it_is_a_composite() -> None:
    made = new_component("a", ECHO, COMPOSITE)
    assert isinstance(made, Composite)
    assert made.content is None
    assert made.children == ()
    assert repr(made) == "<composite /a>"


def test_the_shortcuts_name_and_type_components_after_their_class() -> None:
    assert primitive(Speaker).name == "speaker"
    assert primitive(Speaker).type == ECHO
    assert active(Speaker).membrane.description is ACTIVE
    assert active(Speaker, "x").name == "x"
    assert composite("c").type == ComponentType()
    assert primitive(lambda: Speaker(), "made", type=ECHO).content.say("x") == "x"  # noqa: PLW0108 - a callable that is no class
    assert isinstance(wrapper("w", ECHO, Nowhere()), Wrapper)


@pytest.mark.parametrize("name", ["", "  ", "a/b", "a.b", "a:b", "this"])
def test_a_bad_name_is_refused(name: str) -> None:
    message = (
        f"'{name}' cannot name a component. "
        "A name is not empty, has no '.', '/' or ':', and is not 'this'"
    )
    makers: list[Callable[[], object]] = [
        lambda: new_component(name, ECHO, PRIMITIVE, Speaker),
        lambda: composite(name),
        lambda: wrapper(name, ECHO, Nowhere()),
    ]
    for make in makers:
        with pytest.raises(InstantiationError) as caught:
            make()
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("controllers", "content", "cure"),
    [
        (
            COMPOSITE,
            Speaker,
            "Only a parametric composite has content, for its attributes: PARAMETRIC_COMPOSITE",
        ),
        (PRIMITIVE, None, "A primitive needs some"),
    ],
)
def test_membrane_and_content_have_to_fit(controllers: Any, content: Any, cure: str) -> None:
    with pytest.raises(InstantiationError) as caught:
        new_component("a", ECHO, controllers, content)
    assert str(caught.value) == (
        f"the membrane '{controllers.name}' and the content do not fit [component a]. {cure}"
    )


def test_a_content_that_cannot_be_made_shows_its_own_exception() -> None:
    class Broken:
        def __init__(self) -> None:
            raise KeyError("key")

    with pytest.raises(InstantiationError) as caught:
        primitive(Broken, "b", type=ComponentType())
    assert "KeyError: 'key' [component b]" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_of_the_model_from_a_content_is_handed_on_as_it_is() -> None:
    refusal = GcmError("no")

    def refuse() -> Any:
        raise refusal

    with pytest.raises(GcmError) as caught:
        primitive(refuse, type=ComponentType())
    assert caught.value is refusal


def test_a_content_that_is_no_class_needs_a_type() -> None:
    def make() -> Speaker:
        return Speaker()

    with pytest.raises(InstantiationError) as caught:
        primitive(make)
    assert str(caught.value).startswith("<function ")
    assert str(caught.value).endswith(
        "is not a class, so its interfaces are not known. Pass type=ComponentType(...)"
    )


def test_every_reason_why_a_content_does_not_implement_its_interfaces_is_told() -> None:
    class More(Protocol):
        def say(self, text: str) -> int: ...
        def more(self) -> None: ...

    class Everybody(Protocol):
        def say(self, text: str) -> list[str]: ...

    declared = ComponentType(
        (
            InterfaceType("more", More),
            InterfaceType("many", Everybody, cardinality=Cardinality.MULTICAST),
        )
    )
    with pytest.raises(InstantiationError) as caught:
        primitive(Speaker, "s", type=declared)
    message = str(caught.value)
    assert message.startswith("the class Speaker does not implement its interfaces: ")
    assert "interface 'more': " in message
    assert "has no operation 'more'" in message
    assert "returns str" in message
    assert (
        "interface 'many': a primitive cannot have a multicast server interface [component s]. "
        "Fix these in the class, or give the component another type"
    ) in message


def test_a_content_without_room_for_its_stub_is_refused() -> None:
    class Tight:
        __slots__ = ()

    declared = ComponentType((InterfaceType("next", Echo, Role.CLIENT),))
    with pytest.raises(InstantiationError) as caught:
        primitive(Tight, "t", type=declared)
    message = str(caught.value)
    assert "Tight has no room for the stub of 'next': " in message
    assert message.endswith(
        "[component t]. Let its objects have an attribute 'next' that can be set"
    )


class Base:
    first: Annotated[Echo, requires()]


class Client(Base):
    second: Annotated[Echo, requires(optional=True, name="other")]
    workers: Annotated[dict[str, Echo], requires(cardinality=Cardinality.COLLECTION, name="worker")]


def test_declarations_of_bases_count_and_names_can_differ_from_attributes() -> None:
    component = primitive(Client)
    assert [(one.name, one.is_mandatory) for one in component.type.interfaces] == [
        ("first", True),
        ("other", False),
        ("worker", True),
    ]
    server = primitive(Speaker)
    component.bind("other", server.server("echo"))
    component.bind("worker1", server.server("echo"))
    assert component.content.second is server.server("echo").stub
    assert component.content.first is None
    assert component.content.workers == {"1": server.server("echo").stub}


class Lonely:
    one: Annotated[Echo | None, requires(optional=True)]
    two: Annotated[Optional[Echo], requires(optional=True)]  # noqa: UP045 - both notations


def test_the_annotation_of_an_optional_client_may_say_that_there_may_be_none() -> None:
    found = [(one.signature, one.is_mandatory) for one in declared_interfaces(Lonely)]
    assert found == [(Echo, False)] * 2


class Unsaid:
    workers: Annotated[Mapping[str, Echo], requires()]


class Sure:
    one: Annotated[Echo | None, requires()]


def test_a_mapping_or_none_is_refused_where_the_declaration_says_otherwise() -> None:
    with pytest.raises(IllegalTypeError, match="'workers' is a mapping, as for a collection") as no:
        declared_interfaces(Unsaid)
    assert no.value.cure == "Write requires(cardinality=Cardinality.COLLECTION)"
    with pytest.raises(IllegalTypeError, match="is not a class"):
        declared_interfaces(Sure)


def test_an_interface_name_becomes_an_attribute_that_python_can_say() -> None:
    declared = ComponentType((InterfaceType("next-one.x", Echo, Role.CLIENT),))

    class Holder:
        next_one_x: Any

    component, server = primitive(Holder, type=declared), primitive(Speaker)
    component.bind("next-one.x", server.server("echo"))
    assert component.content.next_one_x is server.server("echo").stub


def test_a_subclass_may_declare_an_inherited_interface_anew() -> None:
    @provides("echo", Echo, optional=True)
    class Shy(Speaker):
        pass

    (declared,) = primitive(Shy).type.interfaces
    assert not declared.is_mandatory
    assert primitive(Speaker).type.interfaces[0].is_mandatory


def test_one_class_does_not_declare_one_name_twice() -> None:
    @provides("echo", Echo)
    @provides("echo", Echo)
    class Twice:
        def say(self, text: str) -> str:
            return text

    with pytest.raises(IllegalTypeError, match="2 interfaces are named 'echo'"):
        primitive(Twice)


def test_an_annotation_that_names_nothing_is_told() -> None:
    class Lost:
        next: Annotated[Missing, requires()]  # type: ignore[name-defined]  # noqa: F821 - what the test is about

    with pytest.raises(IllegalTypeError) as caught:
        primitive(Lost)
    message = str(caught.value)
    assert "Lost cannot be resolved: name 'Missing' is not defined" in message
    assert message.endswith("TYPE_CHECKING")
