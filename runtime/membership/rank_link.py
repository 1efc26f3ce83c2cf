"""A rank's connection to its front-end, without the component framework: a rank starts quickly."""

from __future__ import annotations

import _thread

from runtime.later import logger
from runtime.machine.calls import NotServed, Served, stub
from runtime.machine.contracts import Routes
from runtime.machine.paths import clustering_path
from runtime.machine.wrapper import RankWrapper
from runtime.membership.room import read_key
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed
from runtime.transport.lean import LeanChannel
from runtime.transport.messages import CALL, Target

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

PEERS = "/ranks/"
"""How the path of a rank begins when another rank calls it."""

FOR_PEERS = ("come", "meet")
"""The operations that other ranks may call; all others are for the component above."""

COUPLING = "coupling"
"""The interface of messages between codes; see `runtime.coupling`."""


_log = logger(__name__)


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
        self._served = Served()
        above = clustering_path(name.rpartition(":")[0])
        self.wrapper = RankWrapper(name, self._served, self._call_above, above)
        self._channel = _Shared.dial(address, self.credentials, PATIENCE)
        self._lock = _thread.allocate_lock()
        self._coupled: tuple[Hear, Lose] | None = None
        self._early: list[tuple[str, tuple[Any, ...]]] = []
        self._lost = ""

    def expect_ranks(self) -> Found:
        """Listen for ranks of other clusters; return what these have to know."""
        from runtime.membership.doorstep import open_doors

        rank = int(self.name.rpartition(":")[2])
        self.doors, found = open_doors(self._room, rank, self._reach)
        return found

    def _call_above(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call the component of the cluster; nothing happens once its front-end has gone."""
        self._note(Target(self.name, interface, operation), args)

    def routes_of(self, path: str) -> Routes:
        """Return the contract of another rank, by which it is asked to connect to this one."""
        return stub(Routes, lambda *call: self._note(Target(path, *call[:2]), call[2]))

    def _note(self, target: Target, args: tuple[Any, ...]) -> None:
        try:
            self._channel.note(target, *args)
        except ChannelClosed:
            return

    def post(self, path: str, operation: str, *args: Any) -> None:
        """Send something to another part of the coupling; nothing happens once all has gone.

        Any thread may do so, but the one that listens must not: it may wait.
        """
        self._note(Target(path, COUPLING, operation), args)

    def couple(self, hear: Hear, lose: Lose) -> None:
        """Pass on what other codes say from now on, and what they have said so far."""
        with self._lock:
            self._coupled = hear, lose
            early, self._early = self._early, []
            for operation, args in early:
                hear(operation, args)
            if self._lost:
                lose(self._lost)

    def wait_for_go(self) -> None:
        """Hear what is said until the program may run; raises ChannelClosed."""
        while not self.wrapper.may_go:
            self._take_next()

    def listen(self, lost: Callable[[], None]) -> None:
        """Hear what is said until the front-end has gone, then call `lost`."""
        while True:
            try:
                self._take_next()
            except ChannelClosed as end:
                self._lose(str(end))
                lost()
                return

    def _take_next(self) -> None:
        frame = self._channel.receive()
        answer: object = None
        try:
            target, args, _ = self._channel.opened(frame)
            if target.interface == COUPLING:
                self._hear(target.operation, args)
            elif frame.kind == CALL:
                answer = self.wrapper.answer(target.interface, target.operation, args)
            elif target.component.startswith(PEERS) and target.operation not in FOR_PEERS:
                raise NotServed(f"another rank may not call {target.interface}.{target.operation}")
            else:
                self._served.call(target.interface, target.operation, args)
        except Exception as error:  # whatever is wrong with one call, others are heard
            answer = error
            _log.error("a call to this rank failed: %s: %s", type(error).__name__, error)
        self._channel.answer(frame, answer)

    def _hear(self, operation: str, args: tuple[Any, ...]) -> None:
        with self._lock:
            if self._coupled is None:
                self._early.append((operation, args))
            else:
                self._coupled[0](operation, args)

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
