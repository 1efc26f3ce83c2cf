"""Calls that meet a component which does not run: held, refused, let through."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import pytest

from gcm import (
    Component,
    ComponentType,
    InterfaceType,
    Invocation,
    active,
    composite,
    immediate,
    primitive,
    provides,
    submit,
)
from gcm.errors import IllegalLifeCycleError
from gcm.membranes.content import ContentController
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.lifecycle import LifeCycleController
from gcm.membranes.lifecycle import controller as lifecycle
from tests.unit.parts import Echo, Ended, InThread, Relay


@provides("echo", Echo)
class Speaker:
    def say(self, text: str) -> str:
        return f"speaker: {text}"


@provides("echo", Echo)
class Other:
    def say(self, text: str) -> str:
        return f"other: {text}"


class Gate(LifeCycleController):
    """The real controller, which also tells when a call begins to wait at it."""

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self.reached = threading.Semaphore(0)

    def refuse_if_hopeless(self, interface: str, operation: str) -> None:
        super().refuse_if_hopeless(interface, operation)
        self.reached.release()


def stopped_elsewhere(component: Component, in_thread: InThread) -> None:
    """Stop the component in another thread, so that this one may wait for its start."""
    in_thread(component.stop).join(10)


def gated(content: Callable[[], Any], gate: type[LifeCycleController] = Gate) -> Component:
    from gcm.membranes.descriptions import PRIMITIVE

    kinds = tuple(gate if kind is LifeCycleController else kind for kind in PRIMITIVE.controllers)
    return primitive(content, controllers=type(PRIMITIVE)("gated", kinds))


@pytest.mark.parametrize("make", [primitive, active])
def test_a_call_before_the_first_start_is_refused(make: Callable[..., Component]) -> None:
    component = make(Speaker)
    with pytest.raises(IllegalLifeCycleError) as caught:
        component.stub("echo", Echo).say("hello")
    assert "'say' was called before " in caught.value.what
    assert "[component /speaker, interface 'echo', state stopped]" in str(caught.value)
    assert "component.start()" in caught.value.cure


@pytest.mark.parametrize("make", [primitive, active])
def test_a_call_of_the_thread_that_stopped_the_component_is_refused(
    make: Callable[..., Component], ended: Ended
) -> None:
    component = ended(make(Speaker))
    component.start()
    component.stop()
    with pytest.raises(IllegalLifeCycleError) as caught:
        component.stub("echo", Echo).say("hello")
    assert str(caught.value) == (
        "'say' was called by the thread that stopped the component "
        "[component /speaker, interface 'echo', state stopped]. "
        "Start it again first: the call would wait for ever"
    )


@pytest.mark.parametrize("make", [primitive, active])
def test_a_call_after_the_end_is_refused(make: Callable[..., Component]) -> None:
    component = make(Speaker)
    component.terminate()
    with pytest.raises(IllegalLifeCycleError) as caught:
        component.stub("echo", Echo).say("hello")
    assert str(caught.value).startswith(
        "'say' was called, but the component has ended "
        "[component /speaker, interface 'echo', state terminated]. "
    )
    assert "new one" in caught.value.cure


def test_a_refused_call_of_a_passive_component_is_in_the_future_of_submit() -> None:
    future = submit(primitive(Speaker).stub("echo", Echo).say, "hello")
    assert isinstance(future.exception(0), IllegalLifeCycleError)


def test_a_held_call_goes_on_after_the_restart_with_the_new_binding(in_thread: InThread) -> None:
    client, old, new = gated(Relay), primitive(Speaker), primitive(Other)
    client.bind("next", old.server("echo"))
    for part in (old, new, client):
        part.start()
    stopped_elsewhere(client, in_thread)
    answers: list[str] = []
    thread = in_thread(lambda: answers.append(client.stub("echo", Echo).say("hi")))
    assert client.controller(Gate).reached.acquire(timeout=10)
    assert answers == []
    client.unbind("next")
    client.bind("next", new.server("echo"))
    client.start()
    thread.join(10)
    assert answers == ["other: hi"]


class Shout:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def before(self, call: Invocation) -> None:
        self.calls.append(str(call))

    def after(self, call: Invocation, error: BaseException | None) -> None:
        assert error is None


def test_a_held_call_meets_the_interceptors_that_came_meanwhile(in_thread: InThread) -> None:
    component, shout = gated(Speaker), Shout()
    component.start()
    stopped_elsewhere(component, in_thread)
    answers: list[str] = []
    thread = in_thread(lambda: answers.append(component.stub("echo", Echo).say("hi")))
    assert component.controller(Gate).reached.acquire(timeout=10)
    component.controller(InterceptorController).add(shout)
    component.start()
    thread.join(10)
    assert answers == ["speaker: hi"]
    assert shout.calls == ["/speaker.echo.say"]


def test_a_held_call_is_refused_when_the_component_ends(in_thread: InThread) -> None:
    component = gated(Speaker)
    component.start()
    stopped_elsewhere(component, in_thread)
    errors: list[Exception] = []

    def call() -> None:
        try:
            component.stub("echo", Echo).say("hi")
        except IllegalLifeCycleError as error:
            errors.append(error)

    thread = in_thread(call)
    assert component.controller(Gate).reached.acquire(timeout=10)
    component.terminate()
    thread.join(10)
    assert [error.args[0] for error in errors] == ["'say' was called, but the component has ended"]


def test_a_call_is_held_no_longer_than_the_hold_timeout(in_thread: InThread) -> None:
    component = primitive(Speaker)
    component.controller(LifeCycleController).hold_timeout = 0.02
    component.start()
    stopped_elsewhere(component, in_thread)
    with pytest.raises(IllegalLifeCycleError) as caught:
        component.stub("echo", Echo).say("hi")
    assert str(caught.value) == (
        "'say' waited 0.02 s for the component to be started again "
        "[component /speaker, interface 'echo', state stopped]. "
        "Start it, or raise `hold_timeout` of its lifecycle controller"
    )


def test_calls_are_held_a_minute_and_stops_wait_half_a_minute_unless_told_otherwise() -> None:
    life = primitive(Speaker).controller(LifeCycleController)
    assert (life.hold_timeout, life.stop_timeout) == (60.0, 30.0)


def test_a_call_after_a_failed_first_start_is_refused_like_one_before_it(
    in_thread: InThread,
) -> None:
    class Failing:
        def on_start(self) -> None:
            raise ValueError("no")

    part = primitive(Speaker)
    box = composite("box")
    for one in (part, primitive(Failing, type=ComponentType())):
        box.controller(ContentController).add(one)
    with pytest.raises(IllegalLifeCycleError, match="the start failed"):
        box.start()
    errors: list[BaseException | None] = []
    in_thread(lambda: errors.append(submit(part.stub("echo", Echo).say, "hi").exception(10))).join(
        10
    )
    assert "before the component was started" in str(errors[0])


def test_calls_reach_the_content_only_through_an_open_composite(in_thread: InThread) -> None:
    part = primitive(Speaker)
    box = composite("box", ComponentType((InterfaceType("echo", Echo),)))
    box.controller(ContentController).add(part)
    box.bind("echo", part.server("echo"))
    with pytest.raises(IllegalLifeCycleError, match="before the component was started"):
        box.stub("echo", Echo).say("hi")
    box.start()
    assert box.stub("echo", Echo).say("hi") == "speaker: hi"
    box.stop()
    with pytest.raises(IllegalLifeCycleError, match="by the thread that stopped the component"):
        box.stub("echo", Echo).say("hi")


class Urgent(Protocol):
    def now(self) -> str: ...


@provides("urgent", Urgent)
class Clinic:
    @immediate
    def now(self) -> str:
        return threading.current_thread().name


def test_an_immediate_operation_of_a_stopped_active_object_is_refused(ended: Ended) -> None:
    component = ended(active(Clinic))
    with pytest.raises(IllegalLifeCycleError, match="before the component was started"):
        component.stub("urgent", Urgent).now()
    component.start()
    assert component.stub("urgent", Urgent).now() == threading.current_thread().name
    component.stop()
    with pytest.raises(IllegalLifeCycleError, match="by the thread that stopped the component"):
        component.stub("urgent", Urgent).now()


class EndingGate(LifeCycleController):
    """The real controller, where another thread ends the component just before a call waits."""

    def refuse_if_hopeless(self, interface: str, operation: str) -> None:
        super().refuse_if_hopeless(interface, operation)
        ending = threading.Thread(target=self.component.terminate)
        ending.start()
        ending.join()


def test_a_call_does_not_begin_to_wait_once_the_component_has_ended(
    in_thread: InThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(*_: object) -> None:
        pytest.fail("the call waits, though nobody will wake it")

    component = gated(Speaker, EndingGate)
    component.start()
    stopped_elsewhere(component, in_thread)
    monkeypatch.setattr(lifecycle, "outside", wait)
    with pytest.raises(IllegalLifeCycleError, match="the component has ended"):
        component.stub("echo", Echo).say("hi")
