"""Assemblies written in Python: the same checks and the same components as from XML."""

from __future__ import annotations

import inspect
from typing import Annotated, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    attribute,
    primitive,
    provides,
    requires,
)
from gcm.adl import Assembly, export
from gcm.errors import AdlError, InstantiationError
from gcm.interfaces.interface import Referenced, ServerEnd
from gcm.interfaces.types import InterfaceType
from gcm.membranes.descriptions import ACTIVE, COMPOSITE, PRIMITIVE
from tests.unit.parts import Echo, Echoes, Relay


@provides("echo", Echo)
class Speaker:
    prefix: Annotated[str, attribute()] = ""
    size: Annotated[int, attribute()] = 1
    words: Annotated[list[str], attribute()]

    def say(self, text: str) -> str:
        return self.prefix + text * self.size


@provides("echo", Echoes)
class Caster:
    all: Annotated[Echoes, requires(cardinality=Cardinality.MULTICAST)]

    def say(self, text: str) -> list[str]:
        return self.all.say(text)


def hello() -> Assembly:
    made = Assembly("hello")
    made.serves("echo", Echo)
    made.primitive("relay", Relay)
    made.primitive("speaker", Speaker, prefix="hello ")
    made.bind("this.echo", "relay.echo")
    made.bind("relay.next", "speaker.echo")
    return made


def test_an_assembly_becomes_components_that_are_bound_and_stopped() -> None:
    root = hello().assemble()
    assert (root.name, root.state) == ("hello", "stopped")
    assert [part.path for part in root.children] == ["/hello/relay", "/hello/speaker"]
    root.start()
    assert root.stub("echo", Echo).say("you") == "hello you"


def test_every_call_of_assemble_makes_new_components() -> None:
    made = hello()
    assert made.assemble() is not made.assemble()


def test_primitives_active_objects_and_composites_have_their_membranes() -> None:
    made = Assembly("root")
    made.primitive("passive", Speaker)
    made.active("active", Speaker)
    made.composite("box").primitive("inside", Speaker)
    root = made.assemble()
    assert root.membrane.description is COMPOSITE
    assert root.find("passive").membrane.description is PRIMITIVE
    assert root.find("active").membrane.description is ACTIVE
    assert root.find("box").membrane.description is COMPOSITE
    assert root.find("box/inside").content.say("x") == "x"


def test_attributes_are_set_with_the_type_that_the_class_declares() -> None:
    made = Assembly("root")
    made.primitive("speaker", Speaker, prefix="a", size=3, words=["x", "y"])
    content = made.assemble().find("speaker").content
    assert (content.prefix, content.size, content.words) == ("a", 3, ["x", "y"])


def test_composites_may_need_interfaces_and_nest() -> None:
    made = Assembly("root")
    made.serves("echo", Echo)
    box = made.composite("box").serves("in", Echo).needs("out", Echo)
    box.primitive("relay", Relay).bind("this.in", "relay.echo").bind("relay.next", "this.out")
    made.primitive("speaker", Speaker)
    made.bind("this.echo", "box.in").bind("box.out", "speaker.echo")
    root = made.assemble()
    root.start()
    assert root.stub("echo", Echo).say("x") == "x"


def test_collective_and_optional_interfaces_are_described_too() -> None:
    made = Assembly("root")
    made.serves("all", Echoes, cardinality=Cardinality.MULTICAST)
    made.needs("log", Echo, optional=True)
    for name in "ab":
        made.primitive(name, Speaker, prefix=name)
        made.bind("this.all", f"{name}.echo")
    root = made.assemble()
    log = root.type.find("log")
    assert log is not None
    assert not log.is_mandatory
    root.start()
    assert root.stub("all", Echoes).say("x") == ["ax", "bx"]


def test_a_shared_component_is_one_component_in_several_places() -> None:
    made = Assembly("root")
    left = made.composite("left")
    left.primitive("cache", Speaker)
    right = made.composite("right")
    right.share("cache", "left/cache")
    right.primitive("relay", Relay)
    right.bind("relay.next", "cache.echo")
    root = made.assemble()
    assert root.find("left/cache") is root.find("right/cache")
    assert len(root.find("left/cache").parents) == 2


