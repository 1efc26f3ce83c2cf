"""Waits until nothing runs any more inside components that are being stopped."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gcm.membranes.requests.quiescence import visits
from gcm.membranes.requests.request_queue import RequestQueueController

if TYPE_CHECKING:
    from gcm.components.model import Component

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
