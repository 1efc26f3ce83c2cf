"""Operations of known classes as text for another module."""

from __future__ import annotations

import ast
import inspect
import sys
import types
from functools import reduce
from typing import Annotated, Any, ForwardRef, Literal, Union, get_args, get_origin

_ANYTHING = "typing.Any"


class _Text:
    """Text in the place of an annotation or a default: a signature shows it as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def operation_text(python: inspect.Signature) -> tuple[str, set[str]]:
    """Return a signature with `self`, and the lines that import what its annotations name.

    A default that no literal stands for is `...`; a type that no other module can import is `Any`.

    >>> def wait(until: float = float("inf")) -> None: ...
    >>> operation_text(inspect.signature(wait, eval_str=True))
    ('(self, until: float = ...) -> None', set())
    """
    imports: set[str] = set()
    empty = inspect.Parameter.empty
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if inspect.Parameter.POSITIONAL_ONLY in [one.kind for one in python.parameters.values()]:
        own = own.replace(kind=inspect.Parameter.POSITIONAL_ONLY)
    parameters = [own]
    for one in python.parameters.values():
        typed, default = one.annotation, one.default
        parameters.append(
            one.replace(
                annotation=typed if typed is empty else _Text(_annotation(typed, imports)),
                default=default if default is empty else _Text(_default(default)),
            )
        )
    result = python.return_annotation
    if result is not inspect.Signature.empty:
        result = _Text(_annotation(result, imports))
    return str(python.replace(parameters=parameters, return_annotation=result)), imports


def _default(value: object) -> str:
    text = repr(value)
    try:
        read = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return "..."
    return text if type(read) is type(value) else "..."


def _annotation(typed: Any, imports: set[str]) -> str:
    """Return an annotation as text, and add what it needs to `imports`."""
    if isinstance(typed, str | ForwardRef):
        return typed if isinstance(typed, str) else typed.__forward_arg__
    if typed is None or typed is type(None):
        return "None"
    if typed is ...:
        return "..."
    if isinstance(typed, list):  # the parameters of a Callable
        return f"[{_listed(typed, imports)}]"
    origin, inside = get_origin(typed), get_args(typed)
    if origin is None:
        return _name(typed, imports)
    if origin is Annotated:
        return _annotation(inside[0], imports)
    if origin is Union or origin is types.UnionType:
        return " | ".join(_annotation(one, imports) for one in inside)
    if origin is Literal:
        values = [_default(one) for one in inside]
        imports.add("import typing")
        return _ANYTHING if "..." in values else f"typing.Literal[{', '.join(values)}]"
    name = _name(origin, imports)
    return name if name == _ANYTHING else f"{name}[{_listed(inside, imports) or '()'}]"


def _listed(many: Any, imports: set[str]) -> str:
    return ", ".join(_annotation(one, imports) for one in many)


def _name(known: Any, imports: set[str]) -> str:
    """Return the name that a class or a type variable has in other modules."""
    module = getattr(known, "__module__", "")
    name = getattr(known, "__qualname__", "") or getattr(known, "__name__", "")
    name = name or getattr(known, "_name", "")
    try:
        found = reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        found = None
    if found is not known:
        module, name = "typing", "Any"
    if module == "builtins":
        return str(name)
    imports.add(f"import {module}")
    return f"{module}.{name}"
