"""The kinds of values in a descriptor: what their text has to look like, and what it stands for."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable
from dataclasses import replace

from gcm.documents import (
    DURATION_HINT,
    DURATION_PATTERN,
    TEXT,
    Attribute,
    ElementType,
    ValueFault,
    ValueKind,
    did_you_mean,
    is_duration,
    seconds_of,
)
from runtime.allocations import places_of
from runtime.code_port import CodePort
from runtime.collectives import fault_of_rules
from runtime.deployment.hosts import (
    HostListError,
    NotAHostError,
    expand_hosts,
    expand_names,
    measure_hosts,
    measure_names,
)
from runtime.safe_names import is_command, is_host, is_user, without_brackets
from runtime.shown_text import shown

NAME_PATTERN = "[A-Za-z0-9_][A-Za-z0-9_.-]*"
"""What a name looks like, as a regular expression that Python and XML Schema both understand."""

NUMBER_PATTERN = "[0-9]{1,9}"
"""What a number looks like."""

_NAME = re.compile(NAME_PATTERN)
_WALLTIME = re.compile(r"(?:(\d{1,3})-)?(\d{1,4}):(\d{2}):(\d{2})")
_BATCH_WORD = re.compile(r"[A-Za-z0-9_.,:@+=&|*()\[\]-]+")
_QUOTES = re.compile(r"""["'\\]""")
_BLANKS = re.compile("[ \t\r\n]+")  # those of a shell; `str.split` knows more
_NUMBER = re.compile(NUMBER_PATTERN)
_SHARE = re.compile(r"([0-9]{1,6}) of ([1-9][0-9]{0,5})")
_CAPACITY = re.compile("max|[1-9][0-9]{0,8}")
_PORT = re.compile(rf"{NAME_PATTERN}\.[A-Za-z0-9_-]+")

