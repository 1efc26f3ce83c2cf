"""Old descriptors of testdata/legacy in our language, and what has no counterpart there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from xml.sax.saxutils import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.documents import Diagnostics, Location, XmlNode, read_document
from runtime.deployment.legacy import Converted, convert
from tests.scripts import Script, same, scripts

LEGACY = Path(__file__).parent / "testdata" / "legacy"


def read(name: str) -> XmlNode | None:
    file = LEGACY / name
    return (
        read_document(file.read_bytes(), name=name, diagnostics=Diagnostics())
        if file.is_file()
        else None
    )


@pytest.mark.parametrize("script", scripts(LEGACY))
def test_an_old_descriptor_becomes_one_of_ours(
    script: Script, request: pytest.FixtureRequest
) -> None:
    root = read(script.title)
    assert root is not None
    made = convert(root, read)
    losses = [f"{loss.location}: {loss.what}" for loss in made.losses]
    same(script, [*made.text.splitlines(), *losses], request)


def test_what_is_made_can_be_read() -> None:
    for file in LEGACY.glob("*.xml"):
        root = read(file.name)
        assert root is not None
        diagnostics = Diagnostics()
        text = convert(root, read).text
        assert read_document(text.encode(), diagnostics=diagnostics) is not None, diagnostics


def test_another_document_is_refused() -> None:
    root = read_document(b"<deployment/>", diagnostics=Diagnostics())
    assert root is not None
    with pytest.raises(ValueError, match="<deployment> is none of GCMApplication, "):
        convert(root, read)


# Whatever an old document says is in what is made of it, or is told. -----------------------------

SAMPLES = [root for file in sorted(LEGACY.glob("*.xml")) if (root := read(file.name))]


def below(node: XmlNode) -> Iterator[XmlNode]:
    yield node
    for child in node.children:
        yield from below(child)


TAGS = sorted({one.tag for root in SAMPLES for one in below(root)} | {"service", "globusProcess"})
NAMES = sorted(
    {name for root in SAMPLES for one in below(root) for name in one.attributes} - {"xmlns"}
    | {"closeStream", "register", "username", "privateKey", "origin", "base", "capacity"}
)
REFERENCES = {"id", "refid"}
"""What only leads from one element to another one."""


class Changed:
    """Puts elements, attributes and texts where nobody expects them, each on a line of its own."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._lines = count(1)
        self._marks = count(1)

    def node(self, node: XmlNode, *, is_new: bool = False) -> XmlNode:
        location = Location("old.xml", next(self._lines))
        attributes = {**node.attributes}
        for name in self._draw(st.lists(st.sampled_from(NAMES), max_size=2)):
            if name not in REFERENCES or is_new:
                attributes[name] = self._mark()
        children = [self.node(one) for one in node.children]
        for tag in self._draw(st.lists(st.sampled_from(TAGS), max_size=1)) if not is_new else ():
            new = XmlNode(tag, {}, (), "", node.location)
            children.insert(self._draw(st.integers(0, len(children))), self.node(new, is_new=True))
        text = node.text or (self._mark() if self._draw(st.booleans()) else "")
        return replace(node, location=location, attributes=attributes, children=(*children,),
                       text=text)  # fmt: skip

    def _mark(self) -> str:
        return f"mark{next(self._marks)}x"


def told_nowhere(node: XmlNode, made: Converted) -> Iterator[str]:
    """Yield what is neither in what was made nor told."""
    if any(one.is_whole and one.location == node.location for one in made.losses):
        return
    everything = unescape(made.text, {"&quot;": '"'}) + " ".join(one.what for one in made.losses)
    for name, value in node.attributes.items():
        if value.startswith("mark") and value not in everything:
            yield f"{node.tag} {name}={value}"
    if node.text.startswith("mark") and node.text not in everything:
        yield f"{node.tag}: {node.text}"
    for child in node.children:
        yield from told_nowhere(child, made)


@given(st.data(), st.sampled_from(range(len(SAMPLES))))
def test_all_that_a_document_says_is_converted_or_told(data: st.DataObject, place: int) -> None:
    root = data.draw(st.composite(lambda draw: Changed(draw).node(SAMPLES[place]))())
    assert [*told_nowhere(root, convert(root, read))] == []
