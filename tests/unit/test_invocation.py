"""Calls as values, and calls that do not wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    ComponentType,
    Future,
    InterfaceType,
    Invocation,
    active,
    composite,
    primitive,
    provides,
    requires,
    submit,
    wrapper,
)
from gcm.interfaces.submission import is_asynchronous, submit_to
from gcm.invocation import RemotePort
from gcm.membranes.content import ContentController
from tests.unit.parts import WAIT


class Echo(Protocol):
    def say(self, text: str, times: int = 1) -> str: ...


@provides("echo", Echo)
class Speaker:
    def say(self, text: str, times: int = 1) -> str:
        if text == "bad":
            raise ValueError(text)
        return f"{text * times} by {threading.current_thread().name}"


class Elsewhere:
    """A transport in this process that answers in a thread of the caller's choice."""

    def __init__(self) -> None:
        self.got: list[Invocation] = []
        self.answer: Future[Any] = Future("elsewhere")

    def call(self, invocation: Invocation) -> Future[Any]:
        self.got.append(invocation)
        return self.answer

    def on_start(self) -> None: ...

    def on_stop(self) -> None: ...

    def on_terminate(self) -> None: ...


def test_an_invocation_says_where_it_goes_without_its_arguments() -> None:
    call = Invocation("/a/b", "echo", "say", ("x",), {"times": 2})
    assert str(call) == "/a/b.echo.say"
    assert call == Invocation("/a/b", "echo", "say", ("x",), {"times": 2})
    assert (Invocation("/a", "b", "c").args, Invocation("/a", "b", "c").kwargs) == ((), {})
    with pytest.raises(AttributeError):
        call.operation = "other"  # type: ignore[misc]  # what the test is about


def test_a_passive_component_works_in_the_thread_of_its_caller() -> None:
    component = primitive(Speaker)
    component.start()
    future = submit(component.stub("echo", Echo).say, "x", times=2)
    assert future.done()
    assert future.result() == f"xx by {threading.current_thread().name}"


def test_the_exception_of_a_passive_component_is_in_the_future() -> None:
    component = primitive(Speaker)
    component.start()
    error = submit(component.stub("echo", Echo).say, "bad").exception(0)
    assert isinstance(error, ValueError)
    assert str(error) == "bad"


def test_an_active_object_works_in_its_own_thread(ended: Callable[[Any], Any]) -> None:
    component = ended(active(Speaker))
    component.start()
    assert submit(component.stub("echo", Echo).say, "x").result(WAIT) == "x by serving /speaker"
    assert isinstance(submit(component.stub("echo", Echo).say, "bad").exception(WAIT), ValueError)


def test_a_wrapper_hands_the_future_of_its_transport_on() -> None:
    elsewhere = Elsewhere()
    component = wrapper("w", ComponentType((InterfaceType("echo", Echo),)), elsewhere)
    component.start()
    future = submit(component.stub("echo", Echo).say, "x", times=3)
    assert future is elsewhere.answer
    assert not future.done()
    assert elsewhere.got == [Invocation("/w", "echo", "say", ("x",), {"times": 3})]


def test_a_plain_function_can_be_submitted_too() -> None:
    assert submit(divmod, 7, 2).result() == (3, 1)
    assert isinstance(submit(divmod, 7, 0).exception(), ZeroDivisionError)


def test_an_exit_in_a_passive_component_is_in_the_future_and_goes_on() -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        submit(leave)


def test_what_is_asynchronous_is_seen_through_composites(ended: Callable[[Any], Any]) -> None:
    class Relay:
        next: Annotated[Echo, requires()]

    def over(part: Any) -> Any:
        box = composite("box", ComponentType((InterfaceType("echo", Echo),)))
        box.controller(ContentController).add(part)
        box.bind("echo", part.server("echo"))
        box.start()
        return box.stub("echo", Echo).say

    assert not is_asynchronous(over(primitive(Speaker)))
    part = ended(active(Speaker))
    assert is_asynchronous(over(part))
    assert not is_asynchronous(len)
    client = primitive(Relay)
    client.bind("next", part.parents[0].server("echo"))
    client.start()
    assert is_asynchronous(client.content.next.say)


def test_of_a_stopped_component_counts_who_will_work_once_it_runs() -> None:
    passive = primitive(Speaker)
    assert not is_asynchronous(passive.stub("echo", Echo).say)
    elsewhere = wrapper("w", ComponentType((InterfaceType("echo", Echo),)), Elsewhere())
    assert is_asynchronous(elsewhere.stub("echo", Echo).say)


def test_a_remote_port_carries_its_call_to_the_transport_and_waits() -> None:
    elsewhere = Elsewhere()
    port = RemotePort(elsewhere, "/a", "echo", "say")
    assert is_asynchronous(port)
    assert submit_to(port, ("x",), {"times": 2}) is elsewhere.answer
    elsewhere.answer.set_result("done")
    assert port("y") == "done"
    assert elsewhere.got == [
        Invocation("/a", "echo", "say", ("x",), {"times": 2}),
        Invocation("/a", "echo", "say", ("y",), {}),
    ]
