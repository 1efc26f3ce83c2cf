"""What is said about documents that cannot be read, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm.documents import Diagnostic, Diagnostics, Limits, Location, Severity, read_document
from gcm.documents.encoding import EncodingFault, decode_document

SAVE_AS_UTF8 = "save the file as UTF-8"
SAVE_OR_NAME = f'{SAVE_AS_UTF8}, or name its encoding: <?xml version="1.0" encoding="..."?>'
SPLIT = "split the document into several definitions"


def declared(encoding: bytes) -> bytes:
    return b"<?xml version='1.0' encoding='" + encoding + b"'?><a/>"


def not_written_in(encoding: str) -> tuple[str, str]:
    return (
        f"the document declares the encoding '{encoding}' but is not written in it",
        "save the file in that encoding, or declare the one it has",
    )


@pytest.mark.parametrize(
    ("data", "line", "message", "hint"),
    [
        (b"\n\xff", 2, "byte 1 of the document is not UTF-8", SAVE_OR_NAME),
        (b"\xef\xbb\xbf\n\xff", 2, "byte 4 of the document is not UTF-8", SAVE_OR_NAME),
        (b"\xff\xfe<\0\n", 1, "byte 4 of the document is not UTF-16", SAVE_OR_NAME),
        (declared(b"n\xe9"), 1, "the declared encoding 'n\ufffd' is unknown", SAVE_AS_UTF8),
        (declared(b"utf-16"), 1, *not_written_in("utf-16")),
        (declared(b"utf_16_le"), 1, *not_written_in("utf_16_le")),
        (declared(b"UTF-32"), 1, *not_written_in("UTF-32")),
    ],
)
def test_a_wrong_encoding_is_explained(data: bytes, line: int, message: str, hint: str) -> None:
    with pytest.raises(EncodingFault) as caught:
        decode_document(data)
    fault = caught.value
    assert (str(fault), fault.message, fault.line, fault.hint) == (message, message, line, hint)


@pytest.mark.parametrize(
    "codec", ["idna", "punycode", "raw_unicode_escape", "unicode-escape", "undefined", "hex"]
)
def test_a_codec_that_is_no_character_set_is_unknown(codec: str) -> None:
    with pytest.raises(EncodingFault, match=f"^the declared encoding '{codec}' is unknown$"):
        decode_document(declared(codec.encode()))


@pytest.mark.parametrize(
    ("data", "limits", "line", "message", "hint"),
    [
        (
            b"<a>  </a>",
            Limits(max_bytes=8),
            0,
            "the document is larger than 8 bytes",
            "split it into several definitions",
        ),
        (b"<a>\n<b/></a>", Limits(max_nodes=1), 2, "there are more than 1 elements", SPLIT),
        (
            b"<a>\n<b/></a>",
            Limits(max_depth=1),
            2,
            "elements are nested more than 1 deep",
            SPLIT,
        ),
        (
            b"<!DOCTYPE a>\n<!DOCTYPE a>\n<a/>",
            Limits(),
            2,
            "not well-formed XML: a second document type",
            "remove one of them",
        ),
        (
            b"<a>&b;</a>",
            Limits(),
            1,
            "entities are not expanded here",
            "write the text itself, and &amp; for a plain '&'",
        ),
        (b"<a/>\nb", Limits(), 2, "not well-formed XML: junk after document element, column 1", ""),
    ],
)
def test_a_refused_document_is_explained(
    data: bytes, limits: Limits, line: int, message: str, hint: str
) -> None:
    found = Diagnostics()
    assert read_document(data, name="a.xml", diagnostics=found, limits=limits) is None
    [only] = found
    assert (only.location, only.message, only.hint) == (Location("a.xml", line), message, hint)


def test_a_file_that_cannot_be_read_is_explained(tmp_path: Path) -> None:
    found = Diagnostics()
    for name in ("none.xml", "", "a\0b"):
        read_document(tmp_path / name, name=name or "folder", diagnostics=found)
    assert [(str(one.location), one.message, one.hint) for one in found] == [
        ("none.xml", "there is no file 'none.xml'", f"look for it in {tmp_path}"),
        ("folder", "'folder' is not a file", "name a file"),
        ("a\0b", "cannot read 'a\0b': embedded null byte", ""),
    ]


def test_a_second_document_type_ends_the_reading_before_any_element() -> None:
    found = Diagnostics()
    assert read_document(b"<!DOCTYPE a><!DOCTYPE a><a>&b;</a>", diagnostics=found) is None
    assert [one.message for one in found] == ["not well-formed XML: a second document type"]


def test_elements_and_text_stay_where_they_are_nested() -> None:
    root = read_document(b"<a>1<b>2<c>3</c></b></a>", diagnostics=Diagnostics())
    assert root is not None
    [middle] = root.children
    [inner] = middle.children
    assert [root.text, middle.text, inner.text] == ["1", "2", "3"]


def test_the_limits_are_generous_by_default() -> None:
    assert Limits() == Limits(max_bytes=67_108_864, max_depth=200, max_nodes=2_000_000)


def test_a_finding_needs_no_more_than_its_code_its_message_and_its_place() -> None:
    place = Location("a.xml", 1)
    found = Diagnostics()
    found.report("code", "message", place)
    full = Diagnostic("code", "message", place, "", "", "", Severity.ERROR)
    assert list(found) == [full]
    assert Diagnostic("code", "message", place) == full
