"""Every kind of bad input gives one diagnostic at the right line; good input gives exact nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm.documents import Diagnostics, Limits, Location, XmlNode, read_document

JAVA_DOCTYPE = (
    '<!DOCTYPE definition PUBLIC "-//objectweb.org//DTD Fractal ADL 2.0//EN"\n'
    ' "classpath://org/objectweb/fractal/adl/xml/basic.dtd">'
)


def read(data: bytes, limits: Limits | None = None) -> tuple[XmlNode | None, list[str]]:
    found = Diagnostics()
    root = read_document(data, name="a.xml", diagnostics=found, limits=limits or Limits())
    return root, [f"{one.location.line} {one.code}" for one in found]


def test_a_document_becomes_nodes_with_their_lines() -> None:
    root, found = read(b'<a x="1" y="2">\n <b/> text\n <c\n z="3"/> more </a>')
    assert found == []
    assert root == XmlNode(
        "a",
        {"x": "1", "y": "2"},
        (
            XmlNode("b", {}, (), "", Location("a.xml", 2)),
            XmlNode("c", {"z": "3"}, (), "", Location("a.xml", 3)),
        ),
        "text\n  more",
        Location("a.xml", 1),
    )


def test_lines_are_exact_in_very_long_files() -> None:
    root, _ = read(b"<a>\n" + b"<b/>\n" * 70_000 + b"</a>")
    assert root is not None
    assert root.children[-1].location.line == 70_001


def test_comments_and_processing_instructions_are_skipped() -> None:
    root, found = read(b"<?xml version='1.0'?><!-- x --><a><!-- y --><?z?><b/></a>")
    assert found == []
    assert root is not None
    assert [child.tag for child in root.children] == ["b"]


def test_a_java_document_type_is_ignored_and_keeps_the_lines() -> None:
    root, found = read(f'<?xml version="1.0"?>\n{JAVA_DOCTYPE}\n<a>\n<b/></a>'.encode())
    assert found == []
    assert root is not None
    assert (root.location.line, root.children[0].location.line) == (4, 5)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "1 malformed-xml"),
        (b"   ", "1 malformed-xml"),
        (b"hello", "1 malformed-xml"),
        (b"PK\x03\x04", "1 malformed-xml"),
        (b"<a>\n</b>", "1 malformed-xml"),
        (b"<a>\n <b>\n</a>", "2 malformed-xml"),
        (b"<a>\n <b/>\n", "1 malformed-xml"),
        (b"<a>\n<b x='1' x='2'/></a>", "2 malformed-xml"),
        (b"<a/>\n<b/>", "2 malformed-xml"),
        (b"<a>\n<b></a>", "2 malformed-xml"),
        (b"<a>\x00</a>", "1 malformed-xml"),
        (b"<a>\n&foo;</a>", "2 entity-refused"),
        (b"<!DOCTYPE a SYSTEM 'x'>\n<a b='&foo;'/>", "2 entity-refused"),
        (b"<!DOCTYPE a [\n<!ENTITY f 'x'>]>\n<a>&f;</a>", "3 entity-refused"),
        (b"<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><a>&f;</a>", "1 entity-refused"),
        (b"<!DOCTYPE a>\n<!DOCTYPE a>\n<a/>", "2 malformed-xml"),
        (b"<!DOCTYPE a>\n<a/>\n<b/>", "3 malformed-xml"),
        (b"<a>\n\xff</a>", "2 wrong-encoding"),
        (b"<?xml version='1.0' encoding='nope'?><a/>", "1 wrong-encoding"),
        (b"<?xml version='1.0' encoding='hex'?><a/>", "1 wrong-encoding"),
        (b"<?xml version='1.0' encoding='unicode_escape'?><a/>", "1 wrong-encoding"),
        (b"<?xml version='1.0' encoding='utf-16'?><a/>", "1 wrong-encoding"),
        (b"\xff\xfe<\x00a", "1 wrong-encoding"),
    ],
)
def test_bad_input_gives_one_diagnostic(data: bytes, expected: str) -> None:
    assert read(data) == (None, [expected])


def test_billion_laughs_are_not_laughed() -> None:
    entities = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 40))
    document = f'<!DOCTYPE a [<!ENTITY l0 "lol">{entities}]>\n<a>&l39;</a>'
    assert read(document.encode()) == (None, ["2 entity-refused"])


@pytest.mark.parametrize(
    "data",
    [
        "<a b='é'/>".encode(),
        b"\xef\xbb\xbf" + "<a b='é'/>".encode(),
        "<a b='é'/>".encode("utf-16"),
        "<a b='é'/>".encode("utf-16-le"),
        "<a b='é'/>".encode("utf-16-be"),
        "<a b='é'/>".encode("utf-32"),
        b"<?xml version='1.0' encoding='latin-1'?><a b='\xe9'/>",
        b'<?xml version="1.0" encoding="cp1252" ?><a b="\xe9"/>',
    ],
)
def test_every_encoding_of_the_same_text_is_read_alike(data: bytes) -> None:
    root, found = read(data)
    assert found == []
    assert root is not None
    assert root.attributes == {"b": "é"}


def test_the_depth_limit_counts_open_elements() -> None:
    deepest = b"<a>" * 200 + b"</a>" * 200
    assert read(deepest)[1] == []
    assert read(b"<a>" + deepest + b"</a>") == (None, ["1 too-deep"])
    assert read(b"<a>\n" * 100_000) == (None, ["201 too-deep"])


def test_the_limits_of_size_are_inclusive() -> None:
    assert read(b"<a/>", Limits(max_bytes=4))[1] == []
    assert read(b"<a/>", Limits(max_bytes=3)) == (None, ["0 too-large"])
    assert read(b"<a><b/></a>", Limits(max_nodes=2))[1] == []
    assert read(b"<a>\n<b/>\n<c/></a>", Limits(max_nodes=2)) == (None, ["3 too-large"])


def test_a_file_is_read_under_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_bytes(b"<a/>")
    root = read_document(path, diagnostics=Diagnostics())
    assert root is not None
    assert root.location == Location(str(path), 1)


def test_a_file_that_is_too_large_is_not_read_further(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_bytes(b"<a/>" + b" " * 100)
    found = Diagnostics()
    assert read_document(path, diagnostics=found, limits=Limits(max_bytes=50)) is None
    assert [one.code for one in found] == ["too-large"]


def test_files_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    found = Diagnostics()
    for name in (tmp_path / "none.xml", tmp_path, "a\0b", "x" * 5000):
        assert read_document(name, diagnostics=found) is None
    assert [one.code for one in found] == [
        "missing-file",
        "not-a-file",
        "unreadable-file",
        "unreadable-file",
    ]
    assert next(iter(found)).hint == f"look for it in {tmp_path}"


def test_an_element_that_is_not_closed_is_reported_where_it_begins() -> None:
    found = Diagnostics()
    read_document(b"<a>\n <b>\n</a>", diagnostics=found)
    assert [str(one) for one in found] == [
        "<bytes>:2: error[malformed-xml]: not well-formed XML: <b> is opened here, and line 3"
        " closes another element first. write </b>, or <b .../> if nothing is inside"
    ]
