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
from typing import Annotated

from gcm import provides, requires
from runtime.launchers import bootstrap
from runtime.launchers.local import LAST_PATIENCE
from runtime.launchers.peer import keep_alive
from runtime.peers.connections import TakeOver
from runtime.peers.connections.sockets import PeerSocket
from runtime.peers.contracts import Launch
from runtime.peers.daemon.joining import joined
from runtime.peers.daemon.surroundings import ReservedPlaces, Standing, Surroundings
from runtime.peers.errors import Refused
from runtime.peers.model import Reason

log = logging.getLogger(__name__)

MOST_SOURCE = 1 << 20
_HALF = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)


@provides("launch", Launch)
@provides("standing", Standing)
class LaunchService:
    """Starts guards; each lives as long as the connection through which it was started."""

    places: Annotated[ReservedPlaces, requires()]

    _surroundings: Surroundings

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guards = 0

    def begin(self, surroundings: Surroundings) -> None:
        """Be ready."""
        self._surroundings = surroundings

    def end(self) -> None:
        """Need nothing: what was started has ended with its connections."""

    def launch(
        self, caller: str, key: str, application: str, source: int, marker: list[str]
    ) -> TakeOver:
        """Start a guard, whose pipes take the connection over."""
        halves = len(marker) == 2 and all(map(_HALF.fullmatch, marker))
        if not (halves and 0 < source <= MOST_SOURCE):
            raise Refused("the guard of the caller is none", reason=Reason.BAD_REQUEST)
        hold = self.places.confirm(caller, key, application)
        python = self._surroundings.configuration.text("python") or sys.executable
        argv = bootstrap.far_argv(python, source, (marker[0], marker[1]))
        try:
            guard = GuardProcess(f"{application[:40]} of {caller}", argv)
        except OSError as error:
            self.places.ended(key)
            raise Refused(
                "the Python of this peer cannot be started",
                reason=Reason.FAILED,
                cause=str(error),
                cure="Its owner can name another one: `python` in its configuration",
            ) from error
        with self._lock:
            self._guards += 1
        log.info("%s runs, %d processes", guard.name, hold.processes)
        facts = {
            "peer": self._surroundings.me.name,
            "python": python,
            "version": self._surroundings.version,
            "host": platform.node(),
            "processes": hold.processes,
            "cache": str(self._surroundings.folder.cache),
        }
        return TakeOver(facts, partial(self._carry, key, guard))

    def _carry(self, key: str, guard: GuardProcess, taken: PeerSocket) -> None:
        """Join the guard to the connection until one of them has ended, then end the guard."""
        try:
            # A user's machine that loses its power says nothing; its programs end all the same.
            keep_alive(taken, self._surroundings.configuration.seconds("lease"))
            guard.join(taken)
            guard.finish()
        finally:
            with self._lock:
                self._guards -= 1
            self.places.ended(key)
            log.info("%s has ended", guard.name)

    def facts(self) -> dict[str, object]:
        """Return how many guards there are."""
        return {"guards": self._guards}


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
