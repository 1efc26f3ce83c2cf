"""`submit` on multicasts, and on calls that interceptors, monitors or own controllers see."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    Composite,
    Controller,
    InterfaceType,
    Invocation,
    active,
    composite,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.components.controller import Port
from gcm.errors import MulticastError
from gcm.membranes.around import End, around
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import COMPOSITE
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.monitor import MonitorController
from tests.unit.parts import WAIT, Ended


class Desk(Protocol):
    def work(self, text: str) -> str: ...


class Desks(Protocol):
    def work(self, text: str) -> list[str]: ...


@provides("desk", Desk)
class Slow:
    """Content that works only once it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def work(self, text: str) -> str:
        assert self.let_go.wait(WAIT)
        if text == "fail":
            raise ValueError(text)
        return text.upper()


class Boss:
    desks: Annotated[Desks, requires(cardinality=Cardinality.MULTICAST)]


def office(ended: Ended, *makes: Callable[..., Component]) -> tuple[Component, list[Component]]:
    boss = primitive(Boss)
    workers = [ended(make(Slow, f"w{n}")) for n, make in enumerate(makes)]
    for worker in workers:
        boss.bind("desks", worker.server("desk"))
        worker.start()
    boss.start()
    return boss, workers


def let_go(workers: list[Component]) -> None:
    for worker in workers:
        worker.content.let_go.set()


def test_a_submitted_multicast_to_active_objects_is_back_at_once(ended: Ended) -> None:
    boss, workers = office(ended, active, active)
    future = submit(boss.content.desks.work, "a")
    assert not future.done()
    workers[1].content.let_go.set()
    assert not future.done()
    let_go(workers)
    assert future.result(WAIT) == ["A", "A"]


def test_its_failures_come_in_the_future(ended: Ended) -> None:
    boss, workers = office(ended, active, active)
    let_go(workers)
    error = submit(boss.content.desks.work, "fail").exception(WAIT)
    assert isinstance(error, MulticastError)
    assert [path for path, _ in error.failures] == ["/w0.desk", "/w1.desk"]


def test_what_cannot_be_sent_is_in_the_future_too(ended: Ended) -> None:
    boss, workers = office(ended, active)
    let_go(workers)
    error = submit(boss.content.desks.work, threading.Lock()).exception(WAIT)
    assert isinstance(error, MulticastError)
    assert "cannot pickle" in str(error)


def test_cancelling_it_cancels_what_no_server_has_begun(ended: Ended) -> None:
    boss, workers = office(ended, active)
    busy = submit(boss.content.desks.work, "first")
    waiting = submit(boss.content.desks.work, "second")
    assert waiting.cancel()
    let_go(workers)
    assert busy.result(WAIT) == ["FIRST"]
    assert waiting.cancelled()
    assert submit(boss.content.desks.work, "third").result(WAIT) == ["THIRD"]


def test_with_a_passive_server_a_submitted_multicast_is_done_at_once(ended: Ended) -> None:
    boss, workers = office(ended, active, primitive)
    let_go(workers)
    assert submit(boss.content.desks.work, "a").result(0) == ["A", "A"]


def test_its_future_says_what_it_is_of(ended: Ended) -> None:
    boss, workers = office(ended, active)
    future = submit(boss.content.desks.work, "a")
    assert repr(future) == "<Future of /boss.desks.work: waiting>"
    let_go(workers)
    future.result(WAIT)


class Counter(Controller):
    """A controller that counts the calls inside, without making anybody wait."""

    name = "counter"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self.pages: list[str] = []

    def wrap(self, interface: Any, operation: str, proceed: Port) -> Port:
        if interface.internal:
            return proceed

        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> End:
            self.pages.append(f"{operation}{args}{kwargs}")

            def end(error: BaseException | None) -> BaseException | None:
                self.pages.append(f"{operation} ends with {error}")
                return error

            return end

        return around(proceed, begin)


def front(ended: Ended) -> tuple[Composite, Component]:
    """Return a composite around an active object."""
    worker = active(Slow, "w")
    box: Composite = ended(
        composite(
            "box",
            ComponentType((InterfaceType("desk", Desk),)),
            controllers=COMPOSITE.including(Counter),
        )
    )
    box.controller(ContentController).add(worker)
    box.bind("desk", worker.server("desk"))
    box.start()
    return box, worker


def test_a_controller_of_ones_own_sees_the_end_of_a_submitted_call(ended: Ended) -> None:
    box, worker = front(ended)
    stub = box.stub("desk", Desk)
    pages = box.controller(Counter).pages
    future = submit(stub.work, "a")
    assert pages == ["work('a',){}"]
    worker.content.let_go.set()
    assert future.result(WAIT) == "A"
    assert pages == ["work('a',){}", "work ends with None"]
    pages.clear()
    assert stub.work("b") == "B"
    assert pages == ["work('b',){}", "work ends with None"]
    with pytest.raises(ValueError, match="fail"):
        stub.work("fail")
    assert pages[-1] == "work ends with fail"


def test_a_monitored_composite_takes_submitted_calls_at_once(ended: Ended) -> None:
    box, worker = front(ended)
    monitor = box.controller(MonitorController)
    monitor.enable()
    future = submit(box.stub("desk", Desk).work, "a")
    assert not future.done()
    figures = monitor.figures()["desk.work"]
    assert (figures.arrivals, figures.calls) == (1, 0)
    worker.content.let_go.set()
    assert future.result(WAIT) == "A"
    assert (figures.calls, figures.errors) == (1, 0)
    assert isinstance(submit(box.stub("desk", Desk).work, "fail").exception(WAIT), ValueError)
    assert (figures.calls, figures.errors) == (2, 1)


def test_interceptors_of_a_client_let_the_call_hold_on_like_a_plain_one(ended: Ended) -> None:
    """The waiting caller is the one that the server's hold timeout is for."""

    class Notes:
        def __init__(self) -> None:
            self.ends: list[str] = []

        def before(self, call: Invocation) -> None: ...

        def after(self, call: Invocation, error: BaseException | None) -> None:
            self.ends.append(type(error).__name__)

    boss, workers = office(ended, active)
    let_go(workers)
    notes = Notes()
    boss.controller(InterceptorController).add(notes)
    assert boss.content.desks.work("a") == ["A"]
    assert submit(boss.content.desks.work, "b").result(WAIT) == ["B"]
    assert notes.ends == ["NoneType", "NoneType"]
