"""Forks at which no signal is lost, and after which no lock is held for ever.

Python calls hooks of its modules before and after a fork; that of `logging` holds its lock
meanwhile. An exception which the handler of a signal raises there, as that of Ctrl-C does, is
dropped, and the lock may stay held: the next message then waits for ever.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import Any


def fork() -> int:
    """Fork as `os.fork` does; signals that come meanwhile are handled at the end, and may raise.

    The child handles none: each signal that its parent handles does there what it does by default.
    """
    usual = {one: signal.getsignal(one) for one in signal.valid_signals()}
    handlers: dict[int, Any] = {one: handler for one, handler in usual.items() if callable(handler)}
    came: list[int] = []

    def note(number: int, _: object) -> None:
        came.append(number)

    pid = -1
    try:
        _handle_by(dict.fromkeys(handlers, note))
        pid = os.fork()
    finally:
        if pid == 0:
            signal.set_wakeup_fd(-1)
            _handle_by(dict.fromkeys(handlers, signal.SIG_DFL))
        else:
            _handle_by(handlers)
    for number in came if pid else ():  # they came to the parent
        signal.raise_signal(number)
    return pid


def _handle_by(handlers: dict[int, Any]) -> None:
    """Set handlers, that of Ctrl-C last: it may raise at once.

    Only the main thread can, and in others no handler runs.
    """
    with suppress(ValueError):
        for number in sorted(handlers, key=signal.SIGINT.__eq__):
            signal.signal(number, handlers[number])
