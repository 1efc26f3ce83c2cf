"""The output on its way to the launcher: so much is sent, more is held, and then ranks wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from runtime.transport.reactor import Reactor

MOST_HELD = 32 << 20
"""Bytes that are held while the launcher takes nothing: ranks go on while it is stopped briefly."""

BESIDE = 512
"""Bytes, about, that a block takes beside what it says while it is held."""


class OutputRoom:
    """Sends output as far as the launcher takes it, and holds the rest, in order.

    `say` may exceed what can be held, once. `most` bounds memory, of which a block takes more than
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
        """Whether more may be said."""
        return self._size < self._most

    @property
    def holds_any(self) -> bool:
        """Whether the launcher has still to take what was said."""
        return bool(self._held)

    def put(self, size: int, send: Callable[[], object], blocks: int = 1) -> None:
        """Send so many bytes, now or when the launcher takes them.

        What has no size only waits for what was said before it.
        """
        memory = size + blocks * BESIDE
        with self._changed:
            self._held.append((size, memory, send))
            self._size += memory
        self._do(self._send)

    def give(self, size: int) -> None:
        """Record that the launcher takes so much more."""
        self._left += size
        self._send()

    def wake(self) -> None:
        """Let everybody who waits see whether it is over."""
        with self._changed:
            self._changed.notify_all()

    def when_there(self, call: Callable[[], None]) -> None:
        """Call once there is room again."""
        if self.is_there:  # since a moment ago
            call()
        else:
            self._waiting.append(call)

    def wait(self, is_over: Callable[[], bool]) -> None:
        """Return when there is room, or it is over, which `wake` makes known."""
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
