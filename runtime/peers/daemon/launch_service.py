"""Launching at a peer: a guard for a reservation, joined to the connection of its user."""

from __future__ import annotations

import logging
import os
import platform
import re
import subprocess
import sys
import threading
from functools import partial
from typing import Annotated, Any

from gcm import provides, requires
from runtime.launchers import bootstrap
from runtime.launchers.local import LAST_PATIENCE
from runtime.launchers.peer import keep_alive
from runtime.peers.connections.passing import OpenPassage
from runtime.peers.connections.serving import TakeOver
from runtime.peers.connections.sockets import PeerSocket
from runtime.peers.contracts import Launch
from runtime.peers.daemon.context import DaemonContext, ReservedPlaces, Standing
from runtime.peers.daemon.joining import joined
from runtime.peers.errors import Refused
from runtime.peers.model import MOST_PROCESSES, Reason, are_ranks

log = logging.getLogger(__name__)

MOST_SOURCE = 1 << 20
_HALF = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)


@provides("launch", Launch)
@provides("standing", Standing)
class LaunchService:
    """Starts guards; each lives as long as the connection through which it was started."""

    places: Annotated[ReservedPlaces, requires()]

    _context: DaemonContext

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, tuple[str, list[list[int]]]] = {}

    def begin(self, context: DaemonContext) -> None:
        """Be ready."""
        self._context = context

    def end(self) -> None:
        """Need nothing: what was started has ended with its connections."""

    def launch(
        self, caller: str, key: str, application: str, ranks: list[list[int]], guard: list[Any]
    ) -> TakeOver:
        """Start a guard, whose pipes take the connection over."""
        size, marker = _described(guard)
        if len(ranks) > MOST_PROCESSES or not are_ranks(ranks):
            raise Refused("the ranks of the caller are none", reason=Reason.BAD_REQUEST)
        hold = self.places.confirm(caller, key, application, len(ranks))
        python = self._context.configuration.text("python") or sys.executable
        argv = bootstrap.far_argv(python, size, marker)
        try:
            passage = self._context.passed.open()
        except OSError as error:
            self.places.ended(key)
            raise Refused(
                "this peer has no place for what leads to its programs",
                reason=Reason.FAILED,
                cause=str(error),
                cure="Its owner can make room in its folder, ~/.gcm/peer",
            ) from error
        try:
            started = GuardProcess(f"{application[:40]} of {caller}", argv)
        except OSError as error:
            self._context.passed.close(passage)
            self.places.ended(key)
            raise Refused(
                "the Python of this peer cannot be started",
                reason=Reason.FAILED,
                cause=str(error),
                cure="Its owner can name another one: `python` in its configuration",
            ) from error
        with self._lock:
            self._running[key] = application, ranks
        log.info("%s runs, %d processes", started.name, hold.processes)
        facts = {
            "peer": self._context.me.name,
            "python": python,
            "version": self._context.version,
            "host": platform.node(),
            "processes": hold.processes,
            "cache": str(self._context.folder.cache),
            "token": passage.token,
            "doors": passage.folder,
        }
        return TakeOver(facts, partial(self._carry, key, passage, started))

    def _carry(
        self, key: str, passage: OpenPassage, guard: GuardProcess, taken: PeerSocket
    ) -> None:
        """Join the guard to the connection until one of them has ended, then end the guard."""
        try:
            # A user's machine that loses its power says nothing; its programs end all the same.
            keep_alive(taken, self._context.configuration.seconds("lease"))
            guard.join(taken)
            guard.finish()
        finally:
            self._context.passed.close(passage)
            with self._lock:
                del self._running[key]
            self.places.ended(key)
            log.info("%s has ended", guard.name)

    def facts(self) -> dict[str, object]:
        """Return how many guards there are, and the ranks of each application."""
        with self._lock:
            running = list(self._running.values())
        return {"guards": len(running), "ranks": dict(running)}


def _described(guard: list[Any]) -> tuple[int, tuple[str, str]]:
    match guard:
        case [int(size), str(first), str(second)] if 0 < size <= MOST_SOURCE:
            if _HALF.fullmatch(first) and _HALF.fullmatch(second):
                return size, (first, second)
    raise Refused("the guard of the caller is none", reason=Reason.BAD_REQUEST)


class GuardProcess:
    """One guard process: what it has started ends with it, and it ends with its standard input.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, name: str, argv: list[str]) -> None:
        self.name = name
        home = os.path.expanduser("~")
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            cwd=home if os.path.isdir(home) else "/",
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def join(self, taken: PeerSocket) -> None:
        """Carry bytes both ways until the connection or the guard ends."""
        joined(taken, self._stdin.fileno(), self._stdout.fileno())

    def finish(self) -> None:
        """Let it end all it has started, and wait for that."""
        self._stdin.close()
        self._stdout.close()
        try:
            self._process.wait(LAST_PATIENCE)
        except subprocess.TimeoutExpired:
            log.warning("the guard of %s does not end, and is killed", self.name)
            self._process.kill()
            self._process.wait()
