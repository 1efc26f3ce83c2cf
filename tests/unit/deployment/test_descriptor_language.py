"""The grammar table, the XML Schema, the checks and the documentation say the same."""

from __future__ import annotations

import re
from xml.sax.saxutils import quoteattr

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, make_plan, read_descriptor, render_plan
from runtime.deployment.language.kinds import CHOICE, NUMBER
from runtime.deployment.language.reference import render_reference
from runtime.deployment.language.schema import render_xsd
from runtime.deployment.language.ssh_options import ALLOWED
from runtime.deployment.language.table import LANGUAGE
from tools.on_grids import ROOT

XSD_FILE = ROOT / "runtime" / "deployment" / "descriptor.xsd"
SCHEMA = etree.XMLSchema(etree.parse(str(XSD_FILE)))
XS = "{http://www.w3.org/2001/XMLSchema}"

# The faults that an XML Schema can know of; whether a list or a command line reads is not among
# them, nor how often an element may stand.
KNOWN_TO_SCHEMA = {
    "unknown-element",
    "unknown-attribute",
    "missing-attribute",
    "empty-attribute",
    "unexpected-text",
    "wrong-root",
    "bad-name",
    "bad-number",
    "bad-choice",
    "bad-duration",
    "bad-share",
    "bad-port",
}


def test_the_shipped_schema_is_current() -> None:
    assert XSD_FILE.read_text(encoding="utf-8") == render_xsd(LANGUAGE), (
        "run: python -m runtime.deployment.language.schema > runtime/deployment/descriptor.xsd"
    )


def test_the_documented_reference_is_current() -> None:
    text = (ROOT / "docs" / "descriptor.md").read_text(encoding="utf-8")
    begin, end = "<!-- reference: begin -->\n", "<!-- reference: end -->\n"
    assert text.count(begin) == text.count(end) == 1
    between = text[text.index(begin) + len(begin) : text.index(end)]
    assert between.strip() == render_reference(LANGUAGE).strip(), (
        "put the output of: python -m runtime.deployment.language.reference"
    )


def test_the_documented_options_of_ssh_are_those_that_are_allowed() -> None:
    text = (ROOT / "docs" / "descriptor.md").read_text(encoding="utf-8")
    listed = text.partition("<!-- ssh options: begin -->")[2].partition("<!-- ssh options: end")[0]
    assert re.findall("`(.*?)`", listed) == list(ALLOWED)


def test_the_schema_has_the_elements_attributes_and_children_of_the_table() -> None:
    schema = etree.parse(str(XSD_FILE)).getroot()
    found = {
        element.get("name"): (
            {
                one.get("name"): one.get("use") == "required"
                for one in element.iter(f"{XS}attribute")
            },
            [one.get("ref") for one in element.iter(f"{XS}element") if one.get("ref")],
        )
        for element in schema.findall(f"{XS}element")
    }
    assert found == {
        name: (
            {one.name: one.required for one in element.attributes},
            [child.name for child in element.children],
        )
        for name, element in LANGUAGE.elements.items()
    }


def test_every_child_is_an_element_and_every_element_but_the_root_is_a_child() -> None:
    children = {child.name for one in LANGUAGE.elements.values() for child in one.children}
    assert children == set(LANGUAGE.elements) - {LANGUAGE.root}


def test_defaults_are_values_that_the_table_itself_allows() -> None:
    for element in LANGUAGE.elements.values():
        for attribute in element.attributes:
            assert not (attribute.required and attribute.default)
            if attribute.kind is CHOICE:
                assert attribute.required or attribute.default in attribute.choices
            if attribute.kind is NUMBER and attribute.default:
                assert int(attribute.default) >= attribute.least


VALUES = st.sampled_from(
    ["", "a", "0", "1", "65535", "65536", "-1", "1.5", "a b", "-a", "auto", "yes", "in", "cluster",
     "openmpi", "${v}", "x${v}", "1234567890", "direct", "mpi"]
)  # fmt: skip
ATTRIBUTE_NAMES = sorted({one.name for e in LANGUAGE.elements.values() for one in e.attributes})


@st.composite
def written_elements(draw: st.DrawFn, tag: str = LANGUAGE.root, depth: int = 0) -> str:
    """Draw an element that is mostly, but not always, as the table wants it."""
    element = LANGUAGE.elements[tag]
    own = [one.name for one in element.attributes]
    names = {one.name for one in element.attributes if one.required and draw(st.integers(0, 9))}
    names |= draw(st.sets(st.sampled_from(own), max_size=2)) if own else set()
    if not draw(st.integers(0, 9)):
        names.add(draw(st.sampled_from(ATTRIBUTE_NAMES)))
    values = []
    for name in sorted(names):
        attribute = element.attribute(name)
        good = attribute.choices if attribute and attribute.choices else ("1",)
        value = draw(VALUES) if draw(st.booleans()) else draw(st.sampled_from(good))
        values.append(f" {name}={quoteattr(value)}")
    inside = ""
    if depth < 4:
        allowed = [child.name for child in element.children]
        tags = draw(st.lists(st.sampled_from(allowed), max_size=2)) if allowed else []
        if not draw(st.integers(0, 9)):
            tags.append(draw(st.sampled_from(sorted(LANGUAGE.elements))))
        inside = "".join(draw(written_elements(tag=one, depth=depth + 1)) for one in tags)
    text = "stray" if not draw(st.integers(0, 30)) else ""
    return f"<{tag}{''.join(values)}>{inside}{text}</{tag}>"


@settings(max_examples=100)
@given(written_elements())
def test_the_schema_and_the_checks_refuse_the_same_documents(document: str) -> None:
    diagnostics = Diagnostics()
    deployment = read_descriptor(
        document.encode(),
        name="d.xml",
        surroundings=DescriptorContext("/d"),
        diagnostics=diagnostics,
    )
    if deployment is not None:
        assert render_plan(make_plan(deployment))
    found = {one.code for one in diagnostics} & KNOWN_TO_SCHEMA
    valid = SCHEMA.validate(etree.fromstring(document))
    assert valid == (not found), (document, found, SCHEMA.error_log)
