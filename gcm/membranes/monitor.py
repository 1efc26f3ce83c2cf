"""The `monitor` controller: counts and times the calls of each operation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gcm.components.controller import Controller, Port
from gcm.components.model import Component
from gcm.interfaces.interface import Interface
from gcm.membranes.around import End, around
from gcm.membranes.requests.request_queue import Request, RequestQueueController
from gcm.records import dataclass


@dataclass(slots=True)
class Figures:
    """The measurements of one operation; times are in seconds."""

    calls: int = 0
    errors: int = 0
    queue_length: int = 0
    longest_queue: int = 0
    service_time: float = 0.0
    longest_service_time: float = 0.0
    first_arrival: float | None = None
    last_arrival: float | None = None
    arrivals: int = 0

    @property
    def mean_service_time(self) -> float:
        """The mean time that serving one call took."""
        return self.service_time / self.calls if self.calls else 0.0

    @property
    def mean_inter_arrival_time(self) -> float:
        """The mean time between two calls coming in."""
        if self.first_arrival is None or self.last_arrival is None or self.arrivals < 2:
            return 0.0
        return (self.last_arrival - self.first_arrival) / (self.arrivals - 1)

    def arrived(self, now: float, queue_length: int) -> None:
        """Count a call that arrived and found `queue_length` others waiting."""
        self.arrivals += 1
        self.first_arrival = now if self.first_arrival is None else self.first_arrival
        self.last_arrival = now
        self.queue_length = queue_length
        self.longest_queue = max(self.longest_queue, queue_length)

    def served(self, duration: float, *, failed: bool) -> None:
        """Count a call that was served."""
        self.calls += 1
        self.errors += failed
        self.service_time += duration
        self.longest_service_time = max(self.longest_service_time, duration)


class MonitorController(Controller):
    """Measures the server interfaces while it is enabled; until then it costs nothing."""

    __slots__ = ("_clock", "_enabled", "_figures")
    name = "monitor"

    def __init__(
        self, component: Component, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        super().__init__(component)
        self._clock = clock
        self._enabled = False
        self._figures: dict[str, Figures] = {}

    def enable(self) -> None:
        """Begin to measure, from zero."""
        self._figures = {}
        self._switch(True)

    def disable(self) -> None:
        """Stop measuring; the figures stay."""
        self._switch(False)

    def figures(self) -> dict[str, Figures]:
        """Return the measurements so far, by `interface.operation`."""
        return dict(self._figures)

    def wrap(self, interface: Interface, operation: str, proceed: Port) -> Port:
        """Measure each call that is served."""
        if not self._enabled or interface.type.is_client:
            return proceed
        figures = self._figures.setdefault(f"{interface.name}.{operation}", Figures())
        clock = self._clock
        queued = RequestQueueController.name in self.component.membrane

        def begin(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> End:
            began = clock()
            if not queued:
                figures.arrived(began, 0)

            def end(error: BaseException | None) -> BaseException | None:
                figures.served(clock() - began, failed=error is not None)
                return error

            return end

        return around(proceed, begin)

    def _switch(self, on: bool) -> None:
        self._enabled = on
        if RequestQueueController.name in self.component.membrane:
            queue = self.component.membrane.get(RequestQueueController)
            queue.observe(self._observe if on else None)
        self.component.rewire()

    def _observe(self, request: Request, waiting: int) -> None:
        """Count a request that enters the queue of an active object."""
        figures = self._figures.setdefault(str(request), Figures())
        figures.arrived(self._clock(), waiting)