def test_every_fault_is_told_with_the_python_line_that_caused_it() -> None:
    made = Assembly("root")
    made.primitive("relay", Relay)
    made.primitive("speaker", Speaker, sise=3)
    made.bind("relay.next", "speker.echo")
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]  # it has one here
    with pytest.raises(AdlError) as caught:
        made.assemble()
    assert caught.value.what == "the assembly 'root' has 2 fault(s)"
    found = {diagnostic.location.line: str(diagnostic) for diagnostic in caught.value.diagnostics}
    assert "did you mean 'size'" in found[line - 1]
    assert "did you mean 'speaker'" in found[line]
    assert all(diagnostic.location.file == __file__ for diagnostic in caught.value.diagnostics)


def test_a_content_that_cannot_be_made_is_told_with_its_line_and_its_path() -> None:
    class Broken:
        def __init__(self) -> None:
            raise KeyError("key")

    made = Assembly("root")
    made.composite("box").primitive("broken", Broken)
    with pytest.raises(InstantiationError) as caught:
        made.assemble()
    line = inspect.getsourcelines(
        test_a_content_that_cannot_be_made_is_told_with_its_line_and_its_path
    )[1]
    assert str(caught.value).startswith(
        f"{__file__}:{line + 6}: the content Broken could not be made: KeyError: 'key' "
        "[component /root/box/broken]. "
    )
    assert "cause" in caught.value.cure
    assert isinstance(caught.value.__cause__, KeyError)


def remote() -> Assembly:
    made = Assembly("root")
    made.primitive("relay", Relay)
    made.bind("relay.next", "pyro:there")
    return made


def test_a_remote_reference_needs_somebody_who_finds_it() -> None:
    with pytest.raises(AdlError) as caught:
        remote().assemble()
    assert "'pyro:there'" in str(caught.value)
    assert caught.value.cure.startswith("Deploy the assembly with gcm-deploy and a descriptor")


def test_a_remote_reference_is_bound_to_what_is_found() -> None:
    there = primitive(Speaker, "there")
    asked: list[str] = []

    def find(reference: str, client: InterfaceType) -> ServerEnd:
        asked.append(f"{reference} as {client.name}")
        return there.server("echo")

    root = remote().assemble(find_remote=find)
    assert asked == ["pyro:there as next"]
    there.start()
    root.start()
    assert root.find("relay").content.say("x") == "x"


class There(Referenced):
    """A server that has the path of one in another process."""

    @property
    def path(self) -> str:
        return "pyro:there"


def test_a_client_of_the_root_itself_is_bound_to_what_is_found() -> None:
    there = primitive(Speaker, "there")
    made = Assembly("root").needs("up", Echo)
    made.primitive("relay", Relay)
    made.bind("relay.next", "this.up").bind("this.up", "pyro:there")
    root = made.assemble(find_remote=lambda _reference, _client: There(there.server("echo")))
    there.start()
    root.start()
    assert root.find("relay").content.say("x") == "x"
    assert '<binding client="this.up" server="pyro:there"/>' in export(root)


def test_components_can_be_made_elsewhere() -> None:
    from gcm.adl.assembling import make_component
    from gcm.adl.plan import ComponentPlan

    made: list[str] = []

    def make(plan: ComponentPlan) -> Component:
        made.append(plan.path)
        return make_component(plan)

    hello().assemble(make=make)
    assert [path.strip("/") for path in made] == ["hello", "hello/relay", "hello/speaker"]


def test_the_plan_counts_its_components() -> None:
    plan = hello().plan()
    assert plan.count == 3
    assert [part.name for part in plan.root.components] == ["relay", "speaker"]


def test_a_virtual_node_is_noted_on_the_component() -> None:
    made = Assembly("root")
    made.primitive("speaker", Speaker, node="fast")
    note = made.assemble().find("speaker").notes.virtual_node
    assert note is not None
    assert (note.name, note.multiple) == ("fast", False)


def test_an_assembly_can_be_written_as_a_document() -> None:
    text = hello().to_xml()
    assert '<component name="relay">' in text
    assert 'client="relay.next"' in text
    assert hello().definition().name == "hello"


class Worded(Protocol):
    def word(self) -> str: ...


@provides("worded", Worded)
class Words:
    first: Annotated[str, attribute()] = ""
    all: Annotated[list[str], attribute()]

    def word(self) -> str:
        return self.first


def test_attributes_are_the_same_from_python_and_from_the_document_it_writes() -> None:
    made = Assembly("root").primitive("words", Words, first="${a}", all=["x,y", "z"])
    assert made.plan().root.components[0].attributes == (
        ("first", "${a}"),
        ("all", ["x,y", "z"]),
    )
    text = made.to_xml()
    assert 'name="first" value="$${a}"' in text
    assert """name="all" value="'x,y', z\"""" in text
