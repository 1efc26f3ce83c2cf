"""Requests: calls on their way through the queue of an active object."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from gcm.errors import GcmError
from gcm.interfaces.future import Future

if TYPE_CHECKING:
    from gcm.membranes.request_queue import RequestQueueController


class Priority(IntEnum):
    """Which request passes which: NF3 all, NF2 functional ones, the others wait their turn."""

    FUNCTIONAL = 0
    NF1 = 1
    NF2 = 2
    NF3 = 3


_FUNCTIONAL = Priority.FUNCTIONAL  # found faster than through the enumeration


@dataclass(slots=True, eq=False)
class Request:
    """One call on its way through the queue of an active object."""

    interface: str
    operation: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    priority: Priority = _FUNCTIONAL
    queue: RequestQueueController | None = None
    future: Future[Any] = field(init=False)
    refusal: GcmError | None = None

    def __post_init__(self) -> None:
        """Make the future that the caller gets."""
        self.future = RequestFuture(self)

    def __str__(self) -> str:
        """Return the interface and the operation."""
        return f"{self.interface}.{self.operation}"


class RequestFuture(Future[Any]):
    """The result of a request: who waits for it does not wait for ever while nothing is served."""

    about: Request

    def _passed(self, gate: threading.Lock, timeout: float | None) -> bool:
        queue = self.about.queue
        if timeout is not None or queue is None:
            return super()._passed(gate, timeout)
        first = rest = queue.component.membrane.lifecycle.hold_timeout
        begin = 0.0
        while not gate.acquire(timeout=rest):
            begin = begin or time.monotonic() - first  # when it was not needed, not asked for
            rest = queue.look_after(self.about, begin)
        return True


def insert(waiting: deque[Request], request: Request) -> None:
    """Queue `request` where its priority puts it.

    NF3 passes everything but earlier NF3; NF2 passes the functional requests at the end of the
    queue; NF1 and functional requests go to the end.
    """
    place = len(waiting)
    if request.priority is Priority.NF3:
        place = sum(1 for other in waiting if other.priority is Priority.NF3)
    elif request.priority is Priority.NF2:
        while place and waiting[place - 1].priority is _FUNCTIONAL:
            place -= 1
    waiting.insert(place, request)
