"""A rank's connection to its front-end, without the component framework: a rank starts quickly."""

from __future__ import annotations

import _thread

from runtime.membership.room import read_key
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed
from runtime.transport.lean import LeanChannel
from runtime.transport.messages import Target

TYPE_CHECKING = False  # known to type checkers; importing `typing` would delay every rank
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable
    from typing import Any

    from runtime.membership.doorstep import Found
    from runtime.transport.frames import Frame

    Hear = Callable[[str, tuple[Any, ...]], None]
    Lose = Callable[[str], None]

PATIENCE = 30.0  # seconds to find the front-end
CONTROL = "control"
"""The interface over which a rank and its front-end speak about the rank itself."""


COUPLING = "coupling"
"""The interface of messages between codes; see `runtime.coupling`."""

ROUTES = "routes"
"""The interface over which ranks ask each other to connect; see `runtime.wire`."""

LEARNED = "learned"
"""On both of these: what was learned of routes, told to a front-end and by it to other ranks."""

AGAIN = "again"
"""Over `ROUTES`, from the front-end: routes that were found closed may be tried again."""

FIGURES = "figures"
"""Over `ROUTES`, from the front-end: how has this rank found others? `COUNTED` is the answer."""

COUNTED = "counted"


class _Shared(LeanChannel):
    """A channel on which several threads send."""

    __slots__ = ("_sending",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._sending = _thread.allocate_lock()

    def _send(self, frame: Frame) -> None:
        with self._sending:
            super()._send(frame)


class RankLink:
    """What a rank says to its front-end and hears from it."""

    def __init__(self, room: str, name: str) -> None:
        """Connect; raises OSError without a key in the room, Unreachable, AuthenticationFailed."""
        address, secret, reach, certificate = read_key(room)
        self.name = name
        self.credentials = Credentials(secret, name, certificate)
        self.doors: list[_socket.socket] = []
        """Where this rank listens for others, until its post takes them."""
        self._room = room
        self._reach = reach
        self.answer: dict[str, Any] = {}
        """What the front-end said when all were ready; see `runtime.membership.everybody`."""
        self._channel = _Shared.dial(address, self.credentials, PATIENCE)
        self._lock = _thread.allocate_lock()
        self._coupled: tuple[Hear, Lose] | None = None
        self._early: list[tuple[str, tuple[Any, ...]]] = []
        self._beckoned: Hear | None = None
        self._early_beckons: list[tuple[str, tuple[Any, ...]]] = []
        self._lost = ""

    def expect_ranks(self) -> Found:
        """Listen for ranks of other clusters; return what these have to know."""
        from runtime.membership.doorstep import open_doors

        rank = int(self.name.rpartition(":")[2])
        self.doors, found = open_doors(self._room, rank, self._reach)
        return found

    def call(self, operation: str, *args: Any) -> Any:
        """Call the front-end and wait for the result; only before `listen`."""
        return self._channel.call(Target(self.name, CONTROL, operation), *args)

    def note(self, operation: str, *args: Any) -> None:
        """Tell the front-end something; nothing happens once it has gone."""
        try:
            self._channel.note(Target(self.name, CONTROL, operation), *args)
        except ChannelClosed:
            return

    def post(self, path: str, operation: str, *args: Any) -> None:
        """Send something to another part of the coupling; nothing happens once all has gone.

        Any thread may do so, but the one that listens must not: it may wait.
        """
        try:
            self._channel.note(Target(path, COUPLING, operation), *args)
        except ChannelClosed:
            return

    def couple(self, hear: Hear, lose: Lose) -> None:
        """Pass on what other codes say from now on, and what they have said so far."""
        with self._lock:
            self._coupled = hear, lose
            early, self._early = self._early, []
            for operation, args in early:
                hear(operation, args)
            if self._lost:
                lose(self._lost)

    def beckon(self, path: str, operation: str, *args: Any) -> None:
        """Ask another rank to connect to this one; nothing happens once all has gone."""
        try:
            self._channel.note(Target(path, ROUTES, operation), *args)
        except ChannelClosed:
            return

    def when_beckoned(self, hear: Hear) -> None:
        """Pass on what other ranks ask for from now on, and what they have asked for so far."""
        with self._lock:
            self._beckoned = hear
            early, self._early_beckons = self._early_beckons, []
            for operation, args in early:
                hear(operation, args)

    def listen(self, hear: Callable[[str], None]) -> None:
        """Pass on what the front-end asks for until it has gone, then say `lost`."""
        while True:
            try:
                frame = self._channel.receive()
            except ChannelClosed as end:
                self._lose(str(end))
                hear("lost")
                return
            target, args, _ = self._channel.opened(frame)
            if target.interface == COUPLING:
                self._hear(target.operation, args)
            elif target.interface == ROUTES:
                self._hear_beckon(target.operation, args)
            else:
                hear(target.operation)

    def _hear(self, operation: str, args: tuple[Any, ...]) -> None:
        with self._lock:
            if self._coupled is None:
                self._early.append((operation, args))
            else:
                self._coupled[0](operation, args)

    def _hear_beckon(self, operation: str, args: tuple[Any, ...]) -> None:
        with self._lock:
            if self._beckoned is None:
                self._early_beckons.append((operation, args))
            else:
                self._beckoned(operation, args)

    def _lose(self, why: str) -> None:
        with self._lock:
            self._lost = why
            if self._coupled is not None:
                self._coupled[1](why)


_current: RankLink | None = None


def current() -> RankLink | None:
    """Return the link of the rank that this process is, or None if it is none."""
    return _current


def remember(link: RankLink) -> None:
    """Let `current` return a link: this process is its rank, for as long as it lives."""
    global _current  # noqa: PLW0603 - a process is one rank at most
    _current = link
