"""Reads XML into located nodes, and turns every kind of bad input into one clear diagnostic.

The parser is expat, driven by events: it knows the exact line of every element in files of any
length, and stops at the first element that breaks a limit, before a tree has grown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from xml.parsers import expat

from gcm.documents.diagnostics import Diagnostics
from gcm.documents.encoding import EncodingFault, decode_document
from gcm.documents.location import Location
from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class XmlNode:
    """An element: its attributes in document order, its children, and its own text, stripped.

    It is `incomplete` where a check has left faulty parts out.
    """

    tag: str
    attributes: Mapping[str, str]
    children: tuple[XmlNode, ...]
    text: str
    location: Location
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a document may be.

    Bytes, nested elements, elements in all, and the characters of one attribute's value: no system
    accepts a longer argument of a program.
    """

    max_bytes: int = 64 * 1024 * 1024
    max_depth: int = 200
    max_nodes: int = 2_000_000
    max_value: int = 1024 * 1024


_DEFAULT_LIMITS = Limits()


def read_document(
    source: str | os.PathLike[str] | bytes,
    *,
    name: str | None = None,
    diagnostics: Diagnostics,
    limits: Limits = _DEFAULT_LIMITS,
) -> XmlNode | None:
    """Read a file, or bytes that were read already, and return its root element.

    Bad input is never an exception: it is reported to `diagnostics`, and `None` is returned. No
    DTD is read, no entity is expanded and nothing is fetched; comments and processing
    instructions are skipped. `name` is the file name shown in locations.

    >>> read_document(b"<a><b/></a>", diagnostics=Diagnostics()).children[0].tag
    'b'
    """
    if isinstance(source, bytes):
        return _Reading(name or "<bytes>", diagnostics, limits).run(source)
    reading = _Reading(name or os.fspath(source), diagnostics, limits)
    data = reading.load(source)
    return None if data is None else reading.run(data)


class _Stop(Exception):
    """Ends a parse from inside one of its handlers."""


@dataclass(slots=True)
class _Open:
    """An element whose end has not been seen."""

    tag: str
    attributes: dict[str, str]
    location: Location
    children: list[XmlNode] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def close(self) -> XmlNode:
        return XmlNode(
            self.tag,
            self.attributes,
            tuple(self.children),
            "".join(self.text).strip(),
            self.location,
        )


_UNCLOSED = {expat.errors.XML_ERROR_TAG_MISMATCH, expat.errors.XML_ERROR_NO_ELEMENTS}
"""The reasons for which an element is open that should not be: the fault is where it begins."""


class _Reading:
    """The reading of one document, from bytes to nodes."""

    def __init__(self, name: str, diagnostics: Diagnostics, limits: Limits) -> None:
        self._name = name
        self._diagnostics = diagnostics
        self._limits = limits
        self._open: list[_Open] = []
        self._count = 0
        self._root: XmlNode | None = None
        self._lines_before = 0
        self._after_doctype: int | None = None
        self._parser = expat.ParserCreate("utf-8")

    def load(self, source: str | os.PathLike[str]) -> bytes | None:
        """Return the bytes of a file, or report why it cannot be read."""
        path = Path(source)
        try:
            if path.exists() and not path.is_file():
                self._report("not-a-file", f"'{self._name}' is not a file", 0, "name a file")
                return None
            with path.open("rb") as stream:
                return stream.read(self._limits.max_bytes + 1)
        except FileNotFoundError:
            hint = f"look for it in {path.parent.absolute()}"
            self._report("missing-file", f"there is no file '{self._name}'", 0, hint)
        except (OSError, ValueError) as error:
            # ValueError: an invalid file name, such as one with a NUL in it.
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self._report("unreadable-file", f"cannot read '{self._name}': {reason}", 0, "")
        return None

    def run(self, data: bytes) -> XmlNode | None:
        """Return the root element, or report the first error that stops the reading."""
        if len(data) > self._limits.max_bytes:
            message = f"the document is larger than {self._limits.max_bytes} bytes"
            self._report("too-large", message, 0, "split it into several definitions")
            return None
        try:
            text = decode_document(data).encode("utf-8")
        except EncodingFault as fault:
            self._report("wrong-encoding", fault.message, fault.line, fault.hint)
            return None
        self._parse(text)
        if self._after_doctype is not None:
            self._parse(text[self._after_doctype :])
        return self._root

    def _parse(self, text: bytes) -> None:
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EndDoctypeDeclHandler = self._doctype
        try:
            self._parser.Parse(text, True)
        except _Stop:
            return
        except expat.ExpatError as error:
            self._root = None
            self._malformed(error)

    def _doctype(self) -> None:
        # A document type is ignored, whatever it declares: parsing goes on behind it as if it had
        # not been there, so that only the five entities of XML itself exist.
        if self._after_doctype is None:
            self._after_doctype = self._parser.CurrentByteIndex + 1
            self._lines_before = self._parser.CurrentLineNumber - 1
        else:
            message = "not well-formed XML: a second document type"
            self._report("malformed-xml", message, self._line(), "remove one of them")
        raise _Stop

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        limits = self._limits
        self._count += 1
        if len(self._open) >= limits.max_depth:
            self._too_much("too-deep", f"elements are nested more than {limits.max_depth} deep")
        if self._count > limits.max_nodes:
            self._too_much("too-large", f"there are more than {limits.max_nodes} elements")
        for name, value in attributes.items():
            if len(value) > limits.max_value:
                what = f"'{name}' of <{tag}> is longer than {limits.max_value:,} characters"
                self._too_much("too-long", what, "keep that much in a file of its own")
        self._open.append(_Open(tag, attributes, Location(self._name, self._line())))

    def _end(self, _tag: str) -> None:
        node = self._open.pop().close()
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node

    def _text(self, text: str) -> None:
        self._open[-1].text.append(text)

    def _line(self) -> int:
        return self._parser.CurrentLineNumber + self._lines_before

    def _too_much(
        self, code: str, message: str, hint: str = "split the document into several definitions"
    ) -> None:
        self._report(code, message, self._line(), hint)
        raise _Stop

    def _malformed(self, error: expat.ExpatError) -> None:
        reason = expat.errors.messages[error.code]
        line = error.lineno + self._lines_before
        if reason == expat.errors.XML_ERROR_UNDEFINED_ENTITY:
            hint = "write the text itself, and &amp; for a plain '&'"
            self._report("entity-refused", "entities are not expanded here", line, hint)
            return
        if self._open and reason in _UNCLOSED:
            opened = self._open[-1]
            closed = "the document ends without closing it"
            if reason == expat.errors.XML_ERROR_TAG_MISMATCH:
                closed = f"line {line} closes another element first"
            message = f"not well-formed XML: <{opened.tag}> is opened here, and {closed}"
            hint = f"write </{opened.tag}>, or <{opened.tag} .../> if nothing is inside"
            self._report("malformed-xml", message, opened.location.line, hint)
            return
        inside = f" inside <{self._open[-1].tag}>" if self._open else ""
        message = f"not well-formed XML: {reason}{inside}, column {error.offset + 1}"
        self._report("malformed-xml", message, line, "")

    def _report(self, code: str, message: str, line: int, hint: str) -> None:
        self._diagnostics.report(code, message, Location(self._name, line), hint=hint)
