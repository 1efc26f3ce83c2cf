"""Waiting without end that a signal always gets through to.

Python calls the handler of a signal in the main thread, between two steps of it. The system wakes
that thread only if the signal comes while it waits, and to no other thread: a Ctrl-C that comes as
the wait begins would have no effect until it is over. So these look up now and then.
"""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

LONGEST_SLEEP = 0.5
"""Seconds after which a signal has its effect at the latest."""


def next_of(queue: SimpleQueue[T]) -> T:
    """Return the next item of a queue, once there is one."""
    while True:
        try:
            return queue.get(timeout=LONGEST_SLEEP)
        except Empty:
            continue


def has_happened(event: threading.Event, timeout: float | None = None) -> bool:
    """Wait for an event as its own `wait` does; return whether it has happened in time."""
    deadline = float("inf") if timeout is None else time.monotonic() + timeout
    while not event.wait(min(LONGEST_SLEEP, max(0.0, deadline - time.monotonic()))):
        if time.monotonic() >= deadline:
            return False
    return True


__all__ = ["has_happened", "next_of"]
