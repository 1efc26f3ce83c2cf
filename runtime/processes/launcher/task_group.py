"""Threads for work that blocks; no error of a thread is lost with it."""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable

from runtime.errors import GridError

_log = logging.getLogger(__name__)

Failed = Callable[[GridError], None]


class TaskGroup:
    """Runs several blocking tasks at the same time, each in a thread of its own."""

    def __init__(self) -> None:
        self._workers: list[threading.Thread] = []

    def do(self, name: str, work: Callable[[], object], failed: Failed | None = None) -> None:
        """Start a task; `failed` is called in its thread when it raises.

        An error that is no `GridError` was not foreseen: its traceback goes to the log too.
        """

        def run() -> None:
            try:
                work()
            except Exception as error:  # a thread would lose it
                fault = error if isinstance(error, GridError) else _unforeseen(name, error)
                if failed is not None:
                    failed(fault)

        self._workers = [one for one in self._workers if one.is_alive()]
        self._workers.append(threading.Thread(target=run, name=name, daemon=True))
        self._workers[-1].start()

    def join(self) -> None:
        """Wait until all tasks have ended."""
        for worker in self._workers:
            worker.join()


_CURES = {
    errno.ENOSPC: "Make room there, or name another folder for temporary files in TMPDIR",
    errno.EDQUOT: "Make room there, or name another folder for temporary files in TMPDIR",
    errno.EROFS: "Name another folder for temporary files in TMPDIR",
    errno.EMFILE: "Allow more open files: ulimit -n 1024",
    errno.ENFILE: "This machine has too many open files: end something else",
    errno.ENOMEM: "This machine has no memory left: end something else",
    errno.EAGAIN: "This machine lets you have no more processes (ulimit -u): end something else",
}
"""What to do about a machine that has run out of something."""


def _unforeseen(name: str, error: Exception) -> GridError:
    _log.error("%s failed unexpectedly", name, exc_info=error)
    if isinstance(error, OSError) and (cure := _CURES.get(error.errno or 0)):
        return GridError(f"{name} failed on {os.uname().nodename}: {error}", cure=cure)
    return GridError(
        f"{name} failed: {type(error).__name__}: {error}",
        cure="This is a fault of the package itself: report it with the traceback in the log",
    )
