"""The names by which a document can refer to Python objects: `module:name`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from gcm.components.membrane import MembraneDescription


class NamelessError(Exception):
    """A Python object that no document can name."""


def class_name(known: type[Any]) -> str:
    """Return the name that finds a class again.

    Raises:
        NamelessError: it is local to a function, or its module holds another object of that name.
    """
    found: object = sys.modules.get(known.__module__)
    for part in known.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not known:
        raise NamelessError(
            f"the class {known.__qualname__} cannot be found by name in the module "
            f"'{known.__module__}'; define it at the top of a module"
        )
    return f"{_module_name(known.__module__)}:{known.__qualname__}"


def object_name(value: object, what: str, near: Iterable[str] = ()) -> str:
    """Return the name of an object that some module holds, those named in `near` first.

    Raises:
        NamelessError: no module holds it; `what` says what it is.
    """
    for module in _modules(near):
        for name, held in vars(module).items():
            if held is value:
                return f"{_module_name(module.__name__)}:{name}"
    raise NamelessError(f"{what} has no name in any module; give it one at the top of a module")


def membrane_name(description: MembraneDescription) -> str:
    """Return the name that finds a description of a membrane again.

    Raises:
        NamelessError: no module holds it.
    """
    near = [controller.__module__ for controller in description.controllers]
    return object_name(description, f"the membrane '{description.name}'", near)


def _modules(near: Iterable[str]) -> Iterator[ModuleType]:
    for name in dict.fromkeys([*near, *sorted(sys.modules)]):
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            yield module


def _module_name(name: str) -> str:
    """Return the name under which others import a module, also of the running program."""
    if name != "__main__":
        return name
    main = sys.modules["__main__"]
    if main.__spec__ is not None:
        return main.__spec__.name
    stem, _ = os.path.splitext(os.path.basename(getattr(main, "__file__", None) or name))
    return stem
