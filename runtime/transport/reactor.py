"""The reactor: the thread that waits for all connections, timers and wake-ups of a process."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from runtime.transport.brief_waits import BriefWaits
from runtime.transport.decrypted import DECRYPTED
from runtime.transport.errors import TransportError

Callback = Callable[[], object]
Elsewhere = Callable[[Callback], object]

READ, WRITE = select.EPOLLIN, select.EPOLLOUT

IDLE = select.EPOLLET
"""Nothing for now: of an end or an error the system tells once, and not for as long as it lasts."""

TAKE_OVER_SECONDS = 0.002
"""After how long a task is left to its thread, and another thread waits for events."""

_ATTENTIVE_SECONDS = 0.1  # how long after the last task the second thread looks out for that
_CLOSE_GRACE_SECONDS = 2.0  # how long a task may take to end when the reactor is closed

Events = list[tuple[int, int]]
Wait = Callable[[Callable[[float | None], Events], float | None], Events]


def _sleep(poll: Callable[[float | None], Events], timeout: float | None) -> Events:
    return poll(timeout)


_FAILED = "a callback of the reactor failed"

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
    """A thread that sleeps until something happens. Callbacks run on it and must not wait.

    A callback that raises is logged and does no harm to the others. A *task* may wait: it runs on
    the thread that was woken for it, which saves a second wake-up, and if it takes long a second
    thread waits for events from then on. With `brief_waits` it asks before it sleeps, which is
    worth a processor where calls of others are all that a process lives for.

    >>> with Reactor() as reactor:           # doctest: +SKIP
    ...     reactor.later(1.0, ring)
    """

    def __init__(self, name: str = "reactor", *, brief_waits: BriefWaits | None = None) -> None:
        self._wait: Wait = brief_waits.wait if brief_waits else _sleep
        self._threads = [threading.Thread(target=self._run, name=name, daemon=True)]
        self._poll = select.epoll()
        self._watched: dict[int, tuple[int, Callable[[int], object]]] = {}
        self._watching = threading.Lock()
        self._awake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.watch(self._awake, READ, self._woken)
        self._soon: deque[Callback] = deque()
        self._tasks: list[tuple[Callback, Elsewhere]] = []
        self._timers: list[tuple[float, int, Timer]] = []
        self._serial = itertools.count()
        self._lock = threading.Lock()
        self._sleeps = False
        self._closing = False
        self._finished = threading.Event()
        self._at_close: dict[object, Callback] = {}
        self._leader = 0
        """The thread that waits for events; 0 where it has gone to run a task."""
        self._at_task = 0
        self._task_began = 0.0
        self._leading = threading.Lock()
        self._parked = threading.Lock()  # locked but for the moment of waking
        self._parked.acquire()

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
        self._threads[0].start()

    def close(self) -> None:
        """End what still uses the reactor, then its threads; twice is once.

        A task that does not end within two seconds is left behind; it ends with the process.
        """
        if self.is_own_thread():
            raise TransportError("a callback of the reactor cannot close it")
        if self._poll.closed:
            return
        if self._threads[0].is_alive():
            self.soon(self._finish)
            self._finished.wait()
            self._unpark()
            for thread in self._threads:
                if thread is not threading.current_thread():
                    thread.join(_CLOSE_GRACE_SECONDS if thread.ident == self._at_task else None)
        self._poll.close()
        os.close(self._awake)

    def now(self) -> float:
        """Return the time by which timers go, in seconds of the monotonic clock."""
        return time.monotonic()

    def is_own_thread(self) -> bool:
        """Tell whether the caller runs in a callback, where nobody may wait."""
        return threading.get_ident() == self._leader

    def soon(self, callback: Callback) -> None:
        """Let the reactor call `callback`; safe from every thread."""
        self._soon.append(callback)
        self._rouse()

    def later(self, seconds: float, callback: Callback) -> Timer:
        """Let the reactor call `callback` after a while; safe from every thread."""
        timer = Timer(time.monotonic() + seconds, callback)
        with self._lock:
            heapq.heappush(self._timers, (timer.when, next(self._serial), timer))
        self._rouse()
        return timer

    def task(self, task: Callback, elsewhere: Elsewhere) -> None:
        """Run `task` on this thread once it has nothing else to do, or let `elsewhere` run it.

        That is what happens where there are several. On the reactor's thread. A task may wait, and
        is the last thing that happens to what it is called for: callbacks run beside it.
        """
        self._tasks.append((task, elsewhere))

    def watch(self, descriptor: int, events: int, callback: Callable[[int], object]) -> None:
        """Call `callback` with what a file descriptor is ready for; no events: forget it.

        Safe from every thread; what is forgotten by another one may be called once more.
        """
        with self._watching:
            known = descriptor in self._watched
            if events:
                (self._poll.modify if known else self._poll.register)(descriptor, events)
                self._watched[descriptor] = events, callback
            elif known:
                del self._watched[descriptor]
                with contextlib.suppress(OSError):  # it may have been closed
                    self._poll.unregister(descriptor)
        if events & READ and descriptor in DECRYPTED:
            self._rouse()  # the system knows nothing of what another thread has left there

    def at_close(self, key: object, callback: Callback | None) -> None:
        """Call `callback` before the thread ends; None takes it back. On the reactor's thread."""
        if callback is None:
            self._at_close.pop(key, None)
        else:
            self._at_close[key] = callback

    # -- waiting for events, on one of the two threads --------------------------------------------

    def _rouse(self) -> None:
        """Wake the thread that waits for events; or let somebody wait."""
        if self._sleeps:
            if not self.is_own_thread():
                with contextlib.suppress(OSError):  # a closed one has nobody left to wake
                    os.eventfd_write(self._awake, 1)
        elif not self._leader:  # also for the task itself, which may wait for what it asks for
            self._unpark()

    def _unpark(self) -> None:
        with contextlib.suppress(RuntimeError):  # somebody else has done that
            self._parked.release()

    def _woken(self, _: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._awake)

    def _finish(self) -> None:
        for callback in list(self._at_close.values()):
            self._guarded(callback)
        self._closing = True
        self._finished.set()

    def _run(self) -> None:
        while self._lead():
            while not self._closing:
                self._wait_and_call()
                if self._tasks and not self._run_tasks():
                    break

    def _lead(self) -> bool:
        """Return once this thread is the one that waits for events; False if none is needed."""
        while not self._closing:
            with self._leading:
                since = time.monotonic() - self._task_began
                if not self._leader and (since >= TAKE_OVER_SECONDS or self._soon):
                    self._leader = threading.get_ident()
                    return True
            attentive = since < _ATTENTIVE_SECONDS
            self._parked.acquire(timeout=TAKE_OVER_SECONDS if attentive else -1)
        return False

    def _run_tasks(self) -> bool:
        """Run the last task here and the others elsewhere; tell whether this thread still leads.

        While a task of the other thread goes on, all run elsewhere: somebody has to wait here.
        """
        tasks, self._tasks = self._tasks, []
        mine = None if self._at_task or not self._has_second() else tasks.pop()[0]
        for task, elsewhere in tasks:
            elsewhere(task)
        if mine is None:
            return True
        me = threading.get_ident()
        before, self._task_began = self._task_began, time.monotonic()
        self._at_task = me
        self._leader = 0
        if self._task_began - before > _ATTENTIVE_SECONDS / 2:
            self._unpark()  # to see whether this task takes long
        self._guarded(mine)
        with self._leading:
            self._at_task = 0
            if self._leader:
                return False
            self._leader = me
            return True

    def _has_second(self) -> bool:
        """Make the second thread if there is none; tell whether it is there."""
        if len(self._threads) == 1:
            name = f"{self._threads[0].name} (second)"
            second = threading.Thread(target=self._run, name=name, daemon=True)
            try:
                second.start()
            except RuntimeError:  # the system, or an interpreter that ends, gives no more threads
                return False
            self._threads.append(second)
        return True

    def _wait_and_call(self) -> None:
        self._sleeps = True
        # A thread that adds something from here on sees that a wake-up is needed.
        left = self._left() if DECRYPTED else []
        ready = self._wait(self._poll.poll, 0 if self._soon or left else self._rest())
        self._sleeps = False
        for descriptor, events in ready:
            self._notify(descriptor, events | READ if descriptor in left else events)
        for descriptor in set(left).difference(one for one, _ in ready) if left else ():
            self._notify(descriptor, READ)
        self._run_timers()
        for _ in range(len(self._soon)):
            self._guarded(self._soon.popleft())

    def _notify(self, descriptor: int, events: int) -> None:
        """Tell the watcher of a descriptor, unless it was let go of meanwhile."""
        found = self._watched.get(descriptor)
        if found is None:
            return
        wanted, callback = found
        # The end of a connection, or an error of it, is met by reading and by writing.
        met = events if not events & ~(READ | WRITE) else READ | WRITE
        if met & wanted:
            try:
                callback(met & wanted)
            except Exception:
                _log.exception(_FAILED)

    def _left(self) -> list[int]:
        """Return what can be read although the system does not know."""
        watched = self._watched
        return [one for one in list(DECRYPTED) if one in watched and watched[one][0] & READ]

    def _rest(self) -> float | None:
        if not self._timers:
            return None
        with self._lock:
            return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _run_timers(self) -> None:
        while self._timers:
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
            _log.exception(_FAILED)
