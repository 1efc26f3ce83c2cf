"""How a thread waits: it sleeps where the wire wakes it, and says for what.

Native MPI wakes nobody: a wait for it spins briefly and then asks again and again.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.mpi.engine import Engine
    from runtime.mpi.operations import Operation

SPIN = 50e-6
"""For how many seconds a wait for native MPI does not sleep, if nobody rings for it."""

LEAST, MOST, SHARE = 10e-6, 500e-6, 1 / 6
"""How long to sleep between two questions to native MPI, which wakes nobody: at first, later.

It is a share of the time for which nothing has happened.
"""

LEAST_RUNG, SELDOM, LARGE_SHARE = 200e-6, 10e-3, 1 / 2
"""The same where another member of the cluster rings when it is worth to ask."""

PATIENCE = 1.0
"""After how many seconds to look whether those that are waited for are still there."""


class Waits:
    """The waits of all threads of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asleep: dict[object, Callable[[], Sequence[Operation]]] = {}
        self.begun = 0
        """How many waits there were."""
        self.going_on = 0
        """How many there are now."""

    def wait(
        self, ready: Callable[[], bool], operations: Callable[[], Sequence[Operation]]
    ) -> None:
        """Drive the engine until `ready` is true, which is asked with its lock held."""
        engine = self._engine
        with engine.lock:
            self.begun += 1
            self.going_on += 1
        me = object()
        begun = quiet = time.perf_counter()
        is_watched = False
        try:
            while True:
                with engine.lock:
                    moved = engine.move()
                    if moved and self.going_on > 1 and engine.post is not None:
                        engine.post.wake()  # others may wait for what has been moved here
                    if ready():
                        return
                now = time.perf_counter()
                if moved:
                    quiet = now
                if now - quiet < SPIN and self._is_restless(operations()):
                    continue
                self._asleep[me] = operations
                if now - begun > PATIENCE and not is_watched:
                    is_watched = True
                    engine.watch(index for one in operations() for index in one.awaited())
                else:
                    self._sleep(now - quiet, is_watched, operations())
        finally:
            self._asleep.pop(me, None)
            with engine.lock:
                self.going_on -= 1

    def describe(self) -> list[str]:
        """Say what each sleeping thread waits for."""
        return [
            ", ".join(one.describe() for one in operations() if not one.done)
            for operations in tuple(self._asleep.values())
        ]

    def _sleep(self, elapsed: float, is_watched: bool, operations: Sequence[Operation]) -> None:
        engine = self._engine
        post = engine.post
        pause: float | None = None
        if self._is_restless(operations):
            pause = min(max(elapsed * SHARE, LEAST), MOST)
        elif engine.polled or any(one.polled for one in operations):
            pause = min(max(elapsed * LARGE_SHARE, LEAST_RUNG), SELDOM)
        elif not is_watched:
            pause = PATIENCE
        if post is None:
            time.sleep(pause or MOST)
            return
        engine.step_aside()
        post.ready(pause)

    def _is_restless(self, operations: Sequence[Operation]) -> bool:
        engine = self._engine
        return engine.post is None or engine.restless or any(one.restless for one in operations)
