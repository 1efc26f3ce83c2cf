"""A definition that is written and read again is the same definition."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gcm.adl.definitions.grammar import definition_of, read_definition
from gcm.adl.definitions.model import (
    NOWHERE,
    AttributeNode,
    AttributesNode,
    BindingNode,
    Body,
    CommentNode,
    ComponentNode,
    ComposingVirtualNode,
    ContentNode,
    ControllerNode,
    CoordinatesNode,
    Definition,
    ExportedVirtualNode,
    InterfaceNode,
    LoggerNode,
    TemplateControllerNode,
    VirtualNodeNode,
)
from gcm.adl.writing.export import write_definition
from gcm.documents import Diagnostics, Location

CHARACTERS = st.characters(
    codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"
)
TEXT = st.text(CHARACTERS | st.sampled_from("\n\t\r<>&'\""), min_size=1, max_size=8).filter(
    lambda text: bool(text.strip())
)
MAYBE = TEXT | st.just("")
WORDS = st.from_regex(r"[a-z]{1,5}( [a-z]{1,5}){0,2}", fullmatch=True)

INTERFACES = st.builds(InterfaceNode, TEXT, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE)
BINDINGS = st.builds(BindingNode, TEXT, TEXT)
ATTRIBUTES = st.builds(
    AttributesNode, MAYBE, st.lists(st.builds(AttributeNode, TEXT, MAYBE), max_size=2).map(tuple)
)
EXPORTED = st.builds(
    ExportedVirtualNode,
    TEXT,
    st.lists(st.builds(ComposingVirtualNode, TEXT, TEXT), min_size=1, max_size=2).map(tuple),
)
COORDINATES = st.builds(
    CoordinatesNode,
    st.builds(lambda name, x: (("name", name), ("x0", x)), TEXT, TEXT),
    st.lists(st.builds(CoordinatesNode, st.builds(lambda n: (("name", n),), TEXT)), max_size=1).map(
        tuple
    ),
)


def few(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=2).map(tuple)


def bodies(components: st.SearchStrategy[Any]) -> st.SearchStrategy[Body]:
    controllers = st.builds(ControllerNode, MAYBE, few(INTERFACES), components, few(BINDINGS))
    return st.builds(
        Body,
        few(st.builds(CommentNode, WORDS, MAYBE)),
        few(INTERFACES),
        few(EXPORTED),
        components,
        few(BINDINGS),
        st.none() | st.builds(ContentNode, TEXT),
        st.none() | ATTRIBUTES,
        st.none() | controllers,
        st.none() | st.builds(TemplateControllerNode, TEXT),
        st.none() | st.builds(LoggerNode, TEXT),
        st.none() | st.builds(VirtualNodeNode, TEXT, MAYBE),
        few(COORDINATES),
    )


LEAVES = few(st.builds(ComponentNode, TEXT, MAYBE, bodies(st.just(()))))
DEFINITIONS = st.builds(
    Definition,
    TEXT,
    MAYBE,
    MAYBE,
    bodies(few(st.builds(ComponentNode, TEXT, MAYBE, bodies(LEAVES)))),
)


def without_locations(value: Any) -> Any:
    if isinstance(value, Location):
        return NOWHERE
    if isinstance(value, tuple):
        return tuple(without_locations(one) for one in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return type(value)(
            **{one.name: without_locations(getattr(value, one.name)) for one in fields}
        )
    return value


def read(text: str) -> Any:
    found = Diagnostics()
    node = read_definition(text.encode(), diagnostics=found)
    assert [str(one) for one in found] == []
    assert node is not None
    return without_locations(definition_of(node))


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(DEFINITIONS)
def test_any_definition_is_read_as_it_was_written(definition: Definition) -> None:
    assert read(write_definition(definition)) == definition


def test_the_document_is_readable() -> None:
    inside = Body(
        interfaces=(InterfaceNode("run", "server", "a.B"),),
        content=ContentNode("a.C"),
        attributes=AttributesNode("", (AttributeNode("x", ""),)),
    )
    definition = Definition(
        "app",
        "n=1",
        body=Body(
            comments=(CommentNode("a < b"),),
            components=(ComponentNode("c", "", inside), ComponentNode("d", "D")),
            bindings=(BindingNode("this.run", "c.run"),),
        ),
    )
    assert write_definition(definition) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<definition name="app" arguments="n=1">\n'
        "  <comment>a &lt; b</comment>\n"
        '  <component name="c">\n'
        '    <interface name="run" role="server" signature="a.B"/>\n'
        '    <content class="a.C"/>\n'
        "    <attributes>\n"
        '      <attribute name="x" value=""/>\n'
        "    </attributes>\n"
        "  </component>\n"
        '  <component name="d" definition="D"/>\n'
        '  <binding client="this.run" server="c.run"/>\n'
        "</definition>\n"
    )
