"""Checks the text of one attribute against its kind."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace

from gcm.documents import did_you_mean
from gcm.records import dataclass
from runtime.deployment.hosts import HostListError, NotAHostError, measure_hosts, measure_names
from runtime.deployment.language.grammar import (
    DURATION_PATTERN,
    NAME_PATTERN,
    NUMBER_PATTERN,
    Attribute,
    ElementType,
    ValueKind,
)
from runtime.machine_words import is_command, is_host, is_user
from runtime.shown_text import shown

_NAME = re.compile(NAME_PATTERN)
_QUOTES = re.compile(r"""["'\\]""")
_BLANKS = re.compile("[ \t\r\n]+")  # those of a shell; `str.split` knows more
_NUMBER = re.compile(NUMBER_PATTERN)
_DURATION = re.compile(DURATION_PATTERN)


@dataclass(frozen=True, slots=True)
class ValueFault:
    """The error in a value: the text to add to the name of its attribute, and the cure."""

    code: str
    message: str
    hint: str = ""


_BAD_HOST = ValueFault(
    "bad-host", "is not a host", "write a host name, an IPv4 address or an IPv6 address"
)

_WORDS: Mapping[ValueKind, tuple[Callable[[str], bool], ValueFault]] = {
    ValueKind.HOST: (is_host, _BAD_HOST),
    ValueKind.USER: (
        is_user,
        ValueFault(
            "bad-user",
            "is not a login",
            "use letters, digits, '_', '.', '@', '+' and '-', and do not begin with '-'",
        ),
    ),
    ValueKind.COMMAND: (
        is_command,
        ValueFault(
            "bad-command",
            "is not a program",
            "write its name or its path alone; nothing that a shell does happens to it",
        ),
    ),
}
"""The kinds that are one word, each with its test."""


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a command line; raises ValueError where quotes do not match.

    >>> split_words("--steps 20 'two words'")
    ('--steps', '20', 'two words')
    """
    if not _QUOTES.search(text):  # a hundred times as fast, which long lists of files need
        return tuple(_BLANKS.sub(" ", text).strip(" ").split(" ")) if text.strip(" \t\r\n") else ()
    return tuple(shlex.split(text))


def value_fault(attribute: Attribute, value: str, element: ElementType) -> ValueFault | None:
    """Return the error in the value of an attribute, or None."""
    if not value.strip() and attribute.needs_text:
        return ValueFault("empty-attribute", "is empty", attribute.meaning)
    match attribute.kind:
        case ValueKind.TEXT | ValueKind.RAW:
            return None
        case ValueKind.NAME:
            return _name_fault(value)
        case ValueKind.NUMBER:
            return _number_fault(attribute, value)
        case ValueKind.DURATION:
            return _duration_fault(value)
        case ValueKind.CHOICE:
            return _choice_fault(attribute, value)
        case ValueKind.WORDS:
            return _words_fault(value)
        case ValueKind.LIST | ValueKind.HOSTS:
            return _list_fault(attribute.kind, value)
        case ValueKind.HOST | ValueKind.USER | ValueKind.COMMAND:
            return _word_fault(attribute.kind, value, element) if value else None


def _word_fault(kind: ValueKind, value: str, element: ElementType) -> ValueFault | None:
    fits, fault = _WORDS[kind]
    if fits(value):
        return None
    for sign, name in (("@", "user"), (":", "port")):
        if kind is ValueKind.HOST and sign in value and element.attribute(name) is not None:
            return replace(
                fault, hint=f"what belongs to '{sign}' has an attribute of its own, {name}"
            )
    return fault


def _name_fault(value: str) -> ValueFault | None:
    if _NAME.fullmatch(value):
        return None
    return ValueFault(
        "bad-name",
        "is not a name",
        "use letters, digits, '_', '-' and '.', and do not begin with '-' or '.'",
    )


def _number_fault(attribute: Attribute, value: str) -> ValueFault | None:
    fits = _NUMBER.fullmatch(value.strip()) is not None and int(value) >= attribute.least
    if fits and (attribute.most is None or int(value) <= attribute.most):
        return None
    upper = f" to {attribute.most}" if attribute.most is not None else ""
    return ValueFault("bad-number", f"is not a whole number from {attribute.least}{upper}")


def _duration_fault(value: str) -> ValueFault | None:
    if _DURATION.fullmatch(value.strip()):
        return None
    return ValueFault("bad-duration", "is not a duration", "write it as 60s, 5min or 2h")


def _choice_fault(attribute: Attribute, value: str) -> ValueFault | None:
    if value in attribute.choices:
        return None
    return ValueFault(
        "bad-choice",
        f"is none of {', '.join(attribute.choices)}",
        did_you_mean(value, attribute.choices),
    )


def _words_fault(value: str) -> ValueFault | None:
    try:
        split_words(value)
    except ValueError as error:
        return ValueFault(
            "bad-words", f"cannot be split into words: {error}", "quote as in a shell"
        )
    return None


def _list_fault(kind: ValueKind, value: str) -> ValueFault | None:
    try:
        list_size(kind, value)
    except NotAHostError as error:
        return replace(_BAD_HOST, message=f"names '{shown(error.name)}', which is not a host")
    except HostListError as error:
        return ValueFault("bad-host-list", f"is not a list of names: {error}")
    return None


def list_size(kind: ValueKind, value: str) -> int:
    """Return how many names a list has; raises HostListError."""
    return measure_hosts(value) if kind is ValueKind.HOSTS else measure_names(value)[0]
