"""Looks through a pickle before it is opened for what could cost too much, or crash. Pure."""

from __future__ import annotations

import pickle

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


MOST_NESTED = 1000
"""How deep tuples may be nested: the hash of a key needs stack for each level, without a limit."""

_TUPLES = {pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3}
_TO_MARK = {pickle.TUPLE, pickle.APPENDS, pickle.SETITEMS, pickle.ADDITEMS, pickle.FROZENSET}
_TAKES = {pickle.APPEND: 1, pickle.SETITEM: 2,
          pickle.TUPLE1: 1, pickle.TUPLE2: 2, pickle.TUPLE3: 3}  # fmt: skip
_MAKES_NONE = {pickle.PROTO, pickle.FRAME, pickle.READONLY_BUFFER}


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
            return _fault_of_nesting(bytes(data[:at]))
    return f"it has {end} bytes, but says more"


def _fault_of_nesting(data: bytes) -> str:
    if sum(map(data.count, _TUPLES)) <= MOST_NESTED:  # mostly: nothing else has to be looked at
        return ""
    try:
        depth = _depth(data)
    except IndexError:
        return "it takes values that it does not have"
    return f"its tuples are nested {depth} deep" if depth > MOST_NESTED else ""


def _depth(data: bytes) -> int:
    """Return how deep tuples are nested; does what the opening does, with depths for values."""
    deepest, at, end = 0, 0, len(data) - 1
    stack: list[int] = []
    marks: list[int] = []
    memo: list[int] = []
    while at < end:
        operation, kind = data[at : at + 1], _KIND[data[at]]
        at += 1
        size = kind % 10 if kind > 10 else kind
        number = int.from_bytes(data[at : at + size], "little")
        at += size + (number if kind > 10 else 0)
        if operation == pickle.MARK:
            marks.append(len(stack))
        elif operation == pickle.MEMOIZE:
            memo.append(stack[-1])
        elif operation in (pickle.BINGET, pickle.LONG_BINGET):
            stack.append(memo[number])
        elif operation in _TO_MARK or operation in _TAKES:
            first = marks.pop() if operation in _TO_MARK else len(stack) - _TAKES[operation]
            if first < 0:
                raise IndexError
            taken = stack[first:]
            del stack[first:]
            if operation in _TUPLES:
                stack.append(1 + max(taken, default=0))
                deepest = max(deepest, stack[-1])
            elif operation == pickle.FROZENSET:  # keeps the hashes of what it has
                stack.append(0)
        elif operation not in _MAKES_NONE:
            stack.append(0)
    return deepest
