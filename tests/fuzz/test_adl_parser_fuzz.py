"""Broken documents of every kind end in diagnostics, never in an exception."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, tostring

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gcm.adl.classes import ClassFault
from gcm.adl.definitions.grammar import GRAMMAR, definition_of, read_definition
from gcm.adl.loading import plan_document
from gcm.documents import Diagnostics, read_document

SEED = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE definition PUBLIC "-//objectweb.org//DTD Fractal ADL 2.0//EN" "classpath://basic.dtd">
<definition name="app" arguments="n=1,m='x,y'" extends="app(2),Base(m=>'q')">
  <!-- a comment --><comment text="&lt;&#65;"/>
  <interface name="run" role="server" signature="a.B" cardinality="multicast"/>
  <component name="c" definition="app(${n})"><content class="a.C"/>
    <attributes><attribute name="x" value="$${y}"/></attributes>
    <controller desc="active"><component name="i" definition="./c/i"/></controller>
    <virtual-node name="v" cardinality="single"/></component>
  <binding client="this.run" server="c.run"/><binding client="c.x" server="pyro:x@y:1"/>
</definition>"""

EDITS = st.lists(
    st.tuples(st.integers(0, len(SEED)), st.integers(0, 12), st.binary(max_size=6)), max_size=6
)
PIECES = st.sampled_from(
    [b"<", b">", b"/", b'"', b"&", b"&x;", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?", b"?>"]
    + [b"<!DOCTYPE a [", b"<!ENTITY x 'y'>", b"\x00", b"\xff\xfe", b"${", b"}", b"('", b"=>"]
    + [tag.encode() for tag in GRAMMAR.elements]
)
WORDS = st.sampled_from(
    [
        "app",
        "c",
        "./c",
        "/app/c",
        "app(1)",
        "app(n=>'2')",
        "${n}",
        "$${n}",
        "this.run",
        "c.run",
        "c.",
        "a.C",
        "server",
        "client",
        "multicast",
        "composite",
        "(",
        "'",
        "x,y",
        "1",
    ]
) | st.just("")

TREES: st.SearchStrategy[Any] = st.recursive(
    st.builds(
        lambda tag, at: (tag, at, []),
        st.sampled_from(list(GRAMMAR.elements)),
        st.dictionaries(
            st.sampled_from(["name", "definition", "extends", "client", "server", "role", "class"]),
            WORDS,
        ),
    ),
    lambda inner: st.builds(
        lambda tag, at, children: (tag, at, children),
        st.sampled_from(["component", "controller", "attributes"]),
        st.dictionaries(st.sampled_from(["name", "definition", "desc"]), WORDS),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)

bounded = settings(max_examples=250, suppress_health_check=list(HealthCheck))


def load_nothing(dotted: str) -> object:
    if dotted == "a.C":
        return int
    raise ClassFault("missing-class", f"no '{dotted}'")


def mutated(edits: list[tuple[int, int, bytes]]) -> bytes:
    data = SEED
    for position, length, new in edits:
        data = data[:position] + new + data[position + length :]
    return data


def element(tree: Any) -> Element:
    tag, attributes, children = tree
    made = Element(tag, attributes)
    made.extend([element(child) for child in children])
    return made


def assert_told(data: bytes) -> None:
    found = Diagnostics()
    node = read_definition(data, diagnostics=found)
    if node is None:
        assert found.errors
    else:
        definition_of(node)
    for one in found:
        assert one.message
        assert "Traceback" not in str(one)


def assert_planned_or_told(folder: Path, data: bytes) -> None:
    path = folder / "app.fractal"
    path.write_bytes(data)
    found = Diagnostics()
    plan = plan_document(path, diagnostics=found, load_class=load_nothing)
    assert (plan is None) == bool(found.errors)


@bounded
@given(EDITS)
def test_mutated_documents_are_read_or_told(edits: list[tuple[int, int, bytes]]) -> None:
    assert_told(mutated(edits))


@bounded
@given(st.lists(st.tuples(st.integers(0, len(SEED)), st.integers(0, 30), PIECES), max_size=4))
def test_documents_with_pieces_of_markup_are_read_or_told(
    edits: list[tuple[int, int, bytes]],
) -> None:
    assert_told(mutated(edits))


@bounded
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_told(data: bytes) -> None:
    found = Diagnostics()
    if read_document(data, diagnostics=found) is None:
        assert len(found) == 1


@bounded
@given(st.lists(TREES, max_size=5))
def test_any_well_formed_document_is_planned_or_told(
    tmp_path_factory: pytest.TempPathFactory, trees: list[Any]
) -> None:
    root = Element("definition", {"name": "app", "arguments": "n=1"})
    root.extend([element(tree) for tree in trees])
    folder = tmp_path_factory.getbasetemp()
    assert_planned_or_told(folder, tostring(root))


@bounded
@given(EDITS)
def test_mutated_documents_are_planned_or_told(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int, bytes]]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    assert_planned_or_told(folder, mutated(edits))
