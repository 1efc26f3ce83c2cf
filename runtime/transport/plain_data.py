"""Looks through a pickle before it is opened for what could cost more than it is long. Pure."""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; a rank that starts up does without `typing`
if TYPE_CHECKING:
    from runtime.transport.frames import Part

_NAME, _OTHER, _STOP = -1, -2, -3

_KINDS = {
    b"(N\x88\x89)]}\x8faesut\x85\x86\x87\x90\x91\x94\x97\x98": 0,
    b"\x80Kh": 1, b"M": 2, b"Jj": 4, b"G\x95": 8,
    b"\x8cC\x8a": 11, b"XB\x8b": 14, b"\x8d\x8e\x96": 18,
    b"c\x93": _NAME, b".": _STOP,
}  # fmt: skip
"""How many bytes follow an operation; beyond ten, how long the number is of those that follow.

What chooses where to keep a value is not among them: nobody writes that since protocol 4, and a
place can be so far away that a pickle of ten bytes takes all memory. What names a class or a
function is left to the opening, which ends there with an error that has the name.
"""

_KIND = [next((n for ones, n in _KINDS.items() if byte in ones), _OTHER) for byte in range(256)]


def fault_of(data: Part) -> str:
    """Return why a pickle is not opened; nothing if it consists of plain data, or names a class.

    >>> import pickle
    >>> fault_of(pickle.dumps({"rank": (1, 2.5, None)}, protocol=5))
    ''
    >>> fault_of(b"Nr\\xff\\xff\\xff\\x7f.")
    'its byte 1 begins no plain data'
    """
    at, end, kinds = 0, len(data), _KIND
    while at < end:
        kind = kinds[data[at]]
        at += 1
        if kind > 10:
            kind -= 10
            at += kind + int.from_bytes(data[at : at + kind], "little")
        elif kind >= 0:
            at += kind
        elif kind == _OTHER:
            return f"its byte {at - 1} begins no plain data"
        else:
            return ""
    return f"it has {end} bytes, but says more"
