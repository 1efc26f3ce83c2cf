"""The standard input of a run: read when a rank wants it, and only as much as it was asked for."""

from __future__ import annotations

import logging
import os
import select
import signal
import threading
from collections.abc import Callable

LOOK_AGAIN = 0.5
"""Seconds between two looks whether a terminal may be read by now."""

LAST_PATIENCE = 1.0

_log = logging.getLogger(__name__)


class StandardInput:
    """Reads a descriptor, in a thread of its own, as far as it was asked to.

    `give` gets what was read, from that thread, and b"" at the end. The descriptor stays as it is:
    others may use it too. A terminal is not read while this process is in its background, so that
    the system does not stop it.
    """

    def __init__(self, descriptor: int, give: Callable[[bytes], None]) -> None:
        self._descriptor = descriptor
        self._give = give
        self._wanted = threading.Semaphore(0)
        self._most = 0
        self._closed, self._close = os.pipe()
        self._thread: threading.Thread | None = None
        self._is_over = False

    @property
    def is_terminal(self) -> bool:
        """Whether somebody types it, and may want to see what is asked."""
        return os.isatty(self._descriptor)

    def want(self, size: int) -> None:
        """Read at most so many bytes, once something is there."""
        self._most = size
        self._wanted.release()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="standard input", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Read no more; twice is once."""
        if self._is_over:
            return
        self._is_over = True
        os.close(self._close)
        self._wanted.release()
        if self._thread is not None:
            # Another reader may have read what was there: then it waits, and is left.
            self._thread.join(LAST_PATIENCE)
        if self._thread is None or not self._thread.is_alive():
            os.close(self._closed)

    def _run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN})  # an error instead of a stop
        while True:
            self._wanted.acquire()
            data = self._read()
            if data is None:
                return
            self._give(data)
            if not data:
                return

    def _read(self) -> bytes | None:
        """Return what comes next, b"" at the end; None once it is closed."""
        poll = select.poll()
        poll.register(self._closed, select.POLLIN)
        while not self._is_over:
            if self._is_in_background():
                poll.poll(LOOK_AGAIN * 1000)
                continue
            both = select.poll()
            both.register(self._closed, select.POLLIN)
            both.register(self._descriptor, select.POLLIN)
            if any(descriptor == self._closed for descriptor, _ in both.poll()):
                break
            try:
                return os.read(self._descriptor, self._most)
            except BlockingIOError:  # another reader has made it so, and was faster
                poll.poll(LOOK_AGAIN * 1000)
            except OSError as fault:
                if not self._is_in_background():  # where it went just now
                    _log.warning("standard input cannot be read, and ends here: %s", fault)
                    return b""
        return None

    def _is_in_background(self) -> bool:
        try:
            return os.tcgetpgrp(self._descriptor) != os.getpgrp()
        except OSError:  # it is no terminal, or not that of this process
            return False
