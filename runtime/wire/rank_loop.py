"""The event loop of a rank: what it waits for, and how one of its threads wakes those that wait.

A rank has no thread for its connections: whoever waits in a call drives them, with the lock of the
rank. Several threads may sleep at a time; one that has something to be done wakes them, or the next
one that would sleep.
"""

from __future__ import annotations

import _thread
import os
import select
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from runtime.transport.decrypted import DECRYPTED
from runtime.wire.dialling.line import READ

_MOST_EVENTS = 64

_COARSE = 4e-3
"""Sleeps of fewer seconds are made by `select`: epoll counts in whole milliseconds."""

_MOST_SELECTABLE = 1024

_LEAVE = 50e-6
"""Seconds in which others that were woken get up, rather than to keep them from that."""


class RankLoop(ABC):
    """Watches descriptors and deadlines; only `ready`, `wake` and `soon` need no lock."""

    def __init__(self) -> None:
        self.now = time.monotonic
        self._epoll = select.epoll()
        self._poll = self._epoll.poll
        self._handlers: dict[int, Callable[[int], bool]] = {}
        self._hint: list[tuple[int, int]] | None = None
        self._is_due = False
        self._deadline: float | None = None
        self._wake_up = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._wake_lock = _thread.allocate_lock()
        self._is_signalled = False  # until the last sleeper is awake
        self._was_woken = False  # while nobody slept
        self._sleepers = 0
        self._wishes: deque[Callable[[], None]] = deque()
        self._is_closed = False
        self._epoll.register(self._wake_up, READ)

    @abstractmethod
    def tick(self, now: float, late: float) -> float | None:
        """Do what is due, `late` by so many seconds; return when something is due again."""

    def progress(self) -> bool:
        """Read and write what can be, without waiting; return whether anything happened."""
        events = self._hint
        if events is None:
            events = self._poll(0, _MOST_EVENTS)
        else:
            self._hint = None
        happened = False
        handlers = self._handlers
        if DECRYPTED:
            events = [*events, *((one, READ) for one in DECRYPTED.intersection(handlers))]
        for descriptor, which in events:
            handle = handlers.get(descriptor)
            if handle is not None and handle(which):
                happened = True
        if self._is_due or (self._deadline is not None and self.now() >= self._deadline):
            self._run_due()
            happened = True
        if DECRYPTED and self._sleepers and not DECRYPTED.isdisjoint(handlers):
            self.wake()  # this thread may not come back, and the system wakes nobody for that
        return happened

    def ready(self, timeout: float | None) -> bool:
        """Sleep until `progress` has something to do or `wake` is called; False after `timeout`.

        Any thread may call it, several at a time, and it changes nothing. None is for ever.
        """
        if self._is_due or self._hint or (DECRYPTED and not DECRYPTED.isdisjoint(self._handlers)):
            return True
        deadline = self._deadline
        if deadline is not None:
            left = max(0.0, deadline - self.now())
            timeout = left if timeout is None else min(left, timeout)
        with self._wake_lock:
            if self._was_woken:
                self._was_woken = False
                return True
            is_signalled = self._is_signalled
            self._sleepers += not is_signalled
        if is_signalled:
            time.sleep(_LEAVE)
            return True
        try:
            if DECRYPTED and not DECRYPTED.isdisjoint(self._handlers):
                return True  # left since: who left it woke only those that slept
            if timeout is not None and 0 < timeout < _COARSE:
                events = self._sleep_briefly(timeout)
            else:
                events = self._poll(timeout, _MOST_EVENTS)
        finally:
            with self._wake_lock:
                self._sleepers -= 1
                if self._is_signalled and not self._sleepers:
                    self._is_signalled = False
                    os.eventfd_read(self._wake_up)
        if not events:
            return deadline is not None and self.now() >= deadline
        if events[0][0] != self._wake_up or len(events) > 1:
            self._hint = events
        return True

    def _sleep_briefly(self, timeout: float) -> list[tuple[int, int]]:
        descriptor = self._epoll.fileno()
        if descriptor < _MOST_SELECTABLE:
            if not select.select((descriptor,), (), (), timeout)[0]:
                return []
            timeout = 0
        return self._poll(timeout, _MOST_EVENTS)

    def wake(self) -> None:
        """Let all that sleep in `ready` return, or the next one; any thread may call it."""
        with self._wake_lock:
            if not self._sleepers:
                self._was_woken = True
            elif not self._is_signalled:
                self._is_signalled = True
                os.eventfd_write(self._wake_up, 1)

    def soon(self, wish: Callable[[], None]) -> None:
        """Let a later `progress` call `wish`; any thread may ask for that."""
        self._wishes.append(wish)
        self.tick_soon()

    def watch_descriptor(
        self, descriptor: int, events: int, handle: Callable[[int], bool] | None, /
    ) -> None:
        """Call `handle` when the events are true; with None not any more."""
        known = self._handlers.pop(descriptor, None) is not None
        # A descriptor that was closed meanwhile is not registered any more.
        if handle is None:
            if known:
                with suppress(OSError):
                    self._epoll.unregister(descriptor)
            return
        self._handlers[descriptor] = handle
        try:
            (self._epoll.modify if known else self._epoll.register)(descriptor, events)
        except FileNotFoundError:
            self._epoll.register(descriptor, events)

    def tick_soon(self) -> None:
        """See to it that peers are looked after soon, by one in `ready` or the next one there."""
        self._is_due = True
        self.wake()

    def _run_due(self) -> None:
        """Do what was asked for and what is due."""
        self._is_due = False
        while self._wishes:
            self._wishes.popleft()()
        now = self.now()
        self._deadline = self.tick(now, 0.0 if self._deadline is None else now - self._deadline)

    def _go_on_until(self, is_over: Callable[[], bool], timeout: float | None) -> None:
        deadline = None if timeout is None else self.now() + timeout
        while not is_over():
            left = None if deadline is None else deadline - self.now()
            if left is not None and left <= 0:
                return
            self.ready(left)
            self.progress()

    def _close_loop(self) -> None:
        with self._wake_lock:
            self._is_closed = True
            self._epoll.close()
            os.close(self._wake_up)
