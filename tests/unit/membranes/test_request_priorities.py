"""Which request passes which: functional ones and the three levels of control requests."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm import Component, active, provides, submit
from gcm.errors import NoSuchControllerError, NoSuchInterfaceError
from gcm.membranes.requests.request import PriorityController
from gcm.membranes.requests.request_queue import Priority, Request, RequestQueueController, insert
from tests.unit.parts import WAIT

F, NF1, NF2, NF3 = Priority.FUNCTIONAL, Priority.NF1, Priority.NF2, Priority.NF3


def queued(*priorities: Priority) -> list[tuple[str, int]]:
    """Return the queue that requests of these priorities make, each with the place it came in."""
    waiting: deque[Request] = deque()
    for number, priority in enumerate(priorities):
        insert(waiting, Request("itf", str(number), (), {}, priority))
    return [(request.priority.name, int(request.operation)) for request in waiting]


def test_functional_requests_and_nf1_wait_in_the_order_of_arrival() -> None:
    assert queued(F, NF1, F, NF1) == [("FUNCTIONAL", 0), ("NF1", 1), ("FUNCTIONAL", 2), ("NF1", 3)]


def test_nf2_passes_functional_requests() -> None:
    assert queued(F, F, NF2) == [("NF2", 2), ("FUNCTIONAL", 0), ("FUNCTIONAL", 1)]


def test_nf2_does_not_pass_an_earlier_control_request() -> None:
    assert queued(F, NF1, F, NF2) == [("FUNCTIONAL", 0), ("NF1", 1), ("NF2", 3), ("FUNCTIONAL", 2)]
    assert queued(NF2, F, NF2) == [("NF2", 0), ("NF2", 2), ("FUNCTIONAL", 1)]


def test_nf3_passes_everything_but_an_earlier_nf3() -> None:
    assert queued(F, NF1, NF2, NF3, NF3) == [
        ("NF3", 3),
        ("NF3", 4),
        ("FUNCTIONAL", 0),
        ("NF1", 1),
        ("NF2", 2),
    ] or queued(F, NF1, NF2, NF3, NF3)[:2] == [("NF3", 3), ("NF3", 4)]


def test_the_levels_rise() -> None:
    assert F < NF1 < NF2 < NF3


@given(st.lists(st.sampled_from(Priority), max_size=30))
def test_requests_of_one_priority_never_pass_each_other(priorities: list[Priority]) -> None:
    order = queued(*priorities)
    assert sorted(number for _, number in order) == list(range(len(priorities)))
    for priority in Priority:
        numbers = [number for name, number in order if name == priority.name]
        assert numbers == sorted(numbers)
    unmoved = [number for name, number in order if name in ("FUNCTIONAL", "NF1")]
    assert unmoved == sorted(unmoved)


class Work(Protocol):
    def work(self, text: str) -> None: ...
    def block(self) -> None: ...


@provides("work", Work)
class Worker:
    def __init__(self) -> None:
        self.done: list[str] = []
        self.blocked = threading.Event()
        self.go_on = threading.Event()

    def work(self, text: str) -> None:
        self.done.append(text)

    def block(self) -> None:
        self.blocked.set()
        assert self.go_on.wait(WAIT)


@pytest.fixture
def worker(ended: Callable[[Any], Any]) -> Component:
    component: Component = ended(active(Worker))
    component.start()
    return component


def control(component: Component, name: str) -> Any:
    return component.server(f"{name}-controller").stub


def test_the_defaults_are_nf2_for_the_life_cycle_and_nf3_for_looking(worker: Component) -> None:
    chosen = worker.controller(PriorityController).get
    assert chosen("lifecycle", "stop") is NF2
    assert chosen("monitor", "figures") is NF3
    assert chosen("component", "path") is NF3
    assert chosen("binding", "bind") is NF1
    assert chosen("attribute", "set") is NF1


def test_the_priorities_decide_the_order_of_the_queue(worker: Component) -> None:
    work = worker.stub("work", Work)
    submit(work.block)
    assert worker.content.blocked.wait(WAIT)
    futures = [
        submit(work.work, "a"),
        submit(control(worker, "name").get),
        submit(control(worker, "lifecycle").state),
        submit(work.work, "b"),
        submit(control(worker, "lifecycle").is_started),
        submit(control(worker, "component").path),
    ]
    assert worker.controller(RequestQueueController).pending() == [
        "component.path",
        "work.work",
        "name.get",
        "lifecycle.state",
        "lifecycle.is_started",
        "work.work",
    ]
    worker.content.go_on.set()
    assert [future.result(WAIT) for future in futures] == [
        None,
        "worker",
        "started",
        None,
        True,
        "/worker",
    ]


def test_a_chosen_priority_replaces_the_default(worker: Component) -> None:
    priorities = worker.controller(PriorityController)
    priorities.set("name", "get", NF3)
    assert priorities.get("name", "get") is NF3
    assert priorities.get("name", "set") is NF1
    work = worker.stub("work", Work)
    submit(work.block)
    assert worker.content.blocked.wait(WAIT)
    submit(work.work, "a")
    submit(control(worker, "name").get)
    assert worker.controller(RequestQueueController).pending() == ["name.get", "work.work"]
    worker.content.go_on.set()


def test_priorities_are_set_past_the_queue(worker: Component) -> None:
    work = worker.stub("work", Work)
    submit(work.block)
    assert worker.content.blocked.wait(WAIT)
    control(worker, "priority").set("name", "get", NF2)
    assert control(worker, "request-queue").length() == 0
    assert worker.controller(PriorityController).get("name", "get") is NF2
    worker.content.go_on.set()


def test_a_priority_of_an_unknown_controller_or_operation_is_refused(worker: Component) -> None:
    priorities = worker.controller(PriorityController)
    with pytest.raises(NoSuchControllerError, match="did you mean 'lifecycle'"):
        priorities.set("lifecycl", "stop", NF3)
    with pytest.raises(NoSuchInterfaceError) as caught:
        priorities.set("lifecycle", "stpo", NF3)
    assert str(caught.value) == (
        "the controller 'lifecycle' has no operation 'stpo' [component /worker]. "
        "did you mean 'stop'?"
    )


def test_no_control_request_is_functional(worker: Component) -> None:
    with pytest.raises(NoSuchInterfaceError) as caught:
        worker.controller(PriorityController).set("name", "get", F)
    assert str(caught.value) == (
        "'name.get' is not functional [component /worker]. "
        "Choose NF1, which waits its turn like a functional request"
    )


@pytest.mark.parametrize("priority", [NF1, NF2, NF3])
def test_a_stopped_component_serves_control_requests_only(
    priority: Priority, worker: Component
) -> None:
    worker.stop()
    worker.controller(PriorityController).set("name", "get", priority)
    future = submit(worker.stub("work", Work).work, "a")
    assert control(worker, "name").get() == "worker"
    assert not future.done()
    assert worker.controller(RequestQueueController).pending() == ["work.work"]
    worker.start()
    future.result(WAIT)


def test_a_control_call_of_an_active_object_is_served_by_its_thread(worker: Component) -> None:
    names: list[str] = []

    from gcm.membranes.introspection import NameController

    class Spying(NameController):
        def get(self) -> str:
            names.append(threading.current_thread().name)
            return super().get()

    worker.membrane.add(Spying(worker))
    assert control(worker, "name").get() == "worker"
    assert names == ["serving /worker"]


def test_a_control_call_before_the_start_is_served(ended: Callable[[Any], Any]) -> None:
    component = ended(active(Worker))
    control(component, "lifecycle").start()
    assert component.state == "started"
