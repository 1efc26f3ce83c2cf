"""Runs a hook of the controllers of many components: all of them, even if some raise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gcm.components.controller import Controller

if TYPE_CHECKING:
    from gcm.components.model import Component


def hooked(parts: Iterable[Component], hook: str) -> list[Controller]:
    """Return the controllers of `parts` that have `hook`, in their order."""
    return [controller for part in parts for controller in part.membrane.having(hook)]


def tell(controllers: Iterable[Controller], hook: str) -> list[Exception]:
    """Run a hook of all `controllers`, even if some raise, and return the failures."""
    failures: list[Exception] = []
    for controller in controllers:
        try:
            getattr(controller, hook)()
        except Exception as error:  # all others must still be called
            failures.append(error)
    return failures


def raise_failures(failures: Sequence[Exception], what: str) -> None:
    """Raise a single failure as it is, several as a group."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(f"several components failed while they {what}", failures)
