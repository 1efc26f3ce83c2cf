"""The reactor: one thread that waits for all connections, timers and wake-ups of a process."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from runtime.transport.encryption import LEFT
from runtime.transport.errors import TransportError

T = TypeVar("T")
Callback = Callable[[], object]

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

_log = logging.getLogger(__name__)


class Timer:
    """A callback that waits for its time; `cancel` is safe from every thread."""

    __slots__ = ("_callback", "when")

    def __init__(self, when: float, callback: Callback) -> None:
        self.when = when
        self._callback: Callback | None = callback

    def cancel(self) -> None:
        """Do not call; too late is no error."""
        self._callback = None

    def fire(self) -> None:
        """Call, unless it was cancelled."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Reactor:
    """One thread that sleeps until something happens. Callbacks run on it and must not wait.

    A callback that raises is logged and does no harm to the others.

    >>> with Reactor() as reactor:           # doctest: +SKIP
    ...     reactor.later(1.0, ring)
    """

    def __init__(self, name: str = "reactor") -> None:
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._selector = selectors.DefaultSelector()
        self._awake, self._waker = socket.socketpair()
        self._awake.setblocking(False)
        self._waker.setblocking(False)
        self._selector.register(self._awake, READ, self._woken)
        self._soon: deque[Callback] = deque()
        self._timers: list[tuple[float, int, Timer]] = []
        self._serial = itertools.count()
        self._lock = threading.Lock()
        self._sleeps = False
        self._closing = False
        self._at_close: dict[object, Callback] = {}

    def __enter__(self) -> Self:
        """Start the thread."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """End what still uses the reactor, then its thread; twice is once."""
        if self.is_own_thread():
            raise TransportError("a callback of the reactor cannot close it")
        if self._thread.is_alive():
            self.soon(self._finish)
            self._thread.join()
        for resource in (self._selector, self._awake, self._waker):
            resource.close()

    def is_own_thread(self) -> bool:
        """Tell whether the caller runs on the reactor's thread, where nobody may wait."""
        return threading.current_thread() is self._thread

    def soon(self, callback: Callback) -> None:
        """Let the reactor call `callback`; safe from every thread."""
        self._soon.append(callback)
        if self._sleeps and not self.is_own_thread():
            self._wake()

    def later(self, seconds: float, callback: Callback) -> Timer:
        """Let the reactor call `callback` after a while; safe from every thread."""
        timer = Timer(time.monotonic() + seconds, callback)
        with self._lock:
            heapq.heappush(self._timers, (timer.when, next(self._serial), timer))
        if self._sleeps and not self.is_own_thread():
            self._wake()
        return timer

    def watch(self, descriptor: int, events: int, callback: Callable[[int], None]) -> None:
        """Call `callback` with what a file descriptor is ready for; no events: forget it.

        Only on the reactor's thread.
        """
        known = descriptor in self._selector.get_map()
        if events and known:
            self._selector.modify(descriptor, events, callback)
        elif events:
            self._selector.register(descriptor, events, callback)
        elif known:
            self._selector.unregister(descriptor)

    def at_close(self, key: object, callback: Callback | None) -> None:
        """Call `callback` before the thread ends; None takes it back. On the reactor's thread."""
        if callback is None:
            self._at_close.pop(key, None)
        else:
            self._at_close[key] = callback

    def _wake(self) -> None:
        # A full buffer wakes it too; a closed one has nobody left to wake.
        with contextlib.suppress(OSError):
            self._waker.send(b"\0")

    def _woken(self, events: int) -> None:  # noqa: ARG002 - every watcher is told
        with contextlib.suppress(BlockingIOError):
            self._awake.recv(4096)

    def _finish(self) -> None:
        for callback in list(self._at_close.values()):
            self._guarded(callback)
        self._closing = True

    def _run(self) -> None:
        while not self._closing:
            self._sleeps = True
            # Whoever adds something from here on sees that a wake-up is needed.
            left = self._left() if LEFT else []
            ready = self._selector.select(0 if self._soon or left else self._rest())
            self._sleeps = False
            for key, events in ready:
                left = [one for one in left if one is not key]
                self._guarded(partial(key.data, events))
            for key in left:
                if key is self._selector.get_map().get(key.fd):  # nobody let go of it meanwhile
                    self._guarded(partial(key.data, READ))
            self._run_timers()
            for _ in range(len(self._soon)):
                self._guarded(self._soon.popleft())

    def _left(self) -> list[selectors.SelectorKey]:
        """Return what can be read although the system does not know."""
        known = self._selector.get_map()
        found = [known[one] for one in LEFT.intersection(known)]
        return [key for key in found if key.events & READ]

    def _rest(self) -> float | None:
        with self._lock:
            return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _run_timers(self) -> None:
        while True:
            with self._lock:
                if not self._timers or self._timers[0][0] > time.monotonic():
                    return
                timer = heapq.heappop(self._timers)[2]
            self._guarded(timer.fire)

    @staticmethod
    def _guarded(callback: Callback) -> None:
        try:
            callback()
        except Exception:
            _log.exception("a callback of the reactor failed")
