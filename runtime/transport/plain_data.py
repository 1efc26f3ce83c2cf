"""Looks through a pickle before it is opened for what could cost too much, or crash. Pure."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.transport.frames import Part

_NAME, _OTHER, _STOP, _TUPLE, _GET, _LONG_GET = -1, -2, -3, -4, -5, -6

_KINDS = {
    b"(N\x88\x89)]}\x8faesu\x90\x91\x94\x97\x98": 0,
    b"t\x85\x86\x87": _TUPLE, b"h": _GET, b"j": _LONG_GET,
    b"\x80K": 1, b"M": 2, b"J": 4, b"G\x95": 8,
    b"\x8cC\x8a": 11, b"XB\x8b": 14, b"\x8d\x8e\x96": 18,
    b"c\x93": _NAME, b".": _STOP,
}  # fmt: skip
"""How many bytes follow an operation; beyond ten, how long the number is of those that follow.

What chooses where to keep a value is not among them: nobody writes that since protocol 4, and a
place can be so far away that a pickle of ten bytes takes all memory. What names a class or a
function is left to the opening, which ends there with an error that has the name.
"""

_SIZES = {_TUPLE: 0, _GET: 1, _LONG_GET: 4}
"""How many bytes follow the operations that are counted."""

_KIND = [next((n for ones, n in _KINDS.items() if byte in ones), _OTHER) for byte in range(256)]


MOST_NESTED = 1000
"""How deep tuples may be nested: the hash of a key needs stack for each level, without a limit."""

MOST_HASHED, PER_BYTE = 1_000_000, 4
"""How many values the hashes of keys may go through, and how many more for each byte of a pickle.

A tuple keeps no hash: one that has another twice, which has another twice, doubles with each level.
"""

_FEW_GETS = 8
"""Up to so many values that come again do not make much of a small pickle."""

_GETS = {pickle.BINGET, pickle.LONG_BINGET}
_TUPLES = {pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3}
_TO_MARK = {pickle.TUPLE, pickle.APPENDS, pickle.SETITEMS, pickle.ADDITEMS, pickle.FROZENSET}
_TAKES = {pickle.APPEND: 1, pickle.SETITEM: 2,
          pickle.TUPLE1: 1, pickle.TUPLE2: 2, pickle.TUPLE3: 3}  # fmt: skip
_HASHING = {pickle.SETITEM: 2, pickle.SETITEMS: 2, pickle.ADDITEMS: 1, pickle.FROZENSET: 1}
"""What hashes each, or each second, value that it takes."""

_ONE = (0, 1, False)
_LONG = (0, 1, True)
_LONGS = {pickle.LONG1, pickle.LONG4}
_LONG_BYTES = pickle.LONG1 + pickle.LONG4

MOST_TUPLES = 10_000
"""How many keys may be tuples, whose hashes can be made alike: each is compared with all others."""

_WORD = 8
"""The bytes of the longest integer that may be a key.

Longer ones with one hash are easily found, and an integer keeps none: each use takes its length.
"""

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
    tuples = gets = longs = 0
    while at < end:
        kind = kinds[data[at]]
        at += 1
        if kind > 10:
            kind -= 10
            size = int.from_bytes(data[at : at + kind], "little")
            longs += size > _WORD and data[at - 1] in _LONG_BYTES
            at += kind + size
        elif kind >= 0:
            at += kind
        elif kind == _TUPLE:
            tuples += 1
        elif kind in (_GET, _LONG_GET):
            gets += 1
            at += _SIZES[kind]
        elif kind == _OTHER:
            return f"its byte {at - 1} begins no plain data"
        else:
            if not longs and tuples <= MOST_NESTED and (tuples < 2 or gets <= _FEW_GETS):
                return ""  # mostly: nothing else has to be looked at
            return _fault_of_nesting(bytes(data[:at]))
    return f"it has {end} bytes, but says more"


def _fault_of_nesting(data: bytes) -> str:
    try:
        found = _Looked(data)
    except IndexError:
        return "it takes values that it does not have"
    if found.deepest > MOST_NESTED:
        return f"its tuples are nested {found.deepest} deep"
    if found.has_long_keys:
        return f"one of its keys is an integer of more than {_WORD} bytes"
    if found.tuple_keys > MOST_TUPLES:
        return f"{found.tuple_keys} of its keys are tuples"
    if found.hashed > MOST_HASHED + PER_BYTE * len(data):
        return f"its tuples stand for {found.hashed} values to be hashed"
    return ""


class _Looked:
    """How deep tuples of a pickle are nested, and what is hashed when it is opened.

    It does what the opening does, with depth, number of values and whether a long integer is among
    them in place of each value. Of tuples that are hashed nowhere the largest one counts: whoever
    is given it may hash or show it.
    """

    def __init__(self, data: bytes) -> None:
        self.deepest = self.hashed = self.tuple_keys = 0
        self.has_long_keys = False
        largest, at, end = 0, 0, len(data) - 1
        stack: list[tuple[int, int, bool]] = []
        marks: list[int] = []
        memo: list[tuple[int, int, bool]] = []
        while at < end:
            operation, kind = data[at : at + 1], _SIZES.get(_KIND[data[at]], _KIND[data[at]])
            at += 1
            size = kind % 10 if kind > 10 else kind
            number = int.from_bytes(data[at : at + size], "little")
            at += size + (number if kind > 10 else 0)
            if operation == pickle.MARK:
                marks.append(len(stack))
            elif operation == pickle.MEMOIZE:
                memo.append(stack[-1])
            elif operation in _GETS:
                stack.append(memo[number])
            elif operation in _TO_MARK or operation in _TAKES:
                first = marks.pop() if operation in _TO_MARK else len(stack) - _TAKES[operation]
                if first < 0:
                    raise IndexError
                taken = stack[first:]
                del stack[first:]
                if operation in _TUPLES:
                    made = _tuple_of(taken)
                    self.deepest, largest = max(self.deepest, made[0]), max(largest, made[1])
                    stack.append(made)
                elif operation in _HASHING:
                    self._hash(taken[:: _HASHING[operation]])
                    if operation == pickle.FROZENSET:  # it keeps its hash
                        stack.append(_ONE)
            elif operation not in _MAKES_NONE:
                stack.append(_LONG if operation in _LONGS and number > _WORD else _ONE)
        self.hashed = max(self.hashed, largest)

    def _hash(self, keys: list[tuple[int, int, bool]]) -> None:
        for depth, values, is_long in keys:
            self.hashed += values
            self.tuple_keys += depth > 0
            self.has_long_keys |= is_long


def _tuple_of(taken: list[tuple[int, int, bool]]) -> tuple[int, int, bool]:
    depth = 1 + max((depth for depth, _, _ in taken), default=0)
    return depth, 1 + sum(values for _, values, _ in taken), any(one for _, _, one in taken)
