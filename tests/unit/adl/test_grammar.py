"""Documents are held against the grammar; what is only misspelled is still understood."""

from __future__ import annotations

import pytest

from gcm.adl.definitions.grammar import GRAMMAR, definition_of, read_definition
from gcm.adl.definitions.model import Body, CommentNode, Definition
from gcm.documents import Diagnostics, Location


def parse(text: str) -> tuple[Definition | None, list[tuple[str, str, str]]]:
    found = Diagnostics()
    node = read_definition(text.encode(), name="a", diagnostics=found)
    definition = definition_of(node) if node else None
    return definition, [(one.code, one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    ("inside", "code", "message", "hint"),
    [
        ("<wheel/>", "unknown-element", "<wheel> cannot stand in <definition>", "<definition> may"),
        (
            '<componant name="a"/>',
            "unknown-element",
            "<componant> cannot stand in <definition>",
            "did you mean 'component'?",
        ),
        (
            '<attribute name="a" value="b"/>',
            "unexpected-element",
            "<attribute> cannot stand in <definition>",
            "did you mean 'attributes'?",
        ),
        (
            '<binding client="a.b"/>',
            "missing-xml-attribute",
            "<binding> lacks attribute 'server'",
            'write <binding server="...">',
        ),
        (
            '<binding client="" server="a.b"/>',
            "missing-xml-attribute",
            "<binding> has an empty attribute 'client'",
            'write <binding client="...">',
        ),
        (
            '<content clas="a.B"/>',
            "unknown-xml-attribute",
            "<content> has no attribute 'clas'",
            "did you mean 'class'?",
        ),
        (
            '<logger name="a" zzz="b"/>',
            "unknown-xml-attribute",
            "<logger> has no attribute 'zzz'",
            "it may have: name",
        ),
        (
            '<content class="a.B"/><content class="a.C"/>',
            "repeated-element",
            "<definition> holds 2 <content>, one is allowed",
            "the first one is in line 1",
        ),
        (
            '<exportedVirtualNodes><exportedVirtualNode name="a"/></exportedVirtualNodes>',
            "missing-element",
            "<exportedVirtualNode> lacks <composedFrom>",
            "add <composedFrom> inside it",
        ),
        (
            '<exportedVirtualNodes><exportedVirtualNode name="a"><composedFrom/>'
            "</exportedVirtualNode></exportedVirtualNodes>",
            "missing-element",
            "<composedFrom> lacks <composingVirtualNode>",
            "add <composingVirtualNode> inside it",
        ),
        (
            '<component name="a">stray text that goes on and on and on and on</component>',
            "unexpected-text",
            "<component> holds the text 'stray text that goes on and on and on...'",
            "only elements ",
        ),
    ],
)
def test_each_breach_of_the_grammar_is_told_once(
    inside: str, code: str, message: str, hint: str
) -> None:
    _, found = parse(f'<definition name="a">{inside}</definition>')
    assert [(one[0], one[1]) for one in found] == [(code, message)]
    assert found[0][2].startswith(hint)


def test_the_root_is_a_definition() -> None:
    assert parse('<component name="a"/>') == (
        None,
        [
            (
                "unexpected-element",
                "the document is a <component>, not a <definition>",
                'an ADL document begins with <definition name="...">',
            )
        ],
    )


def test_misspelled_elements_and_attributes_are_understood() -> None:
    definition, found = parse(
        '<definition name="a"><componnt nam="b"/><bindng client="a.b" servr="c.d"/></definition>'
    )
    assert len(found) == 4
    assert definition is not None
    assert [one.name for one in definition.body.components] == ["b"]
    assert [(one.client, one.server) for one in definition.body.bindings] == [("a.b", "c.d")]


def test_elements_without_a_required_attribute_are_left_out() -> None:
    definition, found = parse('<definition name="a"><component/><content/></definition>')
    assert [code for code, _, _ in found] == ["missing-xml-attribute"] * 2
    assert definition is not None
    assert definition.body == Body()


def test_a_definition_without_a_name_is_none() -> None:
    assert parse("<definition/>")[0] is None


def test_empty_values_and_comments_are_allowed() -> None:
    definition, found = parse(
        '<definition name="a" arguments=""><comment language="en" text="one">two</comment>'
        '<attributes><attribute name="x" value=""/></attributes></definition>'
    )
    assert found == []
    assert definition is not None
    assert definition.body.comments == (CommentNode("one two", "en", Location("a", 1)),)
    assert definition.body.attributes is not None
    assert definition.body.attributes.attributes[0].value == ""


def test_every_child_of_the_grammar_is_an_element_of_it() -> None:
    for element in GRAMMAR.elements.values():
        assert {child.name for child in element.children} <= set(GRAMMAR.elements)


def test_an_empty_description_of_a_membrane_is_none() -> None:
    definition, faults = parse('<definition name="a"><controller desc=""/></definition>')
    assert faults == []
    assert definition is not None
    assert definition.body.controller is not None
    assert definition.body.controller.desc == ""
