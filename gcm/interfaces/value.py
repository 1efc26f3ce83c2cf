"""Passing by value: what crosses into an active object is the receiver's own."""

from __future__ import annotations

import concurrent.futures
import copy
from typing import Any, TypeVar

from gcm.interfaces.future import Future, after

T = TypeVar("T")

_IMMUTABLE = frozenset({type(None), bool, int, float, complex, str, bytes, range, type})


def by_value(value: T) -> T:
    """Return a copy that shares nothing mutable with `value`; stubs stay references.

    A future becomes one of a copy of its result.

    >>> original = [1, [2]]
    >>> copied = by_value(original)
    >>> copied == original, copied[1] is original[1]
    (True, False)
    """
    kind: Any = type(value)
    if kind in _IMMUTABLE:
        return value
    if kind is tuple and _IMMUTABLE.issuperset(map(type, value)):  # type: ignore[call-overload]  # a tuple here
        return value
    if isinstance(value, concurrent.futures.Future) and not isinstance(value, Future):
        standard: Any = value  # it cannot be copied itself
        following: Any = after([standard], lambda: by_value(standard.result()), "a result")
        return following  # type: ignore[no-any-return]  # a future for a future
    return copy.deepcopy(value)
