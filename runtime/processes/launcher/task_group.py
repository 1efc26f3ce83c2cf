"""Threads for work that blocks; no error of a thread is lost with it."""

from __future__ import annotations

import logging
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


def _unforeseen(name: str, error: Exception) -> GridError:
    _log.error("%s failed unexpectedly", name, exc_info=error)
    return GridError(
        f"{name} failed: {type(error).__name__}: {error}",
        cure="This is a fault of the package itself: report it with the traceback in the log",
    )
