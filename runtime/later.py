"""Modules that are imported when something of them is first used, so that a rank starts quickly."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logging import Logger


class Later:
    """Stands for a module until then; a name that was used once costs no more than in the module.

    Type checkers are shown the module itself:

        if TYPE_CHECKING:
            from runtime.mpi.collectives import plans
        else:
            plans = Later("runtime.mpi.collectives.plans")
    """

    def __init__(self, module: str) -> None:
        """Mean the module with this full name."""
        self._module = module

    def __getattr__(self, name: str) -> Any:
        """Import the module, and keep what is asked for."""
        __import__(self._module)
        found = getattr(sys.modules[self._module], name)
        setattr(self, name, found)
        return found


_QUIET = ("debug", "info")
"""What is shown only where somebody has set up `logging`, and so has imported it."""


def _unheard(*_: object) -> None:
    """Write nothing."""


class _LaterLog:
    """Stands for a log until something is written to it that is shown."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name in _QUIET and "logging" not in sys.modules:
            return _unheard
        import logging

        return getattr(logging.getLogger(self._name), name)


def logger(name: str) -> Logger:
    """Return the log with a name; `logging` is imported when a warning is written to it."""
    log: Any = _LaterLog(name)
    return log  # type: ignore[no-any-return]  # it does what a log does
