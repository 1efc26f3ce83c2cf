"""A stop: waits until nothing runs any more inside components, and holds the calls that come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from gcm.membranes.requests.quiescence import visits
from gcm.membranes.requests.request_queue import RequestQueueController

if TYPE_CHECKING:
    from gcm.components.controller import LifeCycle
    from gcm.components.model import Component
    from gcm.interfaces.interface import ServerInterface
    from gcm.interfaces.stub import Stub

_FIRST_PAUSE = 0.00005
_LONGEST_PAUSE = 0.005


def queue_of(component: Component) -> RequestQueueController | None:
    """Return the request queue of an active object, None for other components."""
    if RequestQueueController.name not in component.membrane:
        return None
    return component.membrane.get(RequestQueueController)


def wait_until_quiet(falling: frozenset[Component], timeout: float) -> list[str]:
    """Wait until nothing runs inside `falling`; return what still runs after `timeout` seconds.

    Queues are served as long as other components may need their answers.
    """
    deadline = time.monotonic() + timeout
    queues = [queue for part in falling if (queue := queue_of(part))]
    pause = _FIRST_PAUSE
    while True:
        busy = _busy(falling, queues)
        for queue in queues:
            queue.allow(any(owner is not queue.component for owner, _ in busy))
        if not busy and not _busy(falling, queues):
            return []
        if time.monotonic() > deadline:
            return [text for _, text in busy]
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _busy(
    falling: frozenset[Component], queues: Iterable[RequestQueueController]
) -> list[tuple[Component, str]]:
    found = visits(falling)
    running = [(visit.component, str(visit)) for visit in found if not visit.is_queued]
    seen = {visit.component for visit in found}
    return running + [  # a request that is just being dequeued or finished
        (queue.component, f"{queue.component.path} serves '{queue.serving}'")
        for queue in queues
        if queue.serving and queue.component not in seen
    ]


class HeldPort:
    """The port of one operation of a component that does not run: it holds calls."""

    __slots__ = ("_interface", "_life", "_operation", "_stub")

    def __init__(
        self, life: LifeCycle, interface: ServerInterface, stub: Stub, operation: str
    ) -> None:
        self._life = life
        self._interface = interface
        self._stub = stub
        self._operation = operation

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Wait until the component runs, then call the present port of the operation."""
        self._life.wait_until_open(self._interface.name, self._operation)
        return self.when_open()(*args, **kwargs)

    def when_open(self) -> Callable[..., Any]:
        """Return the port that would be here if the component ran, recomposed."""
        return self._interface.open_port(self._stub, self._operation)
