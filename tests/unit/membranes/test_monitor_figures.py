"""What the monitor counts, with a clock that the test owns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from gcm import Component, active, primitive, provides, requires, submit
from gcm.membranes.monitor import Figures, MonitorController
from gcm.testing import ScriptedClock
from tests.unit.parts import WAIT


class Work(Protocol):
    def work(self, seconds: float) -> None: ...
    def rest(self) -> None: ...
    def block(self) -> None: ...


@provides("work", Work)
class Worker:
    def __init__(self) -> None:
        self.clock = ScriptedClock(100.0)
        self.blocked, self.go_on = threading.Event(), threading.Event()

    def work(self, seconds: float) -> None:
        self.clock.advance(seconds)
        if seconds > 50:
            raise ValueError("too long")

    def rest(self) -> None: ...

    def block(self) -> None:
        self.blocked.set()
        assert self.go_on.wait(WAIT)


def monitored(component: Component) -> MonitorController:
    monitor = MonitorController(component, component.content.clock)
    component.membrane.add(monitor)
    component.start()
    monitor.enable()
    return monitor


def test_nothing_is_measured_before_it_is_enabled() -> None:
    component = primitive(Worker)
    component.start()
    component.stub("work", Work).work(1)
    assert component.controller(MonitorController).figures() == {}


def test_calls_service_times_and_arrivals_of_a_passive_component() -> None:
    component = primitive(Worker)
    monitor = monitored(component)
    work = component.stub("work", Work)
    work.work(2)
    component.content.clock.now = 110.0
    work.work(4)
    assert monitor.figures() == {
        "work.work": Figures(
            calls=2,
            errors=0,
            queue_length=0,
            longest_queue=0,
            service_time=6.0,
            longest_service_time=4.0,
            first_arrival=100.0,
            last_arrival=110.0,
            arrivals=2,
        ),
        "work.rest": Figures(),
        "work.block": Figures(),
    }
    figures = monitor.figures()["work.work"]
    assert figures.mean_service_time == 3.0
    assert figures.mean_inter_arrival_time == 10.0


def test_a_failed_call_counts_as_a_call_and_as_an_error() -> None:
    component = primitive(Worker)
    monitor = monitored(component)
    with pytest.raises(ValueError, match="too long"):
        component.stub("work", Work).work(60)
    figures = monitor.figures()["work.work"]
    assert (figures.calls, figures.errors, figures.service_time) == (1, 1, 60.0)


def test_the_mean_inter_arrival_time_is_over_the_gaps() -> None:
    figures = Figures()
    assert figures.mean_inter_arrival_time == 0.0
    assert figures.mean_service_time == 0.0
    figures.arrived(5.0, 0)
    assert figures.mean_inter_arrival_time == 0.0
    figures.arrived(7.0, 3)
    figures.arrived(11.0, 1)
    assert figures.mean_inter_arrival_time == 3.0
    assert (figures.queue_length, figures.longest_queue) == (1, 3)


def test_measuring_stops_with_disable_and_begins_at_zero_with_enable() -> None:
    component = primitive(Worker)
    monitor = monitored(component)
    work = component.stub("work", Work)
    work.work(1)
    monitor.disable()
    work.work(1)
    assert monitor.figures()["work.work"].calls == 1
    monitor.enable()
    assert monitor.figures()["work.work"].calls == 0
    work.work(1)
    assert monitor.figures()["work.work"].calls == 1


def test_the_queue_of_an_active_object_is_measured_where_requests_come_in(
    ended: Callable[[Any], Any],
) -> None:
    component = ended(active(Worker))
    monitor = monitored(component)
    work, clock = component.stub("work", Work), component.content.clock
    first = submit(work.block)
    assert component.content.blocked.wait(WAIT)
    clock.now = 103.0
    waiting = [submit(work.rest)]
    clock.now = 105.0
    waiting.append(submit(work.rest))
    resting = monitor.figures()["work.rest"]
    assert (resting.arrivals, resting.calls) == (2, 0)
    assert (resting.queue_length, resting.longest_queue) == (1, 1)
    assert resting.mean_inter_arrival_time == 2.0
    component.content.go_on.set()
    for future in (first, *waiting):
        future.result(WAIT)
    assert monitor.figures()["work.block"].calls == 1
    assert monitor.figures()["work.block"].service_time == 5.0
    assert (resting.arrivals, resting.calls) == (2, 2)
    monitor.disable()
    work.rest()
    assert resting.arrivals == 2


def test_calls_that_leave_the_component_are_not_measured() -> None:
    class Calling:
        next: Annotated[Work, requires()]

        def __init__(self) -> None:
            self.clock = ScriptedClock(100.0)

    client, server = primitive(Calling), primitive(Worker)
    client.bind("next", server.server("work"))
    server.start()
    monitor = monitored(client)
    client.content.next.rest()
    assert monitor.figures() == {}


def test_calls_of_several_threads_are_all_counted(
    in_thread: Callable[..., threading.Thread],
) -> None:
    component = primitive(Worker)
    monitor = monitored(component)
    work = component.stub("work", Work)

    def calls() -> None:
        for _ in range(2000):
            work.rest()

    for thread in [in_thread(calls) for _ in range(4)]:
        thread.join(WAIT)
    figures = monitor.figures()["work.rest"]
    assert (figures.calls, figures.arrivals) == (8000, 8000)
