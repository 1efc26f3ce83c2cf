"""Nobody waits for ever for an active object that is not started again."""

from __future__ import annotations

import threading
from typing import Annotated, Any

import pytest

from gcm import Cardinality, Component, active, primitive, provides, requires, submit
from gcm.errors import IllegalLifeCycleError, MulticastError
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.lifecycle import LifeCycleController
from gcm.membranes.requests.request_queue import RequestQueueController
from tests.unit.parts import WAIT, Echo, Echoes, Ended, InThread

REFUSAL = "'say' waited 0.05 s for "
"""How the words begin of a call that was held for long enough; `test_lifecycle_gate` has all."""


@provides("echo", Echo)
class Speaker:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def say(self, text: str) -> str:
        self.heard.append(text)
        return text


@pytest.fixture
def speaker(ended: Ended, in_thread: InThread) -> Component:
    """Return an active object that another thread has stopped."""
    component: Component = ended(active(Speaker))
    component.controller(LifeCycleController).hold_timeout = 0.05
    component.start()
    in_thread(component.stop).join(WAIT)
    return component


def test_a_waiting_caller_is_refused_and_its_request_is_never_served(speaker: Component) -> None:
    with pytest.raises(IllegalLifeCycleError) as caught:
        speaker.stub("echo", Echo).say("held")
    assert str(caught.value).startswith(REFUSAL)
    assert speaker.controller(RequestQueueController).length() == 0
    speaker.start()
    assert speaker.stub("echo", Echo).say("later") == "later"
    assert speaker.content.heard == ["later"]


def test_who_waits_for_a_submitted_call_is_refused_too(speaker: Component) -> None:
    future = submit(speaker.stub("echo", Echo).say, "held")
    with pytest.raises(IllegalLifeCycleError) as caught:
        future.result()
    assert str(caught.value).startswith(REFUSAL)
    assert isinstance(future.exception(), IllegalLifeCycleError)


def test_a_request_that_nobody_waits_for_stays_until_the_start(speaker: Component) -> None:
    future = submit(speaker.stub("echo", Echo).say, "patient")
    with pytest.raises(TimeoutError):
        future.result(0.1)
    speaker.start()
    assert future.result(WAIT) == "patient"


def test_a_multicast_does_not_wait_for_ever_either(speaker: Component) -> None:
    class Boss:
        all: Annotated[Echoes, requires(cardinality=Cardinality.MULTICAST)]

    boss = primitive(Boss)
    boss.bind("all", speaker.server("echo"))
    boss.start()
    with pytest.raises(MulticastError, match="waited 0.05 s"):
        boss.content.all.say("held")
    with pytest.raises(MulticastError, match="waited 0.05 s"):
        submit(boss.content.all.say, "held").result()


@pytest.mark.parametrize("wait", [True, False], ids=["call", "submit"])
def test_nor_does_a_call_that_interceptors_watch(wait: bool, speaker: Component) -> None:
    class Client:
        next: Annotated[Echo, requires()]

    class Watcher:
        def before(self, call: Any) -> None: ...

        def after(self, call: Any, error: BaseException | None) -> None: ...

    client = primitive(Client)
    client.bind("next", speaker.server("echo"))
    client.start()
    client.controller(InterceptorController).add(Watcher())
    say = client.content.next.say
    with pytest.raises(IllegalLifeCycleError, match="waited 0.05 s"):
        say("held") if wait else submit(say, "held").result()


def test_a_call_that_is_served_may_last_longer_than_the_hold_timeout(
    ended: Ended, in_thread: InThread
) -> None:
    entered, go_on = threading.Event(), threading.Event()

    @provides("echo", Echo)
    class Slow:
        def say(self, text: str) -> str:
            entered.set()
            assert go_on.wait(WAIT)
            return text

    component = ended(active(Slow))
    component.controller(LifeCycleController).hold_timeout = 0.01
    component.start()
    answers: list[str] = []
    caller = in_thread(lambda: answers.append(component.stub("echo", Echo).say("long")))
    assert entered.wait(WAIT)
    caller.join(0.05)
    assert answers == []
    go_on.set()
    caller.join(WAIT)
    assert answers == ["long"]


def test_the_time_is_counted_from_the_stop(ended: Ended, in_thread: InThread) -> None:
    """A caller that waits in a running queue begins to be held when the component stops."""
    component: Component = ended(active(Speaker))
    life = component.controller(LifeCycleController)
    component.start()
    component.controller(RequestQueueController).set_policy(lambda _: None)
    errors: list[str] = []

    def call() -> None:
        try:
            component.stub("echo", Echo).say("held")
        except IllegalLifeCycleError as error:
            errors.append(str(error))

    life.hold_timeout = 0.05
    caller = in_thread(call)
    caller.join(0.2)
    assert errors == []  # the policy keeps it back, but the component runs
    in_thread(component.stop).join(WAIT)
    caller.join(WAIT)
    assert [one.startswith(REFUSAL) for one in errors] == [True]
