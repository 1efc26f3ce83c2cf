"""The constructor arguments of a content class that a component cannot provide."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

GIVE_DEFAULTS = (
    "give its parameters defaults, or declare attributes: size: Annotated[int, attribute()] = 1"
)

_OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def needed_arguments(content: Callable[..., Any]) -> list[str]:
    """Return the parameters without which `content` cannot be called.

    >>> needed_arguments(Server)    # doctest: +SKIP
    ['port']
    """
    try:
        parameters = inspect.signature(content).parameters.values()
    except (TypeError, ValueError):  # some built-in classes have no signature
        return []
    return [one.name for one in parameters if one.default is one.empty and one.kind not in _OPEN]
