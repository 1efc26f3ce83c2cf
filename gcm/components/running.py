"""Running a whole program: the interface that it offers, and a context manager."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from gcm.components.model import Component

Running = TypeVar("Running", bound=Component)


class Runnable(Protocol):
    """The interface `run` of a program's root component, which `gcm run` calls."""

    def run(self) -> object:
        """Do the work; an int is the exit code of the program, other results are printed."""


@contextmanager
def running(component: Running) -> Iterator[Running]:
    """Start `component` for a `with` block; at its end stop and terminate it.

    >>> with running(hello.assemble()) as app:    # doctest: +SKIP
    ...     app.stub("run", Runnable).run()

    Raises:
        IllegalLifeCycleError: it cannot start, or calls inside do not end in time.
    """
    component.start()
    try:
        yield component
    finally:
        component.stop()
        component.terminate()
