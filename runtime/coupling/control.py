"""The interfaces of a code's component: `control` and `messages`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from gcm.records import dataclass
from runtime.coupling.code_run import CodeState
from runtime.coupling.mailbox import Message
from runtime.matching import ANY, Wildcard


@dataclass(frozen=True, slots=True)
class CodeStatus:
    """The state of a code: `incarnation` counts its starts, `why` says why it failed."""

    name: str
    state: CodeState
    ranks: int
    incarnation: int
    exit_codes: Mapping[int, int]
    why: str = ""


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line of output; `rank` is None for a line of `mpiexec` itself."""

    rank: int | None
    stream: str
    text: str


class CodeControl(Protocol):
    """The interface `control` of a code."""

    def start(self) -> None:
        """Start the code on all its ranks, and return when it runs.

        Raises CodeBusy if the code has not ended, CodeNotStarted if it cannot start.
        """

    def stop(self, grace: float = 2.0) -> None:
        """Send SIGTERM to all ranks, and kill those left after `grace` seconds.

        Returns when the code has ended; raises CodeNotRunning.
        """

    def kill(self) -> None:
        """Kill the code, and return when it has ended; raises CodeNotRunning."""

    def status(self) -> CodeStatus:
        """Return the state of the code."""

    def exit_codes(self) -> dict[int, int]:
        """Return the exit code of every rank that has ended, as a shell would report it."""

    def output(self) -> list[OutputLine]:
        """Return the last lines of output, at most 10,000, over all runs of the code."""

    def wait(self, timeout: float | None = None) -> dict[int, int]:
        """Return the exit codes once the code has ended; raises CodeNotRunning, TimeoutError."""


class CodeMessages(Protocol):
    """The interface `messages` of a code: exchanges messages with its ranks."""

    def send(self, value: Any, rank: int = 0, tag: int = 0, timeout: float | None = None) -> None:
        """Send a value to a rank; raises as `coupling.send` does."""

    def recv(
        self,
        rank: int | Literal[Wildcard.ANY] = ANY,
        tag: int | Literal[Wildcard.ANY] = ANY,
        timeout: float | None = None,
    ) -> Any:
        """Wait for a message from a rank and return its value; raises as `coupling.recv` does."""

    def receive(
        self,
        rank: int | Literal[Wildcard.ANY] = ANY,
        tag: int | Literal[Wildcard.ANY] = ANY,
        timeout: float | None = None,
    ) -> Message:
        """Wait for a message from a rank and return it with its rank and tag."""
