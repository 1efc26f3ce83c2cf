"""Several routes to a peer at once, the first of which that is proved is taken.

The shortest route has a short head start; then the next one is tried beside it, and so on. So a
route on which all that is said gets lost costs no more than the head start of those before. Where
the peer's system has taken a connection the way is open, and only the process is slow, as it would
be on any other route: it gets longer, or busy machines would open many times what they need.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Protocol

from runtime.lazy_import import logger
from runtime.routing import Route
from runtime.wire.connection_life import is_refused_everywhere
from runtime.wire.dialling.connecting import Attempt
from runtime.wire.dialling.system import SYSTEM, DiallingSystem
from runtime.wire.errors import PeerLost, PeerSilent

_log = logger(__name__)

CALL_BACK_TIMEOUT = 10.0
"""Seconds for a peer that was asked to dial to have done so."""

HEAD_START = 0.3
"""Seconds by which a route is tried before the next one."""

TAKEN_HEAD_START = 3.0
"""The same for a route on which the peer's system has taken the connection."""

MOST_AT_ONCE = 6
"""How many routes are tried at the same time."""

CALLED_AFTER_REFUSAL = 3.0
"""Seconds for a peer to dial at whose address nobody listens: if it lives, a firewall refuses."""

UNANSWERED = 3.0
"""Seconds after which it is told that the peer's system does not answer on the direct route.

It takes connections however busy its processes are: what is lost there is lost in the network."""

_AS_SLOW, _SLOW = 2.0, 1.0
"""A route of which nothing was heard has failed after so many times as long as the one that worked
has taken, or after so many seconds."""


class Called(Attempt):
    """Waits for a peer that was asked to dial. Its connection comes in by the listener."""

    def __init__(
        self,
        words: str,
        now: float,
        timeout: float = CALL_BACK_TIMEOUT,
        system: DiallingSystem = SYSTEM,
    ) -> None:
        self._words = words
        self._timeout = timeout
        self._idle = system.silent_descriptor()
        self.deadline = now + timeout

    def fileno(self) -> int:
        """Return something on which nothing ever happens."""
        return self._idle.fileno()

    @property
    def is_passive(self) -> bool:
        """Return True."""
        return True

    def describe(self) -> str:
        """Say what goes on."""
        return "it was asked to connect to here and has not yet"

    def step(self, now: float) -> None:
        """Raise PeerLost when the time is over."""
        if now >= self.deadline:
            self.close()
            raise PeerLost(
                f"{self._words} cannot be reached",
                cause=f"it was asked to connect to here and has not within {self._timeout:g} s",
            )

    def close(self) -> None:
        """Wait no longer."""
        self._idle.close()


class Starter(Protocol):
    """What begins to open routes, and learns what came of them."""

    tries: int
    failures: int

    def begin(self, peer: int, route: Route, now: float) -> Attempt:
        """Begin to open a connection by one route; raises PeerLost if it cannot be opened."""

    def reached(
        self, peer: int, route: Route, now: float, *, after: Sequence[tuple[Route, float]]
    ) -> None:
        """Learn that a peer was reached by a route, and which others had failed, and when."""

    def unanswered(self, peer: int, seconds: float) -> None:
        """Learn that the system of a peer has not answered for so long, on no route."""


class _Runner:
    """One route that is tried."""

    def __init__(self, number: int, route: Route, attempt: Attempt, begun: float) -> None:
        self.number = number
        self.route = route
        self.attempt = attempt
        self.begun = begun


