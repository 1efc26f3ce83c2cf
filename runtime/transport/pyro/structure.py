"""How much a message of a stranger may become when it is read: looked at before it is.

A value takes far more memory than its text: in serpent, which is parsed as Python, about 500 times
as much, in JSON 25 times. Text inside of string literals does not, so it is not counted.
"""

from __future__ import annotations

import re

from runtime.transport.errors import FrameError
from runtime.transport.frames import Part
from runtime.transport.pyro_messages import JSON, SERPENT

MOST_STRUCTURE = {SERPENT: 1 << 18, JSON: 1 << 22}
"""How many bytes of a message may be outside of string literals, by its serializer."""

_HEAD = re.compile(rb"# serpent [^\n]*\n")
_STRING = re.compile(
    rb"""'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+\"""", re.DOTALL
)
_INSTEAD = b"\0"
# What could make Python see other strings than those above: comments, several quotes, prefixes.
_AMBIGUOUS = re.compile(rb"[#'\"\\]|[A-Za-z0-9_\0]\0")


def check_structure(serializer: int, payload: Part) -> None:
    """Return if a message in a serializer of text can be read without taking much memory.

    Raises:
        FrameError: it has too many values, or is not what the serializer writes.
    """
    most = MOST_STRUCTURE.get(serializer)
    if most is None or len(payload) <= min(MOST_STRUCTURE.values()):
        return
    text = _HEAD.sub(b"", bytes(payload), count=1)
    outside = _STRING.sub(_INSTEAD, text)
    if len(outside) > most:
        raise FrameError(
            f"a message with {len(outside)} bytes of values beside its texts; at most {most} are"
            " allowed",
            cure="Send large arrays as bytes, or in several calls",
        )
    if serializer == SERPENT and _AMBIGUOUS.search(outside):
        raise FrameError("a message that serpent does not write")
