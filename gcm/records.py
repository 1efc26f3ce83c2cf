"""Dataclasses made without generating code, so that a program starts faster.

`dataclasses` writes and compiles the source of up to eight methods for each class, which takes
about a millisecond. A program with a hundred of them waits for that longer than for all the rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:  # type checkers know what this one does
    from dataclasses import dataclass
else:

    def dataclass(*, slots, frozen=False, eq=True):
        """Make a class a dataclass with slots, as `dataclasses.dataclass` does.

        No other options are known. `field`, `fields`, `replace` and `asdict` of `dataclasses` work
        with such classes too.

        >>> @dataclass(frozen=True, slots=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1)
        Point(x=1, y=0)
        """
        if not slots:
            raise TypeError("records have slots")
        return lambda plain: _made(plain, frozen, eq)


def _made(plain: type[Any], frozen: bool, eq: bool) -> type[Any]:
    own = dict(plain.__dict__)
    plain.__doc__ = plain.__doc__ or plain.__name__  # else one is made of the signature, slowly
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(plain)
    told = fields(made)
    compared = _getter([one.name for one in told if one.compare])
    methods: dict[str, Any] = {"__repr__": _shown}
    if eq:
        # A class that says what is equal, but not how it is hashed, has None for `__hash__`.
        methods |= {"__eq__": _equality(compared), "__hash__": _hash(compared) if frozen else None}
    methods = {name: one for name, one in methods.items() if own.get(name) is None}
    methods["__init__"] = _initialiser(made, [one for one in told if one.init])
    if frozen:
        methods |= {"__setattr__": _refuse_change, "__delattr__": _refuse_removal}
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def _initialiser(made: type[Any], told: Sequence[Field[Any]]) -> Callable[..., None]:
    setters = [getattr(made, one.name).__set__ for one in told]
    defaults = tuple(one.default for one in told)
    tails = [None if MISSING in (tail := defaults[at:]) else tail for at in range(len(told) + 1)]
    count = len(told)
    has_more = hasattr(made, "__post_init__")

    def initialise(self: Any, /, *given: Any, **named: Any) -> None:
        if named or len(given) != count:
            tail = None if named or len(given) > count else tails[len(given)]
            given = _completed(made, told, given, named) if tail is None else given + tail
        for put, value in zip(setters, given, strict=True):
            put(self, value)
        if has_more:
            self.__post_init__()

    return initialise


def _completed(
    made: type[Any], told: Sequence[Field[Any]], given: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    """Return all values in order; raises TypeError as a function with these arguments does."""
    values, missing = list(given), []
    for one in told[len(given) :]:
        if one.name in named:
            values.append(named.pop(one.name))
        elif one.default is not MISSING:
            values.append(one.default)
        elif one.default_factory is not MISSING:
            values.append(one.default_factory())
        else:
            missing.append(one.name)
    name, known = made.__qualname__, {one.name for one in told}
    if named:
        why = "several values for" if known & named.keys() else "an unexpected value for"
        raise TypeError(f"{name}() got {why} {', '.join(map(repr, named))}")
    if len(values) > len(told):
        raise TypeError(f"{name}() takes {len(told)} values, but {len(given)} were given")
    if missing:
        raise TypeError(f"{name}() needs a value for {', '.join(map(repr, missing))}")
    return tuple(values)


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _equality(compared: Callable[[Any], object]) -> Callable[[Any, object], Any]:
    def is_equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    return is_equal


def _hash(compared: Callable[[Any], object]) -> Callable[[Any], int]:
    return lambda self: hash(compared(self))


@recursive_repr()
def _shown(self: Any) -> str:
    told = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr]
    return f"{self.__class__.__qualname__}({', '.join(told)})"


def _refuse_change(_: object, name: str, __: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_removal(_: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
