"""Facts as lines of text: how a run is recorded, and read again.

A record begins with a line that says what it is and in which version; each further line is one fact
as JSON. A line is whole or absent: a record that was cut, or is still being written, has a last
line without an end, which is left out. Whoever reads one that has more to say than it knows passes
over records and fields of other names; a version is for a record that would be misunderstood.

A record may come from anybody, so its texts are cleaned when it is read, and values of other types
than the fields have are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Any, BinaryIO, get_args, get_origin, get_type_hints

from runtime.errors import GridError
from runtime.shown_text import shown
from runtime.views.facts import Fact, OutputWritten, Record, RunPlanned
from runtime.views.stream import cleaned

VERSION = 1

_HEAD = "facts of a run"
_MOST_IN_LINE = 32 << 20
_MOST_PARTS = 2_000_000
"""Values and containers in a line, which take many times its bytes: more than a machine has."""

_MOST_SECONDS = 1e10
"""The latest time and the longest duration, which can be shown as a date: some centuries."""

_MOST_NUMBER = 1 << 63
_LONGEST_NAME = 1000
_RECORDS: Mapping[str, type] = {kind.__name__: kind for kind in get_args(Record)}


class UnreadableFacts(GridError):
    """What should be a record of a run is none, or is one of another version."""


def heading() -> bytes:
    """Return the first line of a record."""
    return _line({_HEAD: VERSION})


def line_of(fact: Fact) -> bytes:
    """Return a fact as a line of a record."""
    plain = {
        "time": round(fact.time, 6),
        "name": fact.name,
        "fact": type(fact.record).__name__,
        "record": fact.record,
    }
    return _line(plain)


def read_facts(stream: BinaryIO, file: str, *, may_be_empty: bool = False) -> Iterator[Fact]:
    """Yield the facts of a record, up to its end or to where it was cut.

    One that was cut within its first line has none, if it `may_be_empty`: its writer was killed.

    Raises:
        UnreadableFacts: the first line is not that of a record of this version, or another one is
            no fact. `file` is named in the message.
    """
    whole = _whole_lines(stream, file)
    first = next(whole, b"")
    if not first and may_be_empty:
        return
    _check_heading(first, file)
    for number, line in enumerate(whole, 2):
        try:
            plain = _parsed(line)
            kind = _RECORDS.get(plain["fact"])
            if kind is None:
                continue
            time, name = _value(float, plain["time"]), _value(str, plain["name"])
            record = _value(kind, plain["record"])
        except (_Misfit, ValueError, KeyError, TypeError, RecursionError) as fault:
            raise UnreadableFacts(
                f"line {number} is not a fact of a run: {shown(str(fault))}",
                place=file,
                cure="Only gcm-deploy --record writes such files",
            ) from fault
        if kind is RunPlanned:  # all its texts are names, which have one line
            record = cleaned(record, _one_line)
        elif kind is not OutputWritten:
            record = cleaned(record)
        yield Fact(time, _one_line(name), record)


def _one_line(name: str) -> str:
    return shown(name, _LONGEST_NAME)


def _parsed(line: bytes) -> Any:
    """Return what a line of JSON says; raises _Misfit for one that says too much, ValueError."""
    if line.count(b",") + line.count(b"[") + line.count(b"{") > _MOST_PARTS:
        raise _Misfit("fact", f"more than {_MOST_PARTS:,} values")
    return json.loads(line, parse_constant=_no_number)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _whole_lines(stream: BinaryIO, file: str) -> Iterator[bytes]:
    while (line := stream.readline(_MOST_IN_LINE)).endswith(b"\n"):
        yield line
    if len(line) == _MOST_IN_LINE:
        raise UnreadableFacts(f"a line has more than {_MOST_IN_LINE >> 20} MiB", place=file)


def _check_heading(line: bytes, file: str) -> None:
    try:
        version = json.loads(line)[_HEAD]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableFacts(
            "this is no record of a run", place=file, cure="gcm-deploy --record FILE writes one"
        ) from None
    if version != VERSION:
        raise UnreadableFacts(
            f"this record is of version {shown(str(version))}, and this gcm-deploy reads version"
            f" {VERSION}",
            place=file,
            cure="Read it with the gcm-deploy that wrote it",
        )


def _line(plain: Mapping[str, Any]) -> bytes:
    return json.dumps(plain, separators=(",", ":"), default=_plain).encode() + b"\n"


def _plain(value: Any) -> Any:
    """Return what JSON can say of a value; output that is no UTF-8 stays what it is."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Mapping):
        return dict(value)
    return {one.name: getattr(value, one.name) for one in fields(value)}


class _Misfit(Exception):
    """A value is not of the type that a field has."""

    def __init__(self, kind: Any, value: Any) -> None:
        super().__init__(f"{value!r} is no {getattr(kind, '__name__', kind)}")


def _value(kind: Any, plain: Any) -> Any:
    """Return a value of a type from what JSON says of it; raises _Misfit, ValueError."""
    origin, args = get_origin(kind), get_args(kind)
    if hasattr(kind, "__dataclass_fields__"):
        return _record(kind, plain)
    if origin is tuple and isinstance(plain, list):
        kinds = args[:1] * len(plain) if args[-1] is Ellipsis else args
        return tuple(_value(one, value) for one, value in zip(kinds, plain, strict=True))
    if origin is Mapping and isinstance(plain, dict):
        return {name: _value(args[1], value) for name, value in plain.items()}
    if origin is not None and origin not in (tuple, Mapping):
        return _one_of(kind, args, plain)
    if kind is bytes and isinstance(plain, str):
        return plain.encode("utf-8", "surrogateescape")
    if kind is float and type(plain) in (int, float):
        if not abs(plain) <= _MOST_SECONDS:
            raise _Misfit(kind, plain)
        return float(plain)
    if type(plain) is int and not abs(plain) < _MOST_NUMBER:
        raise _Misfit(kind, "a number of too many digits")
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(plain)
    if plain is None and kind is NoneType:
        return None
    if type(plain) is not kind:
        raise _Misfit(kind, plain)
    return plain


def _one_of(union: Any, kinds: tuple[Any, ...], plain: Any) -> Any:
    for kind in kinds:
        try:
            return _value(kind, plain)
        except (_Misfit, ValueError):
            continue
    raise _Misfit(union, plain)


def _record(kind: Any, plain: Any) -> Any:
    if not isinstance(plain, dict):
        raise _Misfit(kind, plain)
    known, needed = _fields_of(kind)
    if not needed <= plain.keys():
        raise _Misfit(kind, plain)
    return kind(**{name: _value(of, plain[name]) for name, of in known.items() if name in plain})


@cache
def _fields_of(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the types of the fields of a record, and which of them have no default."""
    hints, given = get_type_hints(kind), [one for one in fields(kind) if one.init]
    needed = (
        one.name for one in given if one.default is MISSING and one.default_factory is MISSING
    )
    return {one.name: hints[one.name] for one in given}, frozenset(needed)
