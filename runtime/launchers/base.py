"""The contract of every way to start a process: what a command, a process and a launcher are."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, Self

from gcm.records import dataclass
from runtime.launchers.errors import LaunchError

if TYPE_CHECKING:
    from runtime.launchers.archive import Folder, LinkTarget
    from runtime.launchers.contents import Rule, Sealed
    from runtime.web_address import WebAddress

    Source = Path | bytes | Folder | LinkTarget | WebAddress
    """What can be staged: a file, or a folder with all that is in it; a text; one entry; a file of
    a web server, which is alone and goes to peers only."""


class OutputStream(StrEnum):
    """Where a process says something."""

    OUTPUT = "stdout"
    ERROR = "stderr"


class Reach(StrEnum):
    """Whom a signal reaches."""

    PROCESS = "process"
    """The command's own process, which may pass it on: what `mpiexec` wants."""
    GROUP = "group"
    """Its process group, as Ctrl-C on a terminal does."""
    TREE = "tree"
    """All that descends from it, also what left the group and the session."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to start.

    `environment` is laid over the one found at the place; None removes a name. `first_input` is
    written to stdin before anything else and appears neither in an argument list nor in an
    environment nor in the command's own `repr`: the way for a secret. Without `cwd` a command
    starts where the launcher starts: the current folder, or the home folder of a remote host.

    >>> Command(("hostname",), first_input=b"secret")
    Command(argv=('hostname',), environment=mappingproxy({}), cwd='')
    """

    argv: Sequence[str]
    environment: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    cwd: str = ""
    first_input: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        """Refuse what no system can start; raises ValueError."""
        if isinstance(self.argv, str):
            raise ValueError(f"argv is a list of words, not one text: {self.argv!r}")
        if not self.argv or not self.argv[0]:
            raise ValueError("a command needs at least the name of a program")
        texts = [*self.argv, self.cwd, *self.environment]
        texts += [value for value in self.environment.values() if value is not None]
        if any("\0" in text for text in texts):
            raise ValueError(f"the command {self.argv[0]!r} has a NUL character in its description")
        for name in self.environment:
            if not name or "=" in name:
                raise ValueError(f"{name!r} cannot be the name of an environment variable")


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: with a code of its own, or by a signal.

    `at` is when, by the monotonic clock of its host, before anything was done about it.

    >>> str(Exit(code=3)), str(Exit(signal=9))
    ('exit code 3', 'killed by SIGKILL')
    """

    code: int | None = None
    signal: int | None = None
    at: float = field(default=0.0, compare=False, repr=False)

    @property
    def ok(self) -> bool:
        """True for code 0."""
        return self.code == 0

    @property
    def shell_code(self) -> int:
        """The code a shell would report: 128 plus the number of a signal."""
        return self.code if self.code is not None else 128 + (self.signal or 0)

    @classmethod
    def of_returncode(cls, code: int) -> Exit:
        """Return the end that `subprocess` tells of, where a negative number is that of a signal.

        >>> str(Exit.of_returncode(-9))
        'killed by SIGKILL'
        """
        return cls(code=code) if code >= 0 else cls(signal=-code)

    @property
    def predicate(self) -> str:
        """What is said of a process that ended so.

        >>> f"ssh {Exit(code=255).predicate}; nice {Exit(signal=9).predicate}"
        'ssh ended with exit code 255; nice was killed by SIGKILL'
        """
        return f"{'ended with' if self.signal is None else 'was'} {self}"

    def __str__(self) -> str:
        """Say it in words."""
        if self.signal is None:
            return f"exit code {self.code}"
        try:
            return f"killed by {signal.Signals(self.signal).name}"
        except ValueError:
            return f"killed by signal {self.signal}"


class Sink(Protocol):
    """Who gets what a process says; called from the launcher's thread, in order, never blocking."""

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take the next bytes of a stream."""

    def finished(self) -> None:
        """Record that nothing more will come, whatever the reason."""


class Process(Protocol):
    """A command that was asked for; all methods may be called from any thread but the launcher's.

    Errors that prevented or cut short the run are raised by `started` and `wait`.
    """

    @property
    def pid(self) -> int | None:
        """Its number at the place where it runs; None before it has started."""

    @property
    def exit(self) -> Exit | None:
        """How it ended; None as long as it has not."""

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines of its stderr, for an error message."""

    def started(self, timeout: float | None = None) -> None:
        """Return once it runs; raises LaunchError (CommandNotFound, StartTimeout, ...)."""

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """Write to its stdin, waiting while it does not read; raises InputClosed, StillRunning."""

    def close_input(self) -> None:
        """Close its stdin behind all that was written."""

    def signal(self, number: int, reach: Reach = Reach.GROUP) -> None:
        """Send a signal; nothing happens once it has ended."""

    def kill(self) -> None:
        """End it and all that descends from it, at once."""

    def stop(self, grace: float = 2.0) -> Exit:
        """Ask it to end, kill what is left after `grace` seconds, and return how it ended."""

    def wait(self, timeout: float | None = None) -> Exit:
        """Return how it ended, all its output delivered; raises StillRunning, LaunchError."""

    def when_done(self, call: Callable[[], None]) -> None:
        """Call once it has ended or was lost: from the launcher's thread, or now if it has."""


class Launcher(Protocol):
    """A place where processes can be started; closing it ends everything that runs there.

    Making one returns at once; the first call that needs the place waits for it. When the process
    that holds a launcher dies, by whatever cause, all it started is gone within five seconds.
    """

    @property
    def place(self) -> str:
        """What messages call it: "local", or the last host of the way."""

    passage: str
    """How others reach processes there if not by ports of their own, once it is ready.

    It is a `runtime.transport.passage.Passage` as text, "" where each may listen itself.
    """

    def ready(self, timeout: float | None = None) -> Facts:
        """Return what is known of the place once it answers; raises LaunchError."""

    def start(self, command: Command, sink: Sink | None = None) -> Process:
        """Ask for a command and return without waiting; `sink` gets what it says."""

    def make_folder(
        self, parent: str = "", timeout: float | None = None, *, name: str = "gcm-"
    ) -> str:
        """Make a private folder at the place, removed when the launcher closes.

        Its name begins with `name`. One that was sealed is removed only if nothing in it is new.
        """

    def stage(self, files: Mapping[str, Source], folder: str) -> None:
        """Bring files, folders, links to `folder` under the given names; raises StagingFailed."""

    @property
    def sealed(self) -> Mapping[str, Sealed]:
        """What each sealed folder held, and what counts for nothing in it."""

    def seal(self, folder: str, rules: Sequence[Rule] = (), timeout: float | None = None) -> None:
        """Remember what a folder made by `make_folder` holds; with results in it, it will stay."""

    def remove_folder(self, folder: str) -> None:
        """Remove a folder made by `make_folder`, whatever is in it."""

    def close(self) -> None:
        """End all commands, remove all folders, let go of the place; twice is once."""

    def abandon(self) -> None:
        """End a connection over which nothing comes any more, without waiting for the far end.

        What waits for an answer gets an error, and all else is done that `close` can do.
        """

    def __enter__(self) -> Self:
        """Return the launcher, to be closed at the end of the block."""

    def __exit__(self, *_: object) -> None:
        """Close it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a place says about itself when it answers for the first time."""

    host: str
    python: str
    version: tuple[int, ...]
    user: int
    guard: int


def last_words(process: Process) -> str:
    """Return how a process that is over has ended, and the end of its stderr."""
    try:
        ended = str(process.wait(0))
    except LaunchError as fault:
        return str(fault)
    return "\n".join([ended, *process.tail])
