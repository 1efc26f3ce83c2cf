"""Who is told what a run does while it does it."""

from __future__ import annotations

from typing import Protocol

TRACEBACK = "traceback"
"""The stream of what ended the program of a rank."""


class Listener(Protocol):
    """Progress and output; called from the engine's thread, in order, and must not wait."""

    def state(self, path: str, state: str, detail: str = "") -> None:
        """Know that a part of the machine is in another state.

        `path` is a component's, such as `/grid/site0/cluster1/wrapper0`. The states: `starting`,
        `up`, `ready`, `running`, `done`, `ended`, `failed`, `lost`.
        """
        ...

    def line(self, identifier: str, stream: str, text: str) -> None:
        """Take one line of output.

        `identifier` is a rank's (`0:1:2`), a cluster's (`0:1`) when its `mpiexec` speaks, or the
        name of a helper process; `stream` is `stdout`, `stderr`, or `traceback` for what the
        exception was with which the program of a rank has ended.
        """
        ...


class Silent:
    """A listener that takes no interest."""

    def state(self, path: str, state: str, detail: str = "") -> None:
        """Do nothing."""

    def line(self, identifier: str, stream: str, text: str) -> None:
        """Do nothing."""
