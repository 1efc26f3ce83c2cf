"""The launcher's part of coupling: tells participants who runs and who has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from runtime.coupling.directory import Directory
from runtime.coupling.errors import NotCoupled
from runtime.coupling.mailbox import Mailbox
from runtime.coupling.peers import Peer, Peers
from runtime.coupling.words import (
    ATTACH,
    BEGAN,
    DRIVER,
    DRIVER_PATH,
    ENDED,
    HUB_PATH,
    RANK_ENDED,
    WATCH,
    WELCOME,
    identifier_of,
    rank_path,
)

Post = Callable[..., None]
"""Sends an operation and its arguments to a path."""


class Hub:
    """Knows who takes part. Ranks join when they first use coupling, so that others cost nothing.

    Everybody who joined is told when a code begins and ends. The end of a single rank is told to
    those only who asked for it, since they exchange messages with it. What is told travels behind
    the messages that the rank had sent.

    A code that had ended before another one was started counts for that one as not started yet, so
    that several codes can be started again one after the other.
    """

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self._lock = threading.Lock()
        self._states: dict[str, tuple[int, str | None]] = dict.fromkeys(directory.codes, (0, None))
        self._events = 0
        self._began_at: dict[str, int] = {}
        self._ended_at: dict[str, int] = {}
        self._joined: set[str] = {DRIVER_PATH} if directory.has_driver else set()
        self._watchers: dict[Peer, set[str]] = {}
        self._ended_ranks: dict[Peer, str] = {}
        self._tell: Post = _nobody
        self._send: Post = _nobody
        self._driver: Mailbox | None = None
        if directory.has_driver:
            peers = Peers((DRIVER, 0), 1, directory, self._states)
            self._driver = Mailbox(peers, self._post_of_driver)

    @property
    def driver(self) -> Mailbox:
        """The mailbox of the program that holds the machine; raises NotCoupled."""
        if self._driver is None:
            raise NotCoupled(
                "no Python program drives this run",
                cure="Make the machine with Machine(plan, steered=True)",
            )
        return self._driver

    def connect(self, tell: Post, send: Post) -> None:
        """Reach the ranks: `tell` never waits, `send` may. What was said first arrives first."""
        self._tell, self._send = tell, send

    # -- from the connections, which must not wait ----------------------------------------------

    def hear(self, path: str, operation: str, args: tuple[Any, ...]) -> None:
        """Take what a rank sends to the launcher, or to the driver."""
        if path == DRIVER_PATH:
            if self._driver is not None:
                self._driver.hear(operation, args)
        elif operation == ATTACH:
            self._join(*args)
        elif operation == WATCH:
            self._watch(*args)

    def _join(self, identifier: str) -> None:
        code, rank = self.directory.whose(identifier)
        path = rank_path(identifier)
        with self._lock:
            self._joined.add(path)
            life, _ = self._states[code]
            states = {name: self._state_for(code, name) for name in self._states}
        self._tell_one(path, WELCOME, code, rank, life, self.directory, states)

    def _state_for(self, code: str, other: str) -> tuple[int, str | None]:
        ended_before = self._ended_at.get(other, 0) < self._began_at.get(code, 0)
        life, why = self._states[other]
        return (0, None) if why is not None and ended_before else (life, why)

    def _watch(self, path: str, code: str, rank: int) -> None:
        with self._lock:
            why = self._ended_ranks.get((code, rank))
            if why is None:
                self._watchers.setdefault((code, rank), set()).add(path)
        if why is not None:
            self._tell_one(path, RANK_ENDED, code, rank, why)

    # -- from the engine -------------------------------------------------------------------------

    def began(self, code: str, life: int) -> None:
        """Tell that a code runs."""
        with self._lock:
            self._states[code] = (life, None)
            self._events += 1
            self._began_at[code] = self._events
            joined = set(self._joined)
        self._tell_all(joined, BEGAN, code, life)

    def rank_ended(self, code: str, rank: int, why: str) -> None:
        """Tell that a rank has ended to those who asked."""
        with self._lock:
            self._ended_ranks[code, rank] = why
            watchers = self._watchers.pop((code, rank), set())
        self._tell_all(watchers, RANK_ENDED, code, rank, why)

    def ended(self, code: str, why: str) -> None:
        """Tell that all of a code has ended."""
        with self._lock:
            life, _ = self._states[code]
            self._states[code] = (life, why)
            self._events += 1
            self._ended_at[code] = self._events
            self._ended_ranks = {
                peer: said for peer, said in self._ended_ranks.items() if peer[0] != code
            }
            gone = {path for path in self._joined if self._is_of(path, code)}
            self._joined -= gone
            for watchers in self._watchers.values():
                watchers.difference_update(gone)
            joined = set(self._joined)
        self._tell_all(joined, ENDED, code, why)

    def lose(self, why: str) -> None:
        """Let nobody wait any longer: the machine has ended."""
        if self._driver is not None:
            self._driver.lose(why)

    # -- inside ----------------------------------------------------------------------------------

    def _is_of(self, path: str, code: str) -> bool:
        identifier = identifier_of(path)
        return bool(identifier) and self.directory.whose(identifier)[0] == code

    def _tell_all(self, paths: set[str], operation: str, *args: Any) -> None:
        # The driver last: hearing it, the program there may send to those who then know it too.
        for path in sorted(paths, key=lambda path: (path == DRIVER_PATH, path)):
            self._tell_one(path, operation, *args)

    def _tell_one(self, path: str, operation: str, *args: Any) -> None:
        if path == DRIVER_PATH:
            self.hear(path, operation, args)
        else:
            self._tell(path, operation, *args)

    def _post_of_driver(self, path: str, operation: str, *args: Any) -> None:
        if path == HUB_PATH:
            self.hear(path, operation, args)
        else:
            self._send(path, operation, *args)


def _nobody(*_: object) -> None:
    """Reach nobody: the machine has not begun."""