_BAD_HOST = ValueFault(
    "bad-host", "is not a host", "write a host name, an IPv4 address or an IPv6 address"
)
_BAD_USER = ValueFault(
    "bad-user",
    "is not a login",
    "use letters, digits, '_', '.', '@', '+' and '-', and do not begin with '-'",
)
_BAD_BATCH_WORD = ValueFault(
    "bad-word", "is not a word that batch systems take", "leave out blanks, quotes and '/'"
)
_BAD_COMMAND = ValueFault(
    "bad-command",
    "is not a program",
    "write its name or its path alone; nothing that a shell does happens to it",
)


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a command line; raises ValueError where quotes do not match.

    >>> split_words("--steps 20 'two words'")
    ('--steps', '20', 'two words')
    """
    if not _QUOTES.search(text):  # a hundred times as fast, which long lists of files need
        return tuple(_BLANKS.sub(" ", text).strip(" ").split(" ")) if text.strip(" \t\r\n") else ()
    return tuple(shlex.split(text))


def _walltime(text: str) -> float:
    """Return the seconds of a walltime; 0 where there is none.

    >>> _walltime("02:00:30"), _walltime("1-00:00:00"), _walltime("5min")
    (7230.0, 86400.0, 300.0)
    """
    found = _WALLTIME.fullmatch(text.strip())
    if found is None:
        return seconds_of(text)
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _share(text: str) -> tuple[int, int] | None:
    """Return both numbers of a share; None where there is none.

    >>> _share("2 of 3")
    (2, 3)
    """
    found = _SHARE.fullmatch(text.strip())
    return None if found is None else (int(found[1]), int(found[2]))


def _one_word(
    fits: Callable[[str], object], fault: ValueFault
) -> Callable[[Attribute, str, ElementType], ValueFault | None]:
    """Return the check of a kind that is one word."""

    def check(_: Attribute, value: str, element: ElementType) -> ValueFault | None:
        if not value or fits(value):
            return None
        for sign, name in (("@", "user"), (":", "port")):
            if fault is _BAD_HOST and sign in value and element.attribute(name) is not None:
                return replace(
                    fault, hint=f"what belongs to '{sign}' has an attribute of its own, {name}"
                )
        return fault

    return check


def _name_fault(_: Attribute, value: str, __: ElementType) -> ValueFault | None:
    if _NAME.fullmatch(value):
        return None
    return ValueFault(
        "bad-name",
        "is not a name",
        "use letters, digits, '_', '-' and '.', and do not begin with '-' or '.'",
    )


def _number_fault(attribute: Attribute, value: str, _: ElementType) -> ValueFault | None:
    fits = _NUMBER.fullmatch(value.strip()) is not None and int(value) >= attribute.least
    if fits and (attribute.most is None or int(value) <= attribute.most):
        return None
    upper = f" to {attribute.most}" if attribute.most is not None else ""
    return ValueFault("bad-number", f"is not a whole number from {attribute.least}{upper}")


def _capacity_fault(_: Attribute, value: str, __: ElementType) -> ValueFault | None:
    if _CAPACITY.fullmatch(value.strip()):
        return None
    return ValueFault("bad-number", "is neither a whole number from 1 nor max")


def _duration_fault(_: Attribute, value: str, __: ElementType) -> ValueFault | None:
    if is_duration(value):
        return None
    return ValueFault("bad-duration", "is not a duration", DURATION_HINT)


def _walltime_fault(_: Attribute, value: str, __: ElementType) -> ValueFault | None:
    if _WALLTIME.fullmatch(value.strip()) or is_duration(value):
        return None
    return ValueFault("bad-walltime", "is not a walltime", "write it as 02:00:00, 1-12:00:00 or 2h")


def _share_fault(_: Attribute, value: str, __: ElementType) -> ValueFault | None:
    if _SHARE.fullmatch(value.strip()):
        return None
    return ValueFault("bad-share", "is no share", "write it as 2 of 3")


def _port_fault(_: Attribute, value: str, __: ElementType) -> ValueFault | None:
    if _PORT.fullmatch(value.strip()):
        return None
    return ValueFault("bad-port", "is no port of a code", "write it as ocean.sst")


def _places_fault(_: Attribute, value: str, __: ElementType) -> ValueFault | None:
    if all(places_of(value)) and places_of(value):
        return None
    return ValueFault("bad-number", "is no list of whole numbers from 1", "write it as 8(x3),2")


def _choice_fault(attribute: Attribute, value: str, _: ElementType) -> ValueFault | None:
    if value in attribute.choices:
        return None
    return ValueFault(
        "bad-choice",
        f"is none of {', '.join(attribute.choices)}",
        did_you_mean(value, attribute.choices),
    )


def _words_fault(_: Attribute, value: str, __: ElementType) -> ValueFault | None:
    try:
        split_words(value)
    except ValueError as error:
        return ValueFault(
            "bad-words", f"cannot be split into words: {error}", "quote as in a shell"
        )
    return None


def _list_fault(attribute: Attribute, value: str, _: ElementType) -> ValueFault | None:
    try:
        list_size(attribute.kind, value)
    except NotAHostError as error:
        return replace(_BAD_HOST, message=f"names '{shown(error.name)}', which is not a host")
    except HostListError as error:
        return ValueFault("bad-host-list", f"is not a list of names: {error}")
    return None


def list_size(kind: ValueKind, value: str) -> int:
    """Return how many names a list has; raises HostListError."""
    return measure_hosts(value) if kind is HOSTS else measure_names(value)[0]


def _plans_fault(_: Attribute, value: str, __: ElementType) -> ValueFault | None:
    why = fault_of_rules(value)
    return ValueFault("bad-plans", f"has a wrong rule: {why}") if why else None


NAME = ValueKind("name", fault=_name_fault, pattern=NAME_PATTERN)
NUMBER = ValueKind(
    "number", lambda text: int(text) if text else None, _number_fault, pattern=NUMBER_PATTERN
)
CAPACITY = ValueKind(
    "number or `max`",
    lambda text: math.inf if text.strip() == "max" else int(text or 0),
    _capacity_fault,
    pattern=_CAPACITY.pattern,
)
"""How many nodes; `max` is as many as there are, 0 stands where nothing is written."""

CHOICE = ValueKind("choice", fault=_choice_fault)
DURATION = ValueKind("duration", seconds_of, _duration_fault, pattern=DURATION_PATTERN)

WORDS = ValueKind("words", split_words, _words_fault)
"""A command line: words separated by blanks, quoted as in a shell."""

PLANS = ValueKind("plans", fault=_plans_fault)
"""Rules that choose plans of collectives; see `runtime.collectives.rules`."""

WALLTIME = ValueKind("walltime", _walltime, _walltime_fault)
"""How long a job may run: a duration, or hours, minutes and seconds as batch systems have them."""

SHARE = ValueKind("share", _share, _share_fault, pattern=_SHARE.pattern)
"""Some of several, such as `2 of 3`."""

PORT = ValueKind("port", CodePort.find, _port_fault, pattern=_PORT.pattern)
"""A port of a code, such as `ocean.sst`."""

PLACES = ValueKind("numbers", lambda text: places_of(text) if text else (), _places_fault)
"""One number for each node; equal ones beside each other may be counted."""

WORD = ValueKind("word", fault=_one_word(_BATCH_WORD.fullmatch, _BAD_BATCH_WORD))
"""One word of the language of a batch system."""

LIST = ValueKind(
    "list", lambda text: expand_names(text) if text else (), _list_fault, needs_text=True
)
"""Names with ranges, such as `lyon/rhone[1-4]`."""

HOSTS = ValueKind(
    "hosts", lambda text: expand_hosts(text) if text else (), _list_fault, needs_text=True
)
"""Hosts with ranges, such as `node[01-16,20] master`."""

HOST = ValueKind("host", without_brackets, _one_word(is_host, _BAD_HOST))
"""The name or address of one host, without the brackets of an IPv6 address."""

USER = ValueKind("user", fault=_one_word(is_user, _BAD_USER))
"""A login."""

COMMAND = ValueKind("command", fault=_one_word(is_command, _BAD_COMMAND))
"""A program to start: its name or its path."""

RAW = ValueKind("text", fault=TEXT.fault)
"""Text whose variables are replaced where it is used, not where it is written."""
