"""Calls, answers and refusals as frames: JSON first, bytes in the other parts. Pure.

The JSON of a call are two parts, what is called and with what, so that a listener knows whether it
is for this caller before it reads more. What comes from the other end is data and nothing else,
whatever it claims to be.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gcm.records import dataclass
from runtime.errors import GridError
from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Reason, text
from runtime.shown_text import shown_lines
from runtime.transport.frames import Frame, Part

GREETING, CALL, ANSWER, REFUSAL = 1, 2, 3, 4
PROTOCOL = 2
"""What both ends have to speak; told in the greeting."""

MOST_BYTES = 32 << 20
MOST_TEXT = 4 << 10
"""Characters of each part of a refusal."""

_BYTES = "$bytes"  # {"$bytes": 1} stands for the first part behind the JSON


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operation of a service."""

    service: str
    operation: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        """Return what is called."""
        return f"{self.service}.{self.operation}"


def greeting_frame(principal: str) -> Frame:
    """Return what a listener says first, to somebody who has shown a certificate."""
    return _frame(GREETING, 0, {"protocol": PROTOCOL, "principal": principal})


def call_frame(number: int, call: Call) -> Frame:
    """Return the frame of a call.

    >>> opened(call_frame(1, Call("staging", "get", ("user:ana", b"raw"))))
    Call(service='staging', operation='get', arguments=('user:ana', b'raw'))
    """
    frame = _frame(CALL, number, list(call.arguments))
    heading = json.dumps([call.service, call.operation], separators=(",", ":")).encode()
    return Frame(CALL, number, [heading, *frame.parts])


def answer_frame(number: int, value: Any) -> Frame:
    """Return the frame of an answer."""
    return _frame(ANSWER, number, value)


def refusal_frame(number: int, error: GridError) -> Frame:
    """Return the frame of an error; values that are none are a bad request."""
    reason = error.reason if isinstance(error, Refused) else Reason.BAD_REQUEST
    fields = {
        "what": error.what,
        "reason": str(reason),
        "place": error.place,
        "cause": error.cause,
        "cure": error.cure,
    }
    return _frame(REFUSAL, number, {name: one[:MOST_TEXT] for name, one in fields.items()})


def heading_of(part: Part) -> tuple[str, str]:
    """Return the service and the operation that the first part of a call names.

    Raises:
        PeerError: it names none.
    """
    match _value([part]):
        case [str(service), str(operation)]:
            return service, operation
    raise PeerError("a frame came that is neither a call nor an answer")


def opened(frame: Frame) -> Any:
    """Return what is in a frame: a `Call`, a value, or the `Refused` of a refusal.

    Raises:
        PeerError: it is not what a member of a lab would send.
    """
    heading = heading_of(frame.parts[0]) if frame.kind == CALL and frame.parts else ()
    value = _value(frame.parts[1:] if heading else frame.parts)
    match frame.kind, value:
        case (int(kind), _) if kind == ANSWER:
            return value
        case (int(kind), {"protocol": int(), "principal": str()}) if kind == GREETING:
            return value
        case (int(kind), [*arguments]) if kind == CALL and heading:
            return Call(*heading, tuple(arguments))
        case (int(kind), {"what": _, "reason": _, "place": _, "cause": _, "cure": _}) if (
            kind == REFUSAL
        ):
            fields = {name: shown_lines(text(one)[:MOST_TEXT]) for name, one in value.items()}
            reason = fields["reason"] if fields["reason"] in set(Reason) else ""
            return Refused(**fields | {"reason": reason})
    raise PeerError("a frame came that is neither a call nor an answer")


def _frame(kind: int, number: int, value: Any) -> Frame:
    parts: list[Part] = [b""]

    def keep(one: Any) -> dict[str, int]:
        if not isinstance(one, bytes | bytearray | memoryview):
            raise TypeError(f"{type(one).__name__} is not plain data")
        parts.append(one)
        return {_BYTES: len(parts) - 1}

    parts[0] = json.dumps(value, default=keep, separators=(",", ":"), allow_nan=False).encode()
    frame = Frame(kind, number, parts)
    if frame.size > MOST_BYTES:
        raise PeerError(f"{frame.size} bytes are too many for one call")
    return frame


def _value(parts: Sequence[Part]) -> Any:
    if not parts:
        raise PeerError("a frame came that is empty")

    taken: set[int] = set()  # each part once: a reference is small, and what it refers to is not

    def resolved(found: dict[str, Any]) -> Any:
        if list(found) != [_BYTES]:
            return found
        index = found[_BYTES]
        if isinstance(index, int) and 0 < index < len(parts) and index not in taken:
            taken.add(index)
            return bytes(parts[index])
        raise PeerError("a frame came that speaks of bytes which are not there")

    try:
        return json.loads(bytes(parts[0]), object_hook=resolved, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise PeerError("a frame came that is no JSON", cause=str(error)) from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")
