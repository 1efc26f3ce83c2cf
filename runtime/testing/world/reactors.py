"""The reactor of a process in a world, and the queue of its engine: in the time of the world."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from runtime.errors import GridError
from runtime.processes.launcher.task_group import Failed, TaskGroup
from runtime.testing.world.engine import World
from runtime.transport.reactor import Callback, Reactor, Timer


class WorldReactor(Reactor):
    """Calls back in the turns of its actor, so not while the process is stopped.

    Whoever calls is in a callback: a process of a world has one thread.
    """

    def __init__(self, world: World, owner: str) -> None:  # no thread, no descriptors
        self._world = world
        self._owner = owner

    def now(self) -> float:
        """Return the time of the world."""
        return self._world.now

    def is_own_thread(self) -> bool:
        """Return true."""
        return True

    def soon(self, callback: Callback) -> None:
        """Call behind all that happens now."""
        self.later(0.0, callback)

    def later(self, seconds: float, callback: Callback) -> Timer:
        """Call after a while, or once the process goes on."""
        timer = Timer(self._world.now + seconds, callback)
        self._world.call(self._owner, timer.fire, timer.when)
        return timer

    def watch(self, descriptor: int, events: int, callback: Callable[[int], object]) -> None:
        """Refuse: there are no descriptors here."""
        raise NotImplementedError(f"descriptor {descriptor} in a world ({events}, {callback})")


class WorldTasks(TaskGroup):
    """Tasks that take a while, one turn each."""

    def __init__(self, reactor: WorldReactor, pause: Callable[[], float]) -> None:
        super().__init__()
        self._reactor = reactor
        self._pause = pause

    def do(self, name: str, work: Callable[[], object], failed: Failed | None = None) -> None:
        """Do something in a while; `failed` is told of a fault."""

        def run() -> None:
            try:
                work()
            except GridError as fault:
                if failed is not None:
                    failed(fault)

        del name
        self._reactor.later(self._pause(), run)


class EngineQueue:
    """What the thread of an engine takes one after the other; it comes to that in a while."""

    def __init__(
        self, reactor: WorldReactor, pause: Callable[[], float], take: Callable[[object], None]
    ) -> None:
        self._reactor = reactor
        self._pause = pause
        self._take = take
        self._items: deque[object] = deque()

    def put(self, item: object) -> None:
        """Let it be taken behind all that was put before."""
        self._items.append(item)
        self._reactor.later(self._pause(), self._next)

    def _next(self) -> None:
        if self._items:
            self._take(self._items.popleft())
