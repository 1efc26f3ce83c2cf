"""Dataclasses without generated code, so that programs start faster.

`dataclasses` generates and compiles up to eight methods for each class, which takes about a
millisecond. In a program with a hundred classes that takes longer than all the rest of the start.
Where no class needs it, `dataclasses` is not even imported: a rank starts a tenth faster without.
"""

from __future__ import annotations

from operator import attrgetter
from reprlib import recursive_repr

__all__ = ["dataclass"]

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import dataclass  # type checkers know what this one does
    from typing import Any
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


_NONE = object()
"""No default."""

_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")
"""Annotations with a meaning beyond the type of a field."""


class _Item:
    """One field: its name, where its value comes from, and what it is used for."""

    __slots__ = ("compare", "default", "factory", "init", "name", "repr")

    def __init__(self, name: str, default: object = _NONE) -> None:
        self.name = name
        self.default = default
        self.factory: Any = _NONE
        self.init = self.repr = self.compare = True


def _made(plain: type[Any], frozen: bool, eq: bool) -> type[Any]:
    own = dict(plain.__dict__)
    plain.__doc__ = plain.__doc__ or plain.__name__  # else one is made from the signature, slowly
    made, fields = (_simple if _is_simple(plain, own) else _other)(plain)
    compared = _getter([one.name for one in fields if one.compare])
    methods: dict[str, Any] = {"__repr__": _show([one.name for one in fields if one.repr])}
    if eq:
        # A class that says what is equal, but not how it is hashed, has None for `__hash__`.
        methods |= {"__eq__": _equality(compared), "__hash__": _hash(compared) if frozen else None}
    methods = {name: one for name, one in methods.items() if own.get(name) is None}
    methods["__init__"] = _initialiser(made, [one for one in fields if one.init])
    if frozen:
        state, set_state = _states([one.name for one in fields])
        methods |= {"__setattr__": _refuse_change, "__delattr__": _refuse_removal}
        methods |= {"__getstate__": state, "__setstate__": set_state}
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def _is_simple(plain: type[Any], own: dict[str, Any]) -> bool:
    """Return whether the fields of a class can be determined without `dataclasses`."""
    defaults = [own[name] for name in plain.__annotations__ if name in own]
    return (
        "__slots__" not in own
        and not any(hasattr(base, "__dataclass_fields__") for base in plain.__mro__[1:])
        and not any(type(one).__module__ == "dataclasses" for one in defaults)
        and not any(type(one).__hash__ is None for one in defaults)
        and all(
            isinstance(said, str) and not any(word in said for word in _SPECIAL)
            for said in plain.__annotations__.values()
        )
    )


def _simple(plain: type[Any]) -> tuple[type[Any], list[_Item]]:
    """Return a class with slots, made of one whose fields have annotations and defaults."""
    names = tuple(plain.__annotations__)
    fields = [_Item(name, plain.__dict__.get(name, _NONE)) for name in names]
    left_out = {*names, "__dict__", "__weakref__"}
    body = {name: one for name, one in plain.__dict__.items() if name not in left_out}
    body |= {"__slots__": names, "__match_args__": names, "__replace__": _replaced}
    made: Any = type(plain)
    made = made(plain.__name__, plain.__bases__, body)
    made.__qualname__ = plain.__qualname__
    for name in ("__dataclass_fields__", "__dataclass_params__"):
        setattr(made, name, _Stored(name, plain))
    return made, fields


class _Stored:
    """What `dataclasses` stores in a class, made on demand."""

    def __init__(self, name: str, plain: type[Any]) -> None:
        self._name = name
        self._plain = plain
        self._found: Any = None

    def __get__(self, _: object, owner: type[Any]) -> Any:
        if self._found is None:
            self._found = self._looked_up()
        return self._found

    def _looked_up(self) -> Any:
        import dataclasses

        plain = self._plain
        body = {name: vars(plain)[name] for name in plain.__annotations__ if name in vars(plain)}
        body["__annotations__"] = dict(plain.__annotations__)
        body |= {"__module__": plain.__module__, "__doc__": plain.__doc__}  # else it makes one
        shadow = type(plain.__name__, (), body)
        known: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(shadow)
        return getattr(known, self._name)


def _replaced(self: Any, /, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(self, **changes)


def _other(plain: type[Any]) -> tuple[type[Any], list[_Item]]:
    """Return what `dataclasses` makes of a class, without methods."""
    import dataclasses

    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(plain)
    fields = []
    for one in dataclasses.fields(made):
        item = _Item(one.name)
        if one.default is not dataclasses.MISSING:
            item.default = one.default
        if one.default_factory is not dataclasses.MISSING:
            item.factory = one.default_factory
        item.init, item.repr, item.compare = one.init, one.repr, one.compare
        fields.append(item)
    return made, fields


def _initialiser(made: type[Any], fields: Sequence[_Item]) -> Callable[..., None]:
    setters = [getattr(made, one.name).__set__ for one in fields]
    defaults = tuple(one.default for one in fields)
    tails = [None if _NONE in (tail := defaults[at:]) else tail for at in range(len(fields) + 1)]
    count = len(fields)
    has_more = hasattr(made, "__post_init__")

    def initialise(self: Any, /, *given: Any, **named: Any) -> None:
        if named or len(given) != count:
            tail = None if named or len(given) > count else tails[len(given)]
            given = _completed(made, fields, given, named) if tail is None else given + tail
        for put, value in zip(setters, given, strict=True):
            put(self, value)
        if has_more:
            self.__post_init__()

    return initialise


def _completed(
    made: type[Any], fields: Sequence[_Item], given: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    """Return all values in order; raises TypeError as a function with these arguments does."""
    values, missing = list(given), []
    for one in fields[len(given) :]:
        if one.name in named:
            values.append(named.pop(one.name))
        elif one.default is not _NONE:
            values.append(one.default)
        elif one.factory is not _NONE:
            values.append(one.factory())
        else:
            missing.append(one.name)
    name, known = made.__qualname__, {one.name for one in fields}
    if named:
        why = "several values for" if known & named.keys() else "an unexpected value for"
        raise TypeError(f"{name}() got {why} {', '.join(map(repr, named))}")
    if len(values) > len(fields):
        raise TypeError(f"{name}() takes {len(fields)} values, but {len(given)} were given")
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


def _show(names: Sequence[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def shown(self: Any) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in names]
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    return shown


def _states(
    names: Sequence[str],
) -> tuple[Callable[[Any], list[Any]], Callable[[Any, Sequence[Any]], None]]:
    def state(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def set_state(self: Any, state: Sequence[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return state, set_state


def _refuse_change(_: object, name: str, __: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_removal(_: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")
