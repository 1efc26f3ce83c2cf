"""Where decorators store their marks on operations and on interface classes."""

from __future__ import annotations

import inspect
from typing import Any

from gcm.errors import IllegalTypeError

# `typing` takes every attribute of a Protocol class for a member that implementations must have,
# except those with this prefix.
_PREFIX = "_abc_gcm_"


def put_mark(target: object, key: str, value: object, decorator: str) -> None:
    """Mark a function or a class. Raises IllegalTypeError for anything else."""
    if not (inspect.isfunction(target) or inspect.isclass(target)):
        raise IllegalTypeError(
            f"@{decorator} marks an operation or an interface class, not {target!r}",
            cure="Put it directly above 'def' or 'class'",
        )
    setattr(target, _PREFIX + key, value)


def get_mark(target: object, key: str) -> Any:
    """Return the mark of a function or a class (or of the nearest base of it), or None."""
    return getattr(target, _PREFIX + key, None)


def is_one_by_one(interface: type[Any], operation: str) -> bool:
    """Return whether a gathercast interface serves `operation` for each client separately."""
    return bool(get_mark(getattr(interface, operation), "one_by_one"))
