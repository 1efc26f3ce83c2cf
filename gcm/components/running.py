"""From start to end: the interface that a whole program offers, and the block in which it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from gcm.components.model import Component

Running = TypeVar("Running", bound=Component)


class Runnable(Protocol):
    """What a component offers that is a program: `gcm run` calls the root's interface `run`."""

    def run(self) -> object:
        """Do the work; an int is the exit code of the program, other results are printed."""
        ...


@contextmanager
def running(component: Running) -> Iterator[Running]:
    """Start `component` for the length of a `with` block; at its end stop and terminate it.

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
