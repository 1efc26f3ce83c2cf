"""What can be done with a code from Python: the two interfaces of its component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from gcm.records import dataclass
from runtime.coupling.code_run import CodeState
from runtime.coupling.mailbox import Message
from runtime.matching import ANY, Wildcard


@dataclass(frozen=True, slots=True)
class CodeStatus:
    """How a code is: `life` counts its starts, `why` says why it did not end well."""

    name: str
    state: CodeState
    ranks: int
    life: int
    exit_codes: Mapping[int, int]
    why: str = ""


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line that a rank wrote; `rank` is None where its `mpiexec` speaks."""

    rank: int | None
    stream: str
    text: str


class CodeControl(Protocol):
    """The interface `control` of a code."""

    def start(self) -> None:
        """Start it on all its ranks, and return when it runs.

        Raises CodeBusy if it has not ended, CodeNotStarted if it cannot start.
        """
        ...

    def stop(self, grace: float = 2.0) -> None:
        """Ask all ranks to end with SIGTERM, end at once what is left after `grace` seconds.

        Returns when the code has ended; raises CodeNotRunning.
        """
        ...

    def kill(self) -> None:
        """End it at once, and return when it has ended; raises CodeNotRunning."""
        ...

    def status(self) -> CodeStatus:
        """Return how it is."""
        ...

    def exit_codes(self) -> dict[int, int]:
        """Return the exit code of every rank that has ended, as a shell would report it."""
        ...

    def output(self) -> list[OutputLine]:
        """Return the last lines it wrote, at most 10,000, of all its lives."""
        ...

    def wait(self, timeout: float | None = None) -> dict[int, int]:
        """Return the exit codes once it has ended; raises CodeNotRunning, TimeoutError."""
        ...


class CodeMessages(Protocol):
    """The interface `messages` of a code: to its ranks and from them."""

    def send(self, value: Any, rank: int = 0, tag: int = 0, timeout: float | None = None) -> None:
        """Send a value to a rank; raises as `coupling.send` does."""
        ...

    def recv(
        self,
        rank: int | Literal[Wildcard.ANY] = ANY,
        tag: int | Literal[Wildcard.ANY] = ANY,
        timeout: float | None = None,
    ) -> Any:
        """Wait for a message of a rank and return its value; raises as `coupling.recv` does."""
        ...

    def receive(
        self,
        rank: int | Literal[Wildcard.ANY] = ANY,
        tag: int | Literal[Wildcard.ANY] = ANY,
        timeout: float | None = None,
    ) -> Message:
        """Wait for a message of a rank and return it with its rank and tag."""
        ...
