"""The thread that keeps messages moving while the program computes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from runtime.lazy_import import logger

if TYPE_CHECKING:
    from runtime.mpi.progress.driver import Driver
    from runtime.mpi.progress.replication import ReplicatedConnections
    from runtime.wire.peer_connections import PeerConnections

REST, LONG_REST = 5e-3, 20e-3
"""How often it checks, in seconds, whether the program has stopped waiting: at first, later."""

PAUSE = 2e-3
"""How often it polls native MPI for what collectives need."""

_log = logger(__name__)


class ProgressThread:
    """The thread; it pauses while the program itself waits, and for a while after each wait.

    If it sleeps when a wait begins it stays asleep until something arrives: waking it then would
    cost more than waking both.
    """

    def __init__(
        self, driver: Driver, connections: PeerConnections | ReplicatedConnections
    ) -> None:
        self._driver = driver
        self._connections = connections
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gcm-progress", daemon=True)
        self.is_on_duty = False
        """Whether it sleeps where the wire wakes it."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def attend(self) -> None:
        """Poll native MPI from time to time, for operations that are not waited for."""
        if self.is_on_duty:
            self._connections.wake()

    def end(self) -> None:
        """Stop, and return when it has ended."""
        self._ended.set()
        self._connections.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        driver, seen, rest = self._driver, -1, REST
        while not self._ended.is_set():
            if self._is_relieved() or driver.waits_begun != seen:
                rest = REST if driver.waits_begun != seen else min(2 * rest, LONG_REST)
                seen = driver.waits_begun
                self._ended.wait(rest)
                continue
            self.is_on_duty = True
            self._connections.ready(PAUSE if driver.urgency else None)
            self.is_on_duty = False
            if self._is_relieved():
                continue
            try:
                driver.poll()
            except Exception:  # the program's own wait meets it again, and raises it there
                _log.debug("progress failed", exc_info=True)
                seen = -1

    def _is_relieved(self) -> bool:
        return bool(self._driver.waiting) or self._ended.is_set()
