"""Who is told what a run does while it does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

TRACEBACK = "traceback"
"""The stream of what ended the program of a rank."""


class RunListener(Protocol):
    """Progress and output; called from the engine's thread, in order, and must not wait."""

    def state(self, path: str, state: str, detail: str = "") -> None:
        """Record that a part of the machine is in another state.

        `path` is a component's, such as `/grid/site0/cluster1/wrapper0`. The states: `starting`,
        `up`, `ready`, `running`, `stuck`, `done`, `ended`, `failed`, `lost`.
        """
        ...

    def output(self, identifier: str, stream: str, data: bytes, taken: Callable[[], None]) -> None:
        """Take some output: whole lines, unless it is the end or a piece of a very long line.

        `identifier` is a rank's (`0:1:2`), a cluster's (`0:1`) when its `mpiexec` speaks, or the
        name of a node or a helper process; `stream` is `stdout`, `stderr`, or `traceback` for what
        the exception was with which the program of a rank has ended. Call `taken`, from any thread,
        once nothing more has to be done about it: what ranks write waits for that, so that only so
        much is ever on its way.
        """
        ...


class Silent:
    """A listener that takes no interest."""

    def state(self, path: str, state: str, detail: str = "") -> None:
        """Do nothing."""

    def output(
        self,
        identifier: str,  # noqa: ARG002 - of no interest
        stream: str,  # noqa: ARG002
        data: bytes,  # noqa: ARG002
        taken: Callable[[], None],
    ) -> None:
        """Take it."""
        taken()
