"""Credit-based flow control of output: what exceeds the credit is held, and then ranks wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from runtime.transport.reactor import Reactor

MOST_HELD = 32 << 20
"""Bytes held while the launcher grants nothing: ranks go on while it is stopped briefly."""

BESIDE = 512
"""Bytes of memory, about, that a held block takes beside its text."""


class OutputCredit:
    """Sends output within the credit of the launcher, and holds the rest, in order.

    `put` may exceed what can be held, once. `most` bounds memory, of which a block takes more than
    its bytes. `give` and `when_there` are for one thread, the reactor's; the others are for any.
    """

    def __init__(self, reactor: Reactor, most: int = MOST_HELD) -> None:
        self._reactor = reactor
        self._most = most
        self._changed = threading.Condition()
        self._held: deque[tuple[int, int, Callable[[], object]]] = deque()
        self._size = 0
        self._left = 0
        self._waiting: list[Callable[[], None]] = []

    @property
    def is_there(self) -> bool:
        """Whether more output may be put."""
        return self._size < self._most

    @property
    def holds_any(self) -> bool:
        """Whether output is held until the launcher grants credit."""
        return bool(self._held)

    def put(self, size: int, send: Callable[[], object], blocks: int = 1) -> None:
        """Send so many bytes, now or when there is credit for them.

        A call without size waits only for the output that was put before it.
        """
        memory = size + blocks * BESIDE
        with self._changed:
            self._held.append((size, memory, send))
            self._size += memory
        self._do(self._send)

    def output_taken(self, size: int) -> None:
        """Add bytes of credit that the launcher has granted."""
        self._left += size
        self._send()

    def wake(self) -> None:
        """Let threads in `wait` check whether it is over."""
        with self._changed:
            self._changed.notify_all()

    def when_there(self, call: Callable[[], None]) -> None:
        """Call back once there is credit again."""
        if self.is_there:  # since a moment ago
            call()
        else:
            self._waiting.append(call)

    def wait(self, is_over: Callable[[], bool]) -> None:
        """Wait until there is credit, or it is over, which `wake` makes known."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_there or is_over())

    def _do(self, call: Callable[[], None]) -> None:
        if self._reactor.is_own_thread():
            call()
        else:
            self._reactor.soon(call)

    def _send(self) -> None:
        while self._held and (self._left > 0 or not self._held[0][0]):
            with self._changed:
                size, memory, send = self._held.popleft()
                self._size -= memory
                self._changed.notify_all()
            self._left -= size
            send()
        if self.is_there:
            waiting, self._waiting = self._waiting, []
            for call in waiting:
                call()
