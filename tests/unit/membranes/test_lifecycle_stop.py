"""A stop waits for what is inside, and only for that."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    InterfaceType,
    active,
    composite,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.errors import IllegalLifeCycleError
from gcm.membranes.content import ContentController
from gcm.membranes.lifecycle import LifeCycleController
from gcm.membranes.requests.quiescence import visits
from gcm.membranes.requests.request_queue import RequestQueueController
from tests.unit.parts import WAIT, Ended, InThread


class Work(Protocol):
    def work(self, text: str) -> str: ...


@provides("work", Work)
class Slow:
    """Content whose call stays inside until it is let go."""

    def __init__(self) -> None:
        self.inside = threading.Event()
        self.let_go = threading.Event()

    def work(self, text: str) -> str:
        self.inside.set()
        assert self.let_go.wait(WAIT)
        return text


@provides("work", Work)
class Relay:
    next: Annotated[Work, requires()]

    def work(self, text: str) -> str:
        return self.next.work(text)


def stop_soon(component: Component, in_thread: InThread) -> tuple[threading.Thread, list[Any]]:
    """Begin to stop `component` elsewhere; return once its gate is closed."""
    errors: list[Any] = []
    begun = threading.Event()
    life = component.controller(LifeCycleController)

    def stop() -> None:
        begun.set()
        try:
            component.stop()
        except Exception as error:
            errors.append(error)

    thread = in_thread(stop)
    assert begun.wait(WAIT)
    while life.state() == "started":
        thread.join(0.001)
    return thread, errors


def outer(part: Component) -> Component:
    box = composite("box", ComponentType((InterfaceType("work", Work),)))
    box.controller(ContentController).add(part)
    box.bind("work", part.server("work"))
    return box


def calls_of(component: Component, *, wait: bool) -> Callable[[], Any]:
    stub = component.stub("work", Work)
    return (lambda: stub.work("done")) if wait else (lambda: submit(stub.work, "done").result())


@pytest.mark.parametrize("wait", [True, False], ids=["call", "submit"])
@pytest.mark.parametrize("make", [primitive, active])
def test_a_stop_waits_for_the_call_inside_and_the_call_finishes(
    make: Callable[..., Component], wait: bool, in_thread: InThread, ended: Ended
) -> None:
    component = ended(make(Slow))
    component.start()
    answers: list[str] = []
    call = calls_of(component, wait=wait)
    caller = in_thread(lambda: answers.append(call()))
    assert component.content.inside.wait(WAIT)
    thread, errors = stop_soon(component, in_thread)
    assert component.state == "stopping"
    component.content.let_go.set()
    thread.join(WAIT)
    caller.join(WAIT)
    assert errors == []
    assert component.state == "stopped"
    component.start()
    component.stop()
    assert answers == ["done"]


def test_while_one_thread_stops_a_component_others_can_neither_start_nor_stop_it(
    in_thread: InThread,
) -> None:
    component = primitive(Slow)
    component.start()
    in_thread(lambda: component.stub("work", Work).work("x"))
    assert component.content.inside.wait(WAIT)
    thread, _ = stop_soon(component, in_thread)
    for action in (component.start, component.stop, component.terminate):
        with pytest.raises(IllegalLifeCycleError) as caught:
            action()
        assert str(caught.value) == (
            f"cannot {action.__name__} a component that is stopping "
            "[component /slow, state stopping]. "
            "Another thread is stopping it: wait until it is stopped"
        )
    component.content.let_go.set()
    thread.join(WAIT)


def test_a_composite_does_not_start_a_part_that_is_being_stopped(in_thread: InThread) -> None:
    part = primitive(Slow)
    box = outer(part)
    part.start()
    in_thread(lambda: part.stub("work", Work).work("x"))
    assert part.content.inside.wait(WAIT)
    thread, _ = stop_soon(part, in_thread)
    with pytest.raises(IllegalLifeCycleError, match="/box/slow: it is stopping. Another thread"):
        box.start()
    part.content.let_go.set()
    thread.join(WAIT)
    assert part.state == "stopped"


@pytest.mark.parametrize("wait", [True, False], ids=["call", "submit"])
def test_a_stop_that_takes_too_long_names_who_is_where_and_the_component_runs_on(
    wait: bool, in_thread: InThread
) -> None:
    component = primitive(Slow)
    component.controller(LifeCycleController).stop_timeout = 0.02
    component.start()
    caller = in_thread(calls_of(component, wait=wait))
    caller_name = caller.name
    assert component.content.inside.wait(WAIT)
    with pytest.raises(IllegalLifeCycleError) as caught:
        component.stop()
    message = str(caught.value)
    assert message.startswith("cannot stop within 0.02 s: /slow is in 'work' at ")
    assert "threading.py:" in message
    assert f"({caller_name}) [component /slow, state stopping]" in message
    assert message.endswith(
        "It runs on. Let these calls end, or raise `stop_timeout` of its lifecycle controller"
    )
    assert component.state == "started"
    component.content.let_go.set()
    assert component.stub("work", Work).work("again") == "again"


def test_a_stop_of_an_active_object_that_takes_too_long_names_the_request_once(
    ended: Ended,
) -> None:
    component = ended(active(Slow))
    component.controller(LifeCycleController).stop_timeout = 0.02
    component.start()
    future = submit(component.stub("work", Work).work, "x")
    assert component.content.inside.wait(WAIT)
    with pytest.raises(IllegalLifeCycleError) as caught:
        component.stop()
    assert "/slow is in 'work.work' at " in caught.value.what
    assert caught.value.what.count("/slow") == 1 + caught.value.what.count("serving /slow")
    component.content.let_go.set()
    assert future.result(WAIT) == "x"


@provides("work", Work)
class Suicidal:
    component: Component

    def work(self, text: str) -> str:
        self.component.stop()
        return text


@pytest.mark.parametrize("wait", [True, False], ids=["call", "submit"])
@pytest.mark.parametrize("make", [primitive, active])
def test_a_request_cannot_stop_its_own_component(
    make: Callable[..., Component], wait: bool, ended: Ended
) -> None:
    component = ended(make(Suicidal))
    component.content.component = component
    component.start()
    with pytest.raises(IllegalLifeCycleError) as caught:
        calls_of(component, wait=wait)()
    assert str(caught.value) == (
        "a request of the component cannot stop it: it would wait for itself "
        "[component /suicidal, state started]. "
        "Stop it from outside, or from a thread of your own"
    )
    assert component.state == "started"


def test_a_request_cannot_stop_a_composite_around_it() -> None:
    part = primitive(Suicidal)
    box = outer(part)
    part.content.component = box
    box.start()
    with pytest.raises(IllegalLifeCycleError, match="a request of the component cannot stop it"):
        box.stub("work", Work).work("x")


def test_a_request_may_stop_another_component() -> None:
    caller, other = primitive(Suicidal), primitive(Slow)
    caller.content.component = other
    caller.start()
    other.start()
    assert caller.stub("work", Work).work("x") == "x"
    assert other.state == "stopped"


def test_the_lifecycle_interface_cannot_stop_the_component_from_a_request_either(
    ended: Ended,
) -> None:
    component = ended(active(Suicidal))
    component.content.component = component.server("lifecycle-controller").stub
    component.start()
    with pytest.raises(IllegalLifeCycleError, match="it would wait for itself"):
        component.stub("work", Work).work("x")


def test_calls_from_inside_go_on_while_a_composite_stops(in_thread: InThread) -> None:
    """The caller is inside; what it still needs from its sibling must not be held back."""
    entered, go_on = threading.Event(), threading.Event()

    @provides("work", Work)
    class Pausing:
        next: Annotated[Work, requires()]

        def work(self, text: str) -> str:
            entered.set()
            assert go_on.wait(WAIT)
            return self.next.work(text)

    first, second = primitive(Pausing, "first"), primitive(Slow, "second")
    second.content.let_go.set()
    box = outer(first)
    box.controller(ContentController).add(second)
    first.bind("next", second.server("work"))
    box.start()
    answers: list[str] = []
    in_thread(lambda: answers.append(box.stub("work", Work).work("through")))
    assert entered.wait(WAIT)
    thread, errors = stop_soon(box, in_thread)
    while second.state != "stopping":
        thread.join(0.001)
    go_on.set()
    thread.join(WAIT)
    assert errors == []
    assert box.state == second.state == "stopped"
    assert answers == ["through"]


def test_a_stop_lets_one_active_part_wait_for_the_answer_of_another(
    in_thread: InThread, ended: Ended
) -> None:
    entered, go_on = threading.Event(), threading.Event()

    @provides("work", Work)
    class Asking:
        next: Annotated[Work, requires()]

        def work(self, text: str) -> str:
            entered.set()
            assert go_on.wait(WAIT)
            return self.next.work(text)

    asking, asked = active(Asking), active(Relay, "asked")
    last = active(Slow, "last")
    last.content.let_go.set()
    box = ended(outer(asking))
    for part in (asked, last):
        box.controller(ContentController).add(part)
    asking.bind("next", asked.server("work"))
    asked.bind("next", last.server("work"))
    box.start()
    future = submit(box.stub("work", Work).work, "answered")
    assert entered.wait(WAIT)
    thread, errors = stop_soon(box, in_thread)
    go_on.set()
    thread.join(WAIT)
    assert errors == []
    assert future.result(WAIT) == "answered"
    assert box.state == "stopped"


def test_what_is_queued_when_an_active_object_stops_is_served_after_the_restart(
    in_thread: InThread, ended: Ended
) -> None:
    component = ended(active(Slow))
    component.start()
    futures = [submit(component.stub("work", Work).work, str(n)) for n in range(3)]
    assert component.content.inside.wait(WAIT)
    thread, errors = stop_soon(component, in_thread)
    futures.append(submit(component.stub("work", Work).work, "3"))
    component.content.let_go.set()
    thread.join(WAIT)
    assert errors == []
    assert [future.done() for future in futures] == [True, False, False, False]
    assert component.controller(RequestQueueController).pending() == ["work.work"] * 3
    component.start()
    assert [future.result(WAIT) for future in futures] == ["0", "1", "2", "3"]


class Sum(Protocol):
    def add(self, value: int) -> int: ...


class Sums(Protocol):
    def add(self, value: list[int]) -> list[int]: ...


@provides("sum", Sum, cardinality=Cardinality.GATHERCAST)
class Adder:
    def add(self, value: list[int]) -> list[int]:
        return [sum(value)] * len(value)


class Giver:
    sum: Annotated[Sum, requires()]


def test_a_call_that_waits_in_a_gathercast_round_does_not_hinder_the_stop(
    in_thread: InThread,
) -> None:
    server = primitive(Adder)
    givers = [primitive(Giver, f"giver{n}") for n in range(2)]
    for giver in givers:
        giver.bind("sum", server.server("sum"))
    for part in (server, *givers):
        part.start()
    answers: list[int] = []
    first = in_thread(lambda: answers.append(givers[0].content.sum.add(1)))
    while not server.server("sum").gathering.waiting():  # type: ignore[union-attr]  # it is gathercast
        first.join(0.001)
    assert visits([server]) == []
    server.stop()
    assert server.state == "stopped"
    server.start()
    answers.append(givers[1].content.sum.add(2))
    first.join(WAIT)
    assert answers == [3, 3]


def test_a_call_inside_is_a_visit_and_one_at_the_gate_is_none(in_thread: InThread) -> None:
    component = primitive(Slow)
    component.controller(LifeCycleController).hold_timeout = WAIT
    component.start()
    caller = in_thread(lambda: component.stub("work", Work).work("x"))
    assert component.content.inside.wait(WAIT)
    (visit,) = visits([component])
    assert (visit.component, visit.operation, visit.thread) == (component, "work", caller.name)
    assert str(visit).startswith("/slow is in 'work' at ")
    assert str(visit).endswith(f"({caller.name})")
    assert visits([primitive(Slow)]) == []
    component.content.let_go.set()
    caller.join(WAIT)
    in_thread(component.stop).join(WAIT)
    held = in_thread(lambda: component.stub("work", Work).work("x"))
    life = component.controller(LifeCycleController)
    while life._changed is None:  # the first call that waits makes it
        held.join(0.001)
    assert visits([component]) == []
    component.start()
    held.join(WAIT)


def test_a_call_that_waits_at_the_gate_is_inside_the_component_that_made_it(
    in_thread: InThread,
) -> None:
    client, server = primitive(Relay), primitive(Slow)
    server.content.let_go.set()
    client.bind("next", server.server("work"))
    client.start()
    server.start()
    in_thread(server.stop).join(WAIT)
    in_thread(lambda: submit(client.stub("work", Work).work, "x").result(WAIT))
    life = server.controller(LifeCycleController)
    while life._changed is None or not visits([client]):
        threading.Event().wait(0.001)
    assert visits([server]) == []
    assert [visit.component for visit in visits([client])] == [client]
    server.start()


def test_a_control_call_is_no_visit(in_thread: InThread) -> None:
    entered, go_on = threading.Event(), threading.Event()

    class Blocking(LifeCycleController):
        def is_started(self) -> bool:
            if threading.current_thread() is not threading.main_thread():
                entered.set()
                assert go_on.wait(WAIT)
            return super().is_started()

    from gcm.membranes.descriptions import PRIMITIVE

    kinds = tuple(
        Blocking if kind is LifeCycleController else kind for kind in PRIMITIVE.controllers
    )
    component = primitive(Slow, controllers=type(PRIMITIVE)("blocking", kinds))
    component.start()
    stub: Any = component.server("lifecycle-controller").stub
    in_thread(stub.is_started)
    assert entered.wait(WAIT)
    assert visits([component]) == []
    component.stop()
    assert component.state == "stopped"
    go_on.set()


def test_a_look_for_calls_in_flight_keeps_nothing_of_what_other_threads_have() -> None:
    come, go, known = threading.Event(), threading.Event(), list[weakref.ref[Slow]]()

    def hold() -> None:
        held = Slow()
        known.append(weakref.ref(held))
        come.set()
        assert go.wait(WAIT)

    gc.disable()
    try:
        thread = threading.Thread(target=hold)
        thread.start()
        assert come.wait(WAIT)
        assert visits(()) == []
        go.set()
        thread.join()
        assert known[0]() is None
    finally:
        gc.enable()


def test_several_who_look_at_once_keep_nothing_either() -> None:
    known: list[weakref.ref[Slow]] = []

    def hold() -> None:
        held = Slow()
        known.append(weakref.ref(held))
        time.sleep(0.0005)

    def look() -> None:
        while len(known) < 500:
            assert visits(()) == []

    threads = [threading.Thread(target=look) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    gc.disable()
    try:
        for thread in threads:
            thread.start()
        for _ in range(500):
            hold()
        for thread in threads:
            thread.join()
        assert [one() for one in known] == [None] * 500
    finally:
        gc.enable()
        sys.setswitchinterval(interval)
