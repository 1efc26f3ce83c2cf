"""Whether a value of one annotated type may be passed where another is expected.

A false alarm would stop a correct assembly, a miss only shows later, so doubtful cases are
accepted: `Any`, missing annotations, type variables, constructs that cannot be compared
(`ParamSpec`, `TypeGuard`, ...) and text that could not be resolved meeting a resolved type fit
everything. Two unresolved texts are compared as text. Generics are compared argument by argument;
containers are taken for covariant. Arrays are compared by class alone, without their shape and
element type.
"""

from __future__ import annotations

import collections
import operator
import types
import typing
from collections import abc
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

_NOTHING: type[Any] = type(None)

# The numeric tower of type checkers, which issubclass does not know.
_PROMOTED: dict[Any, tuple[Any, ...]] = {float: (int,), complex: (int, float)}

# Generics whose only argument is the type of their elements.
_ELEMENTAL = frozenset(
    (
        list,
        set,
        frozenset,
        collections.deque,
        abc.Iterable,
        abc.Iterator,
        abc.Collection,
        abc.Container,
        abc.Reversible,
        abc.Sequence,
        abc.MutableSequence,
        abc.Set,
        abc.MutableSet,
    )
)

_MAPPINGS = frozenset(
    (
        dict,
        collections.OrderedDict,
        collections.defaultdict,
        abc.Mapping,
        abc.MutableMapping,
    )
)


def fits(found: Any, expected: Any) -> bool:
    """Return whether a value of type `found` may be passed where `expected` is wanted."""
    found, expected = _plain(found), _plain(expected)
    if isinstance(found, str) or isinstance(expected, str):
        return found == expected or not (isinstance(found, str) and isinstance(expected, str))
    if found == expected or _is_open(found) or _is_open(expected) or expected is object:
        return True
    if found in (typing.Never, typing.NoReturn):
        return True
    if _is_union(found):
        return all(fits(member, expected) for member in get_args(found))
    if _is_union(expected):
        return any(fits(found, member) for member in get_args(expected))
    if get_origin(found) is Literal:
        return _literal_fits(found, expected)
    if get_origin(expected) is Literal:
        return False
    return _class_fits(found, expected)


def element_of(annotation: Any) -> Any:
    """Return the type of the parts that a multicast call makes of a value of this type.

    An array's parts are arrays of the same type. Returns `Any` where that is not known, and None
    where values of the type certainly cannot be taken apart.
    """
    annotation = _plain(annotation)
    if _is_union(annotation):
        elements = [element_of(member) for member in get_args(annotation)]
        known = tuple(element for element in elements if element is not None)
        return _union(known) if known else None
    origin = get_origin(annotation) or annotation
    if not isinstance(origin, type) or _is_open(origin) or origin is object:
        return Any
    if _is_array(origin):
        return annotation
    if issubclass(origin, str | bytes | bytearray | abc.Mapping | abc.Set):
        return None
    arguments = get_args(annotation)
    if origin is tuple:
        return _tuple_element(arguments)
    if origin in _ELEMENTAL:
        return arguments[0] if arguments else Any
    return Any if hasattr(origin, "__getitem__") or _is_protocol(origin) else None


def describe(annotation: Any) -> str:
    """Return a type as it would be written."""
    if isinstance(annotation, str):
        return annotation
    if annotation is _NOTHING:
        return "None"
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__qualname__.rpartition("<locals>.")[2]
    return repr(annotation).replace("typing.", "").replace("collections.abc.", "")


def _plain(annotation: Any) -> Any:
    """Remove what does not matter for a value: `Annotated`, aliases, names of new types."""
    while True:
        if annotation is None:
            return _NOTHING
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, ForwardRef):
            annotation = annotation.__forward_arg__
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif _is_alias(annotation) or _is_alias(get_origin(annotation)):
            annotation = _unaliased(annotation)
        else:
            return annotation


def _is_alias(annotation: Any) -> bool:
    """Return whether this was made by the `type` statement of Python 3.12 and later."""
    return type(annotation).__name__ == "TypeAliasType"


def _unaliased(annotation: Any) -> Any:
    """Return the type behind a named alias, with its type parameters filled in."""
    alias = get_origin(annotation) or annotation
    filled = dict(zip(alias.__type_params__, get_args(annotation), strict=False))
    unfilled = getattr(alias.__value__, "__parameters__", ())
    if not filled or not unfilled:
        return alias.__value__
    return alias.__value__[tuple(filled.get(parameter, Any) for parameter in unfilled)]


def _is_open(annotation: Any) -> bool:
    return annotation is Any or isinstance(annotation, TypeVar)


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType)


def _is_array(kind: type[Any]) -> bool:
    return hasattr(kind, "shape")


def _is_protocol(kind: type[Any]) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _literal_fits(found: Any, expected: Any) -> bool:
    values = get_args(found)
    if get_origin(expected) is Literal:
        return all((type(value), value) in _typed(get_args(expected)) for value in values)
    return all(fits(type(value), expected) for value in values)


def _typed(values: tuple[Any, ...]) -> list[tuple[type[Any], Any]]:
    return [(type(value), value) for value in values]


def _class_fits(found: Any, expected: Any) -> bool:
    giver, taker = get_origin(found) or found, get_origin(expected) or expected
    if not (isinstance(giver, type) and isinstance(taker, type)):
        return True
    if not _is_kind(giver, taker):
        return False
    if _is_array(giver):
        return True
    return _arguments_fit(giver, get_args(found), taker, get_args(expected))


def _is_kind(found: type[Any], expected: type[Any]) -> bool:
    if issubclass(found, _PROMOTED.get(expected, ())):
        return True
    if _is_protocol(expected) and expected not in found.__mro__:
        return all(hasattr(found, name) for name in _methods(expected))
    try:
        return issubclass(found, expected)
    except TypeError:  # classes such as TypedDict, which do not support issubclass
        return True


def _methods(protocol: type[Any]) -> list[str]:
    return [
        name
        for base in protocol.__mro__
        if _is_protocol(base)
        for name, member in vars(base).items()
        if isinstance(member, types.FunctionType)
    ]


def _arguments_fit(
    giver: type[Any], given: tuple[Any, ...], taker: type[Any], taken: tuple[Any, ...]
) -> bool:
    if not given or not taken:
        return True
    if giver is tuple:
        return _tuple_fits(given, taker, taken)
    covariant = any({giver, taker} <= family for family in (_ELEMENTAL, _MAPPINGS, {type}))
    if not (covariant or giver is taker) or len(given) != len(taken):
        return True
    # Arguments of other generics may be contravariant, so that either direction is accepted.
    return all(
        fits(one, other) or (not covariant and fits(other, one))
        for one, other in zip(given, taken, strict=True)
    )


def _tuple_fits(given: tuple[Any, ...], taker: type[Any], taken: tuple[Any, ...]) -> bool:
    if taker is not tuple:
        return taker not in _ELEMENTAL or fits(_tuple_element(given), taken[0])
    if Ellipsis in given or Ellipsis in taken:
        return fits(_tuple_element(given), _tuple_element(taken))
    return len(given) == len(taken) and all(map(fits, given, taken))


def _tuple_element(arguments: tuple[Any, ...]) -> Any:
    members = tuple(argument for argument in arguments if argument is not Ellipsis)
    return _union(members) if members else Any


def _union(members: tuple[Any, ...]) -> Any:
    return operator.getitem(Union, members)
