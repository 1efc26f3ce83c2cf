"""Determines the language of a document by its root element, without reading further."""

from __future__ import annotations

from xml.parsers import expat

_ENOUGH = 64 * 1024


class _Found(Exception):
    """Ends the parse at the first element."""


def root_tag(file: str) -> str:
    """Return the tag of the root element, or nothing where that cannot be told.

    The real reader of the document reports what is wrong with it.
    """
    parser = expat.ParserCreate()
    tags: list[str] = []

    def begin(tag: str, _attributes: object) -> None:
        tags.append(tag)
        raise _Found

    parser.StartElementHandler = begin
    try:
        with open(file, "rb") as stream:
            parser.Parse(stream.read(_ENOUGH), False)
    except (OSError, ValueError, LookupError, expat.ExpatError, _Found):
        pass
    return tags[0] if tags else ""
