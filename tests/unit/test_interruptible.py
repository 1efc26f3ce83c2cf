"""Waits that a signal gets through to, whichever thread the system wakes for it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from runtime.interruptible import has_happened, next_of


def interrupt_beside_main() -> None:
    """Let another thread get a Ctrl-C: nothing wakes the main thread, which has to handle it."""
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


@pytest.mark.parametrize(
    "wait",
    [lambda: next_of(SimpleQueue()), lambda: has_happened(threading.Event())],
    ids=["for an item", "for an event"],
)
def test_a_signal_that_another_thread_gets_ends_a_wait(wait: Callable[[], object]) -> None:
    timer = threading.Timer(0.2, interrupt_beside_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        wait()
    timer.join()


def test_what_is_awaited_ends_a_wait() -> None:
    queue: SimpleQueue[str] = SimpleQueue()
    queue.put("item")
    event = threading.Event()
    assert next_of(queue) == "item"
    assert not has_happened(event, 0.01)
    event.set()
    assert has_happened(event, 0.0)
