"""Circles of waiting requests that reach into other processes: what one process knows of them.

A request waits where it stands in a queue behind the one that is served, and that one may wait in
turn. Within a process these steps are followed at once. One that leads to another process is left
to who asks: there the circle goes on, or is closed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from gcm.interfaces.call_chain import numbers_of
from gcm.membranes.requests.request import Request, refuse
from gcm.membranes.requests.request_queue import ServingThread
from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of waiting in this process: the awaited requests, and the one they wait for."""

    awaited: tuple[Request, ...]
    last: Request
    """The request that is served where the stretch ends: it may wait for another process."""

    @property
    def places(self) -> tuple[str, ...]:
        """Where the awaited requests are, for messages."""
        return tuple(request.where for request in self.awaited)

    @property
    def has_queued(self) -> bool:
        """Whether one of them is not served yet: such a one can be refused."""
        return any(one.queue is not None and one.queue.serving is not one for one in self.awaited)

    def refuse(self, before: tuple[str, ...]) -> bool:
        """Refuse the first request that still waits; `before` are the places that lead to it."""
        return refuse(self.awaited, (*before, *self.places))


def stretches(number: str, end: str) -> Iterator[Stretch]:
    """Yield what the requests wait for that were made here by the link `number`.

    A stretch ends at the request `end`, or where the request that is served waits for nothing here.
    """
    for thread in threading.enumerate():
        if not isinstance(thread, ServingThread):
            continue
        for request in thread.queue.requests():
            caller = request.caller
            if request.is_awaited and caller is not None and number in numbers_of(caller):
                found = _from(request, end)
                if found is not None:
                    yield found


def _from(request: Request, end: str) -> Stretch | None:
    awaited = [request]
    while True:
        queue = awaited[-1].queue
        serving = queue.serving if queue else None
        if serving is None:
            return None
        onward = serving.waits_for
        if onward is None or serving.number == end:
            return Stretch(tuple(awaited), serving)
        if onward in awaited:
            return None  # a circle within this process, which sees to it itself
        awaited.append(onward)
