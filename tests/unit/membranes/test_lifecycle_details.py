"""Starts that fail half-way, stops that close a queue, calls of other threads during a start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    ACTIVE,
    Cardinality,
    Component,
    ComponentType,
    Controller,
    active,
    primitive,
    provides,
    requires,
)
from gcm.errors import IllegalLifeCycleError
from gcm.membranes.lifecycle import LifeCycleController
from gcm.membranes.requests.request import Request
from gcm.membranes.requests.request_queue import RequestQueueController
from tests.unit.parts import ECHO, WAIT, Echo, Echoes, Ended, InThread, Speaker, within


def life_of(component: Component) -> LifeCycleController:
    return component.controller(LifeCycleController)


class Asking:
    """Content whose hook lets another thread call its server, and waits for the answer."""

    server: Annotated[Echo, requires()]

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def on_start(self) -> None:
        thread = threading.Thread(target=self.ask)
        thread.start()
        thread.join(WAIT)

    def ask(self) -> None:
        try:
            self.answers.append(self.server.say("early"))
        except IllegalLifeCycleError as error:
            self.answers.append(error)


def test_who_was_told_of_its_start_takes_calls_of_any_thread(ended: Ended) -> None:
    client, server = primitive(Asking), primitive(Speaker)
    box = ended(within("box", client, server))
    client.bind("server", server.server("echo"))
    life_of(server).hold_timeout = 0.0  # who is not let in is refused at once
    box.start()
    assert client.content.answers == ["early"]


def test_a_composite_that_starts_lets_calls_through_to_parts_that_were_told(ended: Ended) -> None:
    client, server = primitive(Asking), primitive(Speaker)
    inner = within("inner", server, type=ECHO)
    inner.inner_client("echo").bind(server.server("echo"))
    box = ended(within("box", client, inner))
    client.bind("server", inner.server("echo"))
    life_of(inner).hold_timeout = life_of(server).hold_timeout = 0.0
    box.start()
    assert client.content.answers == ["early"]


class Busy:
    """Content inside which a call stays until it is let go."""

    def __init__(self) -> None:
        self.inside, self.let_go = threading.Event(), threading.Event()

    def say(self, text: str) -> str:
        self.inside.set()
        assert self.let_go.wait(WAIT)
        return text


class Failing:
    """Content that lets a call come in at its server and then fails to start."""

    server: Annotated[Echo, requires()]

    def __init__(self) -> None:
        self.call: Callable[[], object] = lambda: None

    def on_start(self) -> None:
        self.call()
        raise ValueError("no")


def test_a_failed_start_waits_for_the_calls_that_came_in_and_says_who_did_not_end(
    in_thread: InThread,
) -> None:
    client, server = primitive(Failing), primitive(Busy, "busy", type=ECHO)
    box = within("box", client, server)
    client.bind("server", server.server("echo"))
    life_of(box).stop_timeout = 0.0
    busy: Busy = server.content

    def call() -> None:
        in_thread(client.content.server.say, "x")
        assert busy.inside.wait(WAIT)

    client.content.call = call
    with pytest.raises(IllegalLifeCycleError, match="the start failed: ValueError: no") as caught:
        box.start()
    busy.let_go.set()
    (note,) = caught.value.__cause__.__notes__  # type: ignore[union-attr] # it has a cause
    assert ": cannot stop within 0.0 s: " in note
    assert "/box/busy" in note


class Fixed:
    """Content whose attributes cannot be set any more once it is closed."""

    all: Annotated[Echoes, requires(cardinality=Cardinality.MULTICAST)]
    closed = False

    def __setattr__(self, name: str, value: object) -> None:
        if self.closed:
            raise ValueError(f"'{name}' is fixed")
        super().__setattr__(name, value)


def test_a_start_that_fails_before_any_hook_is_that_of_the_whole() -> None:
    client, server = primitive(Fixed), primitive(Speaker)
    box = within("box", client, server)
    client.bind("all", server.server("echo"))
    client.content.closed = True
    with pytest.raises(IllegalLifeCycleError) as caught:
        box.start()
    assert str(caught.value).startswith(
        "the start failed: ValueError: 'all' is fixed [component /box, state stopped]. "
    )


class Ending:
    def on_terminate(self) -> None:
        raise ValueError("not properly")


def test_those_that_end_badly_are_told_together() -> None:
    box = within("box", *[primitive(Ending, name, type=ComponentType()) for name in "ab"])
    with pytest.raises(ExceptionGroup) as caught:
        box.terminate()
    assert caught.value.message == "several components failed while they ended"
    assert [str(one) for one in caught.value.exceptions] == ["not properly"] * 2


class Onlooker(Controller):
    """Notes whether the queue may serve whenever the ports of the component are composed."""

    name = "onlooker"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self.seen: list[tuple[str, bool]] = []

    def wrap(self, interface: Any, operation: str, proceed: Any) -> Any:
        queue = self.component.controller(RequestQueueController)
        self.seen.append((self.component.state, queue.is_serving))
        return proceed


def test_a_queue_is_closed_before_the_first_look_at_who_is_inside(ended: Ended) -> None:
    component = ended(primitive(Speaker, controllers=ACTIVE.including(Onlooker)))
    component.start()
    assert component.stub("echo", Echo).say("x") == "x"
    onlooker = component.controller(Onlooker)
    onlooker.seen.clear()
    component.stop()
    assert set(onlooker.seen) == {("stopping", False)}


def test_what_waits_in_a_queue_is_held_from_the_stop_for_the_whole_hold_timeout(
    ended: Ended,
) -> None:
    component = ended(active(Speaker))
    life, queue = life_of(component), component.controller(RequestQueueController)
    life.hold_timeout = 1000.0
    component.start()
    component.stop()
    life.closed_since = time.monotonic() - 400.0
    request = Request("echo", "say", ("x",), {}, queue=queue)
    queue.enqueue(request)
    rest = queue.look_after(request, life.closed_since - 5000.0)
    assert 500.0 < rest <= 600.0
    assert not request.future.done()


def test_only_what_a_person_may_ask_of_a_queue_is_an_operation(ended: Ended) -> None:
    queue = ended(active(Speaker)).controller(RequestQueueController)
    assert sorted(queue.operations()) == ["cancel_all", "length", "pending", "set_policy"]


class Keeper(Protocol):
    def keep(self, items: list[str] | None = None) -> None: ...


@provides("keeper", Keeper)
class Shelf:
    items: list[str] | None

    def keep(self, items: list[str] | None = None) -> None:
        self.items = items


@pytest.mark.parametrize("by_name", [False, True])
def test_arguments_cross_into_an_active_object_by_value_however_they_are_given(
    by_name: bool, ended: Ended
) -> None:
    component = ended(active(Shelf))
    component.start()
    given = ["a"]
    keeper = component.stub("keeper", Keeper)
    if by_name:
        keeper.keep(items=given)
    else:
        keeper.keep(given)
    assert component.content.items == ["a"]
    assert component.content.items is not given
