"""Lets classes of our own stand in for those of mpi4py: `isinstance` accepts objects of both."""

from __future__ import annotations

import copyreg
from importlib import import_module
from typing import Any


def _reduced(substitute: SubstituteType) -> str | tuple[Any, ...]:
    """Pickle a class by where it is, which is not where it says; a user's by its name as ever."""
    home = substitute.__dict__.get("_home")
    return substitute.__qualname__ if home is None else (_class_at, (home, substitute.__name__))


def _class_at(module: str, name: str) -> object:
    return getattr(import_module(module), name)


class SubstituteType(type):
    """The type of a class that stands in for a class of mpi4py, which it names as `_stands_for`.

    Objects of that class, such as `COMM_SELF` or what a library made with plain mpi4py, count as
    its instances. A user's subclasses are ordinary classes.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        """Let a substitute say that it is of mpi4py's module: native code asks, as petsc4py's."""
        super().__init__(name, bases, namespace)
        if "_stands_for" in namespace:
            cls._home = namespace["__module__"]
            cls.__module__ = namespace["_stands_for"].__module__

    def __instancecheck__(cls, instance: Any) -> bool:
        """Accept instances of the class and of the one it stands for."""
        native = cls.__dict__.get("_stands_for")
        return super().__instancecheck__(instance) or (
            native is not None and isinstance(instance, native)
        )

    def __subclasscheck__(cls, subclass: type) -> bool:
        """Accept subclasses of the class and of the one it stands for."""
        native = cls.__dict__.get("_stands_for")
        return super().__subclasscheck__(subclass) or (
            native is not None and issubclass(subclass, native)
        )


copyreg.pickle(SubstituteType, _reduced)
