"""The public names of a package that imports them when they are first used.

Its stub, `__init__.pyi`, is the one list of them: `from gcm.errors import GcmError as GcmError`.
Type checkers and editors read it, and so does this module, once the first name is asked for. So a
process that asks for none of them starts as if there were none.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module

TYPE_CHECKING = False  # known to type checkers; ranks do not import it for this
if TYPE_CHECKING:
    from typing import Any

    Homes = dict[str, tuple[str, str]]


def find(package: str, name: str) -> Any:
    """Return the object that has a public name of a package; `__all__` are all these names.

    Raises:
        AttributeError: the stub of the package has no such name.
    """
    homes = homes_in(package)
    if name == "__all__":
        return list(homes)
    if name not in homes:
        raise AttributeError(f"module '{package}' has no attribute '{name}'")
    module, known_as = homes[name]
    if module == package:
        return import_module(f"{package}.{known_as}")
    return getattr(import_module(module), known_as)


@cache
def homes_in(package: str) -> Homes:
    """Return whence each public name of a package comes: a module, and what it is called there."""
    source = sys.modules[package].__file__ or ""
    with open(source.removesuffix("c") + "i", encoding="utf-8") as stub:
        return homes_of(stub.read())


def homes_of(stub: str) -> Homes:
    """Return what the imports of a stub say.

    >>> homes_of("from gcm.errors import GcmError as GcmError\\n")
    {'GcmError': ('gcm.errors', 'GcmError')}
    """
    found = {}
    for statement in f"\n{stub}".split("\nfrom ")[1:]:
        module, _, names = statement.partition(" import ")
        for each in names.strip("() \n").split(","):
            if each.strip():
                name, _, shown_as = each.split()
                found[shown_as] = module, name
    return found
