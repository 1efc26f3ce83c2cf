"""How a thread waits: it sleeps where the wire wakes it, and records what it waits for.

Native MPI wakes nobody: a wait for it spins briefly and then polls again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from runtime.mpi.progress.operations import IDLE, POLLED, most_urgent
from runtime.mpi.progress.polling import progress_native

if TYPE_CHECKING:
    from runtime.mpi.progress.driver import Driver
    from runtime.mpi.progress.operations import Operation

SPIN = 50e-6
"""Seconds for which a wait for native MPI does not sleep, if no wake-up announces its end."""

LEAST, MOST, SHARE = 30e-6, 1e-3, 1 / 3
"""How long to sleep between two polls of native MPI, which wakes nobody: at first, later.

It is a share of the time for which nothing has happened.
"""

LEAST_NOTIFIED, SELDOM = 5e-3, 20e-3
"""The same where a wake-up says when polling is worth it; it is all of that time."""

NAP = 10e-3
"""How long to sleep at first where nothing that is waited for comes natively. Members of this
cluster may need this process to poll native MPI, so that what they send, or do with its memory,
makes progress.
"""

AT_ONCE = 0.25
"""For how many seconds to do little more than read from the wire, if that may be enough."""

CHECK_INTERVAL = 1.0
"""Seconds after which to check, repeatedly, whether the processes waited for are there."""


class Waits:
    """The waits of all threads of one engine."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._asleep: dict[object, Callable[[], Sequence[Operation]]] = {}
        self._native_asked_at = 0.0  # when native MPI was last polled for others

    def wait_for(self, *operations: Operation) -> None:
        """Wait until all operations are done. Raises the first error."""
        self.wait(
            lambda: all(one.test() for one in operations),
            lambda: [one for one in operations if not one.done],
        )
        for one in operations:
            if one.error is not None:
                raise one.error

    def wait(
        self, ready: Callable[[], bool], operations: Callable[[], Sequence[Operation]]
    ) -> None:
        """Drive until `ready` is true, which is called with the lock held after each step.

        `operations` are those that it depends on.
        """
        driver = self._driver
        with driver.lock:
            if ready():
                return
            needs_no_asking = most_urgent(operations()) == IDLE
        if needs_no_asking and self.wait_for_wire(ready):
            return
        me = object()
        try:
            with driver.lock:
                if ready():
                    return
                # before the lock is released: whoever makes it ready then sees that it is waited
                # for
                driver.waits_begun += 1
                driver.waiting[me] = None
            self._wait(me, ready, operations)
        finally:
            driver.waiting.pop(me, None)
            self._asleep.pop(me, None)

    def _wait(
        self,
        me: object,
        ready: Callable[[], bool],
        operations: Callable[[], Sequence[Operation]],
    ) -> None:
        """Drive the engine, whatever else is in progress and however long it takes.

        Once woken it sleeps first: what others sent was looked for just before. If nobody wakes it
        native MPI is polled once more, because it may have had several things to do before.
        """
        driver = self._driver
        begun = quiet = time.perf_counter()
        looked = begun
        is_asked = False
        while True:
            left, now = operations(), time.perf_counter()
            pause = self._pause(left, now - begun, now - quiet)
            if now - looked > CHECK_INTERVAL:
                looked = now
                self._look_after(left)
            elif pause >= LEAST_NOTIFIED or (pause and is_asked):
                self._asleep[me] = operations
                self._sleep(pause)
            is_asked = True
            with driver.lock:
                moved = self._drive()
                if ready():
                    return
                if pause:  # of several only the first that is not done was asked: a far one, maybe
                    rest = NAP if pause >= LEAST_NOTIFIED else MOST
                    self._progress_native_if_due(time.perf_counter(), rest)
            if moved:
                quiet = time.perf_counter()

    def wait_for_wire(self, ready: Callable[[], bool]) -> bool:
        """Wait until `ready`, called with the lock held, as long as only the wire matters.

        That is so while nothing else is in progress, and not for long; return whether it is ready.
        On a processor that has just woken up every function call is expensive, so this does little
        else.
        """
        driver = self._driver
        me, connections, begun, is_counted = object(), driver.connections, 0.0, False
        try:
            while connections is not None:
                with driver.lock:
                    if is_counted and connections.progress() and len(driver.waiting) > 1:
                        connections.wake()  # others may wait for what has arrived
                    if not driver.is_quiet:
                        return False
                    if ready():
                        return True
                    now = time.perf_counter()
                    if not is_counted:
                        driver.waits_begun += 1
                        driver.waiting[me] = None
                        begun, is_counted = now, True
                    elif now - begun > AT_ONCE:
                        return False
                    self._progress_native_if_due(now)
                connections.ready(min(max(now - begun, NAP), SELDOM))
            return False
        finally:
            driver.waiting.pop(me, None)

    def _progress_native_if_due(self, now: float, rest: float = NAP) -> None:
        """Let native MPI make progress if it was not polled lately, whatever is waited for."""
        if now - self._native_asked_at >= rest and not self._driver.is_alone:
            self._native_asked_at = now
            progress_native()

    def _look_after(self, left: Sequence[Operation]) -> None:
        """Learn soon of losses, and of whatever else keeps a wait from its end."""
        driver = self._driver
        with driver.lock:
            driver.listen()
            awaited = [*left, *driver.collectives()]
            driver.watch(index for one in awaited for index in one.awaited())
            for one in awaited:
                one.takes_long()

    def _pause(self, left: Sequence[Operation], waiting: float, quiet: float) -> float:
        """Return how long to sleep before native MPI is polled again."""
        urgency = max(self._driver.urgency, most_urgent(left))
        if urgency == IDLE and self._driver.is_alone:
            return CHECK_INTERVAL
        if urgency < POLLED:
            return min(max(quiet, NAP if urgency == IDLE else LEAST_NOTIFIED), SELDOM)
        return 0.0 if waiting < SPIN else min(max(SHARE * quiet, LEAST), MOST)

    def describe(self) -> list[str]:
        """Describe what each sleeping thread waits for."""
        return [
            ", ".join(one.describe() for one in operations() if not one.done)
            for operations in tuple(self._asleep.values())
        ]

    def _drive(self) -> bool:
        """Make progress, with the engine's lock held; return whether there was any."""
        driver = self._driver
        driver.driving = 1
        try:
            moved = driver.move()
        finally:
            driver.driving = 0
        if moved and len(driver.waiting) > 1 and driver.connections is not None:
            driver.connections.wake()  # others may wait for what has completed here
        return moved

    def _sleep(self, pause: float) -> None:
        connections = self._driver.connections
        if connections is None:
            time.sleep(min(pause, MOST))  # without other clusters nobody can wake it
        else:
            connections.ready(pause)
