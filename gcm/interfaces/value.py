"""Passing by value: a copy that shares nothing with the caller."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from gcm.errors import CopyError

T = TypeVar("T")

_IMMUTABLE = frozenset({type(None), bool, int, float, complex, str, bytes, range, type})


def by_value(value: T) -> T:
    """Return a copy that shares nothing mutable with `value`; stubs stay references.

    One of our futures becomes a future of a copy of its result.

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
    return copy.deepcopy(value)


def no_copy(what: str, error: Exception, component: str, interface: str) -> CopyError:
    """Return the error to raise because copying `what` raised `error`."""
    return CopyError(
        f"{what} cannot be copied: {type(error).__name__}: {error}",
        component=component,
        interface=interface,
        cure="Pass plain values or a stub, which stays a reference, or let the class define "
        "__deepcopy__",
    )
