"""Worker threads for the calls that come in, as many as are needed, and lanes that keep order."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

_log = logging.getLogger(__name__)

Work = Callable[[], object]

IDLE_SECONDS = 10.0
"""How long a thread without work stays for the next one."""


class Workers:
    """Runs each piece of work at once, in a thread that is free or in a new one.

    A bound on the number of threads could make calls between components wait for each other for
    ever, because a call that waits for another one keeps its thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._waiting: deque[Work] = deque()
        self._idle = 0
        self._threads: set[threading.Thread] = set()
        self.are_closed = False

    def run(self, work: Work) -> bool:
        """Run `work`, which handles its own errors; return whether: after `close` it is not run."""
        with self._changed:
            if self.are_closed:
                return False
            self._waiting.append(work)
            if len(self._waiting) <= self._idle:
                self._changed.notify()
                return True
            thread = threading.Thread(target=self._work, name=f"{self._name} worker", daemon=True)
            self._threads.add(thread)
        thread.start()
        return True

    def close(self, grace: float = 2.0) -> None:
        """Let the threads end: the idle ones now, the busy ones after their work.

        A thread that is still busy after `grace` seconds is left behind; it ends with the process.
        """
        with self._changed:
            self.are_closed = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._threads <= {threading.current_thread()}, timeout=grace
            )

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._idle += 1
                    self._changed.wait_for(lambda: self._waiting or self.are_closed, IDLE_SECONDS)
                    self._idle -= 1
                if not self._waiting:
                    self._threads.discard(threading.current_thread())
                    self._changed.notify_all()
                    return
                work = self._waiting.popleft()
            try:
                work()
            except BaseException:  # the thread serves on, and somebody has to know
                _log.exception("a call failed in a worker thread")
            del work


class SerialQueue:
    """Work that is done in order, one piece at a time, by whichever worker is free."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._waiting: deque[Work] = deque()
        self._busy = False

    def run(self, work: Work) -> bool:
        """Run `work` behind all that was given to the lane before; return whether."""
        with self._lock:
            if not (self._busy or self._workers.run(self._drain)):
                return False
            self._busy = True
            self._waiting.append(work)
            return True

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy = False
                    return
                work = self._waiting.popleft()
            try:
                work()
            except BaseException:  # the next one must have its turn
                _log.exception("a call failed in a worker thread")
