"""Lazy imports: a module is imported when one of its names is first used, so a rank starts fast."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logging import Logger


class LazyModule:
    """A module that is imported at the first use of one of its names; later uses cost nothing.

    Type checkers are shown the module itself:

        if TYPE_CHECKING:
            from runtime.mpi.collectives import plans
        else:
            plans = LazyModule("runtime.mpi.collectives.plans")
    """

    def __init__(self, module: str) -> None:
        """Remember the full name of the module."""
        self._module = module

    def __getattr__(self, name: str) -> Any:
        """Import the module, and keep what is asked for."""
        __import__(self._module)
        found = getattr(sys.modules[self._module], name)
        setattr(self, name, found)
        return found


def imported(module: str) -> Any:
    """Return a module of a package if it has been imported, and whole; None otherwise.

    What another thread is importing just now is in `sys.modules` already, without its names; its
    package has it once all of it was run.

    >>> imported("runtime.lazy_import") is sys.modules["runtime.lazy_import"]
    True
    >>> imported("runtime.of_no_such_name") is None
    True
    """
    package, _, name = module.rpartition(".")
    return getattr(sys.modules.get(package), name, None)


_QUIET = ("debug", "info")
"""Levels that are shown only where the program has set up `logging`, and so has imported it."""


def _unheard(*_: object, **__: object) -> None:
    """Write nothing, whatever a logger would take."""


class _LazyLog:
    """A logger that imports `logging` with the first message that is shown."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name in _QUIET and "logging" not in sys.modules:
            return _unheard
        import logging

        return getattr(logging.getLogger(self._name), name)


def logger(name: str) -> Logger:
    """Return the log with a name; `logging` is imported when a warning is written to it."""
    log: Any = _LazyLog(name)
    return log  # type: ignore[no-any-return]  # it does what a log does
