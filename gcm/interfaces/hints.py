"""Resolves annotations of functions one by one, so that each failure names its annotation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class Hints:
    """The resolved annotations of a function, and a sentence for each that could not be resolved.

    An unresolved annotation is kept as its text. Keys are names of parameters, or 'return'.
    """

    types: Mapping[str, Any]
    problems: Mapping[str, str]

    def of(self, name: str) -> Any:
        """Return the annotation of a parameter, or of 'return'; `Any` if there is none."""
        return self.types.get(name, Any)


def resolve_hints(function: Callable[..., Any], owner: type[Any]) -> Hints:
    """Resolve the annotations of a method of `owner`, extras of `Annotated` included."""
    function = inspect.unwrap(function)
    names = {
        parameter.__name__: parameter
        for scope in (owner, function)
        for parameter in getattr(scope, "__type_params__", ())
    }
    names[owner.__name__] = owner
    types: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name, written in getattr(function, "__annotations__", {}).items():
        try:
            types[name] = _resolve(written, getattr(function, "__globals__", {}), names)
        except Exception as error:  # an annotation is user code and may raise anything
            types[name] = str(written)
            problems[name] = _problem(name, written, error)
    return Hints(types, problems)


def split_annotated(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split `Annotated[X, extras...]` into X and the extras; anything else has no extras."""
    if get_origin(annotation) is Annotated:
        bare, *extras = get_args(annotation)
        return bare, tuple(extras)
    return annotation, ()


def _resolve(written: Any, module: dict[str, Any], names: dict[str, Any]) -> Any:
    # get_type_hints reads nothing of its argument but the annotations.
    holder: Any = SimpleNamespace(__annotations__={"it": written})
    return get_type_hints(holder, module, names, include_extras=True)["it"]


def _problem(name: str, written: Any, error: Exception) -> str:
    place = "the result" if name == "return" else f"parameter '{name}'"
    if isinstance(error, NameError):
        return (
            f"the annotation '{written}' of {place} uses '{error.name}', which its module does "
            "not define at run time (is it imported only for the type checker?)"
        )
    return f"the annotation '{written}' of {place} cannot be read: {error}"
