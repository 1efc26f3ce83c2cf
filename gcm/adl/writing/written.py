"""The values of attributes as the texts of `<attribute>` elements: the inverse of `values`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from gcm.adl.definitions import quoted
from gcm.adl.values import AdlValueFault, convert

_NEEDS_QUOTES = frozenset(",'\"()[]{}")


def written(value: object, annotation: Any) -> str:
    """Return a text that `convert` reads as `value`.

    Raises:
        ValueFault: there is none.

    >>> written([1, 2], list[int])
    '1, 2'
    """
    text = text_of(value)
    read = convert(text, annotation)
    # Two values that are not a number are never equal, but look the same.
    if type(read) is not type(value) or (read != value and repr(read) != repr(value)):
        raise AdlValueFault(
            f"{value!r} cannot be written in a document: '{text}' is read as {read!r}"
        )
    return text


def text_of(value: object) -> str:
    """Return the text that stands for a value, whether or not it can be read back."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, set | frozenset):
        return _listed(sorted(map(text_of, value)))
    if isinstance(value, list | tuple):
        return _listed(map(text_of, value))
    return str(value)


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(map(_element, texts))


def _element(text: str) -> str:
    plain = text and text == text.strip() and _NEEDS_QUOTES.isdisjoint(text)
    return text if plain else quoted(text)
