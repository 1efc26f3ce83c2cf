"""Converts the texts of `<attribute>` elements to values, by the annotation of the attribute."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from gcm.adl.definitions import ArgumentSyntaxError, split_values
from gcm.interfaces import describe
from gcm.suggestion import did_you_mean

_TRUTH = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_SEQUENCES = (list, tuple, set, frozenset)


class AdlValueFault(ValueError):
    """A text that does not fit the annotation, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def convert(text: str, annotation: Any) -> object:
    """Return the value that a text stands for.

    Understands `str`, `int`, `float`, `bool`, `complex`, paths, enumerations, `Literal`, optional
    types and other unions (the first member that fits), and lists, tuples and sets of these,
    written as `1, 2, 3` or `[1, 2, 3]`.

    Raises:
        ValueFault: the text does not fit, or the annotation is none of these.

    >>> convert("1, 2", list[int])
    [1, 2]
    """
    origin = get_origin(annotation) or annotation
    if origin in (Any, object, str):
        return text
    if origin is bool:
        return _truth(text)
    if origin in (int, float, complex):
        return _number(text, origin)
    if origin in (Union, UnionType):
        return _union(text, annotation)
    if origin is Literal:
        return _literal(text, annotation)
    if origin in _SEQUENCES:
        return _sequence(text, origin, get_args(annotation))
    if isinstance(origin, type) and issubclass(origin, Path):
        return origin(text)
    if isinstance(origin, type) and issubclass(origin, Enum):
        return _member(text, origin)
    raise AdlValueFault(
        f"an attribute of the type {describe(annotation)} cannot be written in a document",
        "set it from Python, or give it a type such as int, str or list[float]",
    )


def _truth(text: str) -> bool:
    try:
        return _TRUTH[text.strip().lower()]
    except KeyError:
        raise AdlValueFault(f"'{text}' is not a bool", "write true or false") from None


def _number(text: str, kind: type[Any]) -> object:
    try:
        # "0x10" and "0b1" are integers too.
        return int(text, 0) if kind is int and text.strip()[:1] == "0" else kind(text)
    except ValueError:
        pass
    try:
        return kind(text)
    except ValueError:
        raise AdlValueFault(f"'{text}' is not {_an(kind)}", f"write {_an(kind)}") from None


def _union(text: str, annotation: Any) -> object:
    members = get_args(annotation)
    if NoneType in members and text.strip() in ("", "None"):
        return None
    for member in members:
        if member is not NoneType:
            try:
                return convert(text, member)
            except AdlValueFault:
                continue
    raise AdlValueFault(f"'{text}' is not {describe(annotation)}")


def _literal(text: str, annotation: Any) -> object:
    choices = {str(choice): choice for choice in get_args(annotation)}
    return _choice(text, choices)


def _member(text: str, kind: type[Enum]) -> object:
    choices: dict[str, object] = {str(member.value): member for member in kind}
    return _choice(text, {**choices, **kind.__members__})


def _choice(text: str, choices: dict[str, object]) -> object:
    if text.strip() in choices:
        return choices[text.strip()]
    hint = did_you_mean(text, choices) or f"write one of: {', '.join(choices)}"
    raise AdlValueFault(f"'{text}' is none of the values that are allowed", hint)


def _sequence(text: str, kind: type[Any], members: tuple[Any, ...]) -> object:
    text = text.strip()
    if text[:1] + text[-1:] in ("[]", "()", "{}"):
        text = text[1:-1]
    try:
        parts = split_values(text)
    except ArgumentSyntaxError as error:
        raise AdlValueFault(str(error)) from error
    if kind is tuple and members and members[-1] is not Ellipsis:
        if len(parts) != len(members):
            raise AdlValueFault(f"{len(members)} values are needed, {len(parts)} are given")
        return tuple(convert(part, one) for part, one in zip(parts, members, strict=True))
    element = members[0] if members else str
    return kind(convert(part, element) for part in parts)


def _an(kind: type[Any]) -> str:
    return f"an {kind.__name__}" if kind is int else f"a {kind.__name__}"
