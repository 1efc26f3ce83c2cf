"""The options that a program sets in `mpi4py.rc`, or its environment, before it imports MPI."""

from __future__ import annotations

import os

from mpi4py import rc

YES = (True, "yes", "true", "on", "y", "1")
_NO = (False, "no", "false", "off", "n", "0")
LEVELS = ("single", "funneled", "serialized", "multiple")
_ALLOWED: dict[str, tuple[object, ...]] = {
    "initialize": (*YES, *_NO),
    "threads": (*YES, *_NO),
    "thread_level": LEVELS,
    "finalize": (None, *YES, *_NO),
    "errors": ("exception", "default", "abort", "fatal"),
}


def option(name: str) -> object:
    """Return a value of `mpi4py.rc`, or of its environment variable, which takes precedence.

    For a value that mpi4py does not know, warn and return the default.
    """
    value = os.environ.get(f"MPI4PY_RC_{name.upper()}")
    asked: object = getattr(rc, name) if value is None else value.lower()
    if asked in _ALLOWED[name]:
        return asked
    import warnings

    warnings.warn(f"mpi4py.rc.{name}: unexpected value {asked!r}", RuntimeWarning, stacklevel=2)
    return getattr(type(rc), name)
