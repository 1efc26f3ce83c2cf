"""Which packages a program imports that do not come with Python, from its source alone."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator

OURS = frozenset({"gcm", "runtime", "mpi4py"})
"""They are brought along, or checked by themselves."""

MOST_FILES = 200


def imported(folder: str, program: str) -> tuple[str, ...]:
    """Return the packages that a script, and the files beside it, cannot do without.

    Imports inside of functions and of `try` are not counted: a program may do without them. A file
    that cannot be read here has none.
    """
    found: dict[str, None] = {}
    base = os.path.dirname(os.path.join(folder, program))
    waiting, seen = [os.path.join(folder, program)], set[str]()
    while waiting and len(seen) < MOST_FILES:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        for name in _imports(file):
            top, *rest = name.split(".")
            beside = [os.path.join(one, top) for one in (base, folder)]
            own = [path + end for path in beside for end in (".py", "/__init__.py")]
            own += [os.path.join(path, *rest) + ".py" for path in beside]
            waiting += filter(os.path.isfile, own)
            is_own = any(os.path.exists(path + end) for path in beside for end in (".py", ""))
            if not is_own and top not in OURS and top not in sys.stdlib_module_names:
                found[top] = None
    return tuple(sorted(found))


def _imports(file: str) -> Iterator[str]:
    """Yield the full names of the modules that a file imports whenever it is imported itself."""
    try:
        with open(file, "rb") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Import):
            yield from (alias.name for alias in one.names)
        elif isinstance(one, ast.ImportFrom) and one.level == 0 and one.module:
            yield one.module
        elif isinstance(one, ast.With):
            waiting += one.body
