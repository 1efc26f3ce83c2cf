"""Decodes the bytes of an XML document."""

from __future__ import annotations

import codecs
import re

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_UNMARKED_WIDE = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_DECLARATION = re.compile(rb"""^<\?xml[^>]*?\sencoding\s*=\s*["']([^"'>]*)["']""")
# Python codecs that are text transformations rather than character sets.
_NOT_CHARACTER_SETS = frozenset(
    {"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "unicode-escape"}
)


class EncodingFault(Exception):
    """The bytes are not text in the encoding that the document declares or implies."""

    def __init__(self, message: str, line: int, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.hint = hint


def decode_document(data: bytes) -> str:
    """Return the text of a document, by its byte order mark, its declaration, or else as UTF-8.

    Raises:
        EncodingFault: the encoding is unknown, or the bytes contradict it.
    """
    encoding = _implied_encoding(data) or _declared_encoding(data) or "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeError as error:
        start = 0
        if isinstance(error, UnicodeDecodeError):
            # The decoder may have skipped a byte order mark before it began to count.
            start = error.start + len(data) - len(error.object)
        shown = encoding.removesuffix("-sig").upper()
        raise EncodingFault(
            f"byte {start} of the document is not {shown}",
            data.count(b"\n", 0, start) + 1,
            'save the file as UTF-8, or name its encoding: <?xml version="1.0" encoding="..."?>',
        ) from error


def _implied_encoding(data: bytes) -> str:
    for beginning, encoding in (*_BYTE_ORDER_MARKS, *_UNMARKED_WIDE):
        if data.startswith(beginning):
            return encoding
    return ""


def _declared_encoding(data: bytes) -> str:
    declared = _DECLARATION.match(data)
    if declared is None:
        return ""
    name = declared.group(1).decode("ascii", "replace")
    try:
        codec = codecs.lookup(name).name
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise _unknown(name) from error
    if codec in _NOT_CHARACTER_SETS:
        raise _unknown(name)
    if codec.startswith(("utf-16", "utf-32")):
        # The declaration itself was readable byte by byte, so the text cannot be that wide.
        raise EncodingFault(
            f"the document declares the encoding '{name}' but is not written in it",
            1,
            "save the file in that encoding, or declare the one it has",
        )
    return name


def _unknown(name: str) -> EncodingFault:
    return EncodingFault(f"the declared encoding '{name}' is unknown", 1, "save the file as UTF-8")