class Race(Attempt):
    """Tries some routes, which are in the order in which they are wanted."""

    def __init__(
        self,
        starter: Starter,
        peer: int,
        routes: Sequence[Route],
        now: float,
        *,
        head_start: float = HEAD_START,
        most: int = MOST_AT_ONCE,
        system: DiallingSystem = SYSTEM,
    ) -> None:
        self._starter = starter
        self._peer = peer
        self._left = list(enumerate(routes))
        self._head_start = head_start
        self._most = most
        self.deadline = self._next_start = now
        self._given_up_at = float("inf")
        self._unanswered_at = now + UNANSWERED
        self._runners: list[_Runner] = []
        self._faults: dict[int, tuple[Route, PeerLost]] = {}  # by the place of the route
        self._failures: list[tuple[Route, float]] = []
        self._watched = system.watched_set()
        self._is_passive = all(map(_is_up_to_the_peer, routes))

    @property
    def is_passive(self) -> bool:
        """Whether the peer has to dial on every route, so that nobody can refuse."""
        return self._is_passive

    @property
    def is_taken(self) -> bool:
        """Whether the system of the peer has taken one of the connections."""
        return any(one.attempt.is_taken for one in self._runners)

    @property
    def has_proved(self) -> bool:
        """Whether this end has proved itself over one of the connections."""
        return any(one.attempt.has_proved for one in self._runners)

    def fileno(self) -> int:
        """Return what to watch: it is readable when something happened on one of the routes."""
        return self._watched.fileno()

    def describe(self) -> str:
        """Say what goes on on each route."""
        running = [f"by {one.route}: {one.attempt.describe()}" for one in self._runners]
        return "\n".join([*self._reasons(), *running])

    def step(self, now: float) -> tuple[socket.socket, bytes] | None:
        """Go on; return the connection that is open first.

        Raises:
            PeerLost: no route leads to the peer, with the reasons of all.
        """
        if self._watched.closed:
            raise self._lost()
        tried = list(self._runners)
        while True:
            for runner in tried:
                opened = self._step(runner, now)
                if opened is not None:
                    return opened
            started = self._start_next(now)
            if started is None:
                break
            tried = [started]
        if self._is_over(now):
            self.close()
            raise self._lost()
        times = [self._given_up_at, *(one.attempt.deadline for one in self._runners)]
        if any(map(_is_unanswered, self._runners)):
            if now >= self._unanswered_at:
                self._unanswered_at = float("inf")
                self._starter.unanswered(self._peer, UNANSWERED)
            times.append(self._unanswered_at)
        self.deadline = min([*times, self._next_start] if self._may_start else times)
        return None

    def close(self) -> None:
        """Give up."""
        for one in self._runners:
            one.attempt.close()
        self._runners.clear()
        self._left.clear()
        self._watched.close()

    def _is_over(self, now: float) -> bool:
        if self._left or not all(one.attempt.is_passive for one in self._runners):
            return False
        if self._given_up_at == float("inf") and any(
            is_refused_everywhere(fault) for _, fault in self._faults.values()
        ):
            self._given_up_at = now + CALLED_AFTER_REFUSAL
        return not self._runners or now >= self._given_up_at

    @property
    def _may_start(self) -> bool:
        return bool(self._left) and len(self._runners) < self._most

    def _start_next(self, now: float) -> _Runner | None:
        """Begin with the next route, if it is its turn; None if there is nothing to begin."""
        while self._may_start and (not self._runners or now >= self._next_start):
            number, route = self._left.pop(0)
            self._starter.tries += 1
            try:
                attempt = self._starter.begin(self._peer, route, now)
            except PeerLost as fault:
                self._failed(number, route, fault, now)
                continue
            self._next_start = now + self._head_start
            runner = _Runner(number, route, attempt, now)
            self._runners.append(runner)
            return runner
        return None

    def _step(self, runner: _Runner, now: float) -> tuple[socket.socket, bytes] | None:
        attempt = runner.attempt
        try:
            opened = attempt.step(now)
        except PeerLost as fault:
            self._runners.remove(runner)
            self._failed(runner.number, runner.route, fault, now)
            self._next_start = now
            return None
        if opened is not None:
            self._runners.remove(runner)
            self._won(runner, now)
            words = "opened a connection %s, %.0f ms after that route was begun"
            _log.debug(words, runner.route, (now - runner.begun) * 1000)
            return opened
        if attempt.is_taken:
            self._next_start = max(self._next_start, runner.begun + TAKEN_HEAD_START)
        try:  # what is closed is not watched any more, and its number may be that of another one
            self._watched.modify(attempt.fileno(), attempt.events)
        except FileNotFoundError:
            self._watched.register(attempt.fileno(), attempt.events)
        return None

    def overtaken(self, now: float) -> None:
        """Learn from it that the peer has dialled, if it was asked to."""
        called = next((one for one in self._runners if one.attempt.is_passive), None)
        if called is not None:
            self._runners.remove(called)
            called.attempt.close()
            self._won(called, now)

    def _won(self, winner: _Runner, now: float) -> None:
        """Close all others; those of which nothing was heard for long enough have failed."""
        enough = max(self._head_start, min(_SLOW, _AS_SLOW * (now - winner.begun)))
        slow = [
            (one.route, now)
            for one in self._runners
            if not one.attempt.is_taken
            and now - one.begun >= (_SLOW if one.attempt.is_passive else enough)
        ]
        self._starter.failures += len(slow)
        self.close()
        self._starter.reached(self._peer, winner.route, now, after=[*self._failures, *slow])

    def _failed(self, number: int, route: Route, fault: PeerLost, now: float) -> None:
        self._starter.failures += 1
        self._failures.append((route, now))
        self._faults[number] = route, fault

    def _lost(self) -> PeerLost:
        faults = [self._faults[number][1] for number in sorted(self._faults)]
        silent = [fault for fault in faults if isinstance(fault, PeerSilent)]
        told = (silent or faults)[0]
        return type(told)(told.what, cause="\n".join(self._reasons()), cure=told.cure)

    def _reasons(self) -> list[str]:
        """Return why each route failed, in a line of its own, the shortest route first."""
        return [
            f"by {route}: {'; '.join((fault.cause or fault.what).splitlines())}"
            for _, (route, fault) in sorted(self._faults.items())
        ]


def _is_up_to_the_peer(route: Route) -> bool:
    return route.legs[0].dialler != route.stops[0] or route.legs[-1].dialler == route.stops[-1]


def _is_unanswered(one: _Runner) -> bool:
    """Tell whether a route is the direct one, by which a connection has not been taken yet."""
    return len(one.route.legs) == 1 and not (one.attempt.is_passive or one.attempt.is_taken)
