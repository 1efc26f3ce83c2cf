"""Interceptors: where they act, in which order, and what their failures do."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    InterfaceType,
    Invocation,
    active,
    composite,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.errors import CopyError, IllegalTypeError, NoSuchInterfaceError
from gcm.membranes.content import ContentController
from gcm.membranes.interceptor import InterceptorController, Where
from gcm.membranes.membrane_controller import MembraneController
from tests.unit.parts import WAIT, Ended


class Echo(Protocol):
    def say(self, text: str, times: int = 1) -> str: ...


@provides("echo", Echo)
class Speaker:
    def say(self, text: str, times: int = 1) -> str:
        if text == "bad":
            raise ValueError(text)
        return text * times


@provides("echo", Echo)
class Relay:
    next: Annotated[Echo, requires()]

    def say(self, text: str, times: int = 1) -> str:
        return self.next.say(text, times)


class Tape:
    """Interceptors that share one record; `trouble` names the hooks that fail."""

    def __init__(self, name: str, record: list[str], trouble: str = "") -> None:
        self.name, self.record, self.trouble = name, record, trouble

    def before(self, call: Invocation) -> None:
        self.record.append(f"{self.name} before {call}")
        if "before" in self.trouble:
            raise RuntimeError(f"{self.name} before")

    def after(self, call: Invocation, error: BaseException | None) -> None:
        self.record.append(f"{self.name} after {call.operation} {error!r}")
        if "after" in self.trouble:
            raise RuntimeError(f"{self.name} after")


def pair() -> tuple[Component, Component]:
    client, server = primitive(Relay, "client"), primitive(Speaker, "server")
    client.bind("next", server.server("echo"))
    server.start()
    client.start()
    return client, server


def say(component: Component, text: str = "hi", times: int = 1) -> str:
    return component.stub("echo", Echo).say(text, times)


class HalfAnInterceptor:
    after = 5

    def before(self, call: Invocation) -> None: ...

    def __repr__(self) -> str:
        return "half"


def add(component: Component, *args: Any) -> None:
    component.controller(InterceptorController).add(*args)


def test_before_acts_in_order_and_after_in_reverse_order() -> None:
    record: list[str] = []
    _, server = pair()
    for name in "abc":
        add(server, Tape(name, record), "echo")
    assert say(server) == "hi"
    assert record == [
        "a before /server.echo.say",
        "b before /server.echo.say",
        "c before /server.echo.say",
        "c after say None",
        "b after say None",
        "a after say None",
    ]


def test_an_interceptor_sees_the_arguments_and_the_error() -> None:
    seen: list[Any] = []

    class Looking:
        def before(self, call: Invocation) -> None:
            seen.append((call.args, dict(call.kwargs)))

        def after(self, call: Invocation, error: BaseException | None) -> None:
            seen.append(error)

    _, server = pair()
    add(server, Looking(), "echo")
    stub = server.stub("echo", Echo)
    stub.say("hi", times=2)
    with pytest.raises(ValueError, match="bad") as caught:
        stub.say("bad")
    assert seen == [(("hi",), {"times": 2}), None, (("bad",), {}), caught.value]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Where.ALL, {"echo", "next"}),
        ("*", {"echo", "next"}),
        (Where.SERVERS, {"echo"}),
        ("*server", {"echo"}),
        (Where.CLIENTS, {"next"}),
        ("*client", {"next"}),
        ("echo", {"echo"}),
        ("next", {"next"}),
    ],
)
def test_interceptors_are_put_on_one_interface_or_on_a_group(
    where: str, expected: set[str]
) -> None:
    seen: set[str] = set()

    class Looking:
        def before(self, call: Invocation) -> None:
            seen.add(call.interface)

        def after(self, call: Invocation, error: BaseException | None) -> None:
            seen.add(call.interface)

    client, _ = pair()
    add(client, Looking(), where)
    assert say(client) == "hi"
    assert seen == expected


def test_without_a_place_an_interceptor_is_put_on_all_interfaces() -> None:
    record: list[str] = []
    client, _ = pair()
    tape = Tape("a", record)
    add(client, tape)
    assert client.controller(InterceptorController).placed("*") == [tape]
    say(client)
    assert [line for line in record if "before" in line] == [
        "a before /client.echo.say",
        "a before /client.next.say",
    ]


@pytest.mark.parametrize(
    ("where", "members"), [("echos", ["echos1", "echos2"]), ("echos1", ["echos1"])]
)
def test_the_name_of_a_collection_means_all_its_members_and_that_of_a_member_this_one(
    where: str, members: list[str]
) -> None:
    @provides("echos", Echo, cardinality=Cardinality.COLLECTION)
    class Many(Speaker):
        pass

    record: list[str] = []
    component = primitive(Many)
    component.start()
    add(component, Tape("a", record), where)
    component.stub("echos1", Echo).say("x")
    component.stub("echos2", Echo).say("x")
    assert [line for line in record if "before" in line] == [
        f"a before /many.{member}.say" for member in members
    ]


def test_an_interceptor_of_no_interface_is_refused() -> None:
    _, server = pair()
    with pytest.raises(NoSuchInterfaceError) as caught:
        add(server, Tape("a", []), "ecco")
    assert str(caught.value) == (
        "there is no interface 'ecco' [component /server]. did you mean 'echo'?"
    )
    assert server.controller(InterceptorController).placed() == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (None, "None is not an interceptor: it has no before and no after"),
        (HalfAnInterceptor(), "half is not an interceptor: it has no after"),
        (Tape, f"{Tape!r} is not an interceptor: it is a class"),
    ],
)
def test_what_is_no_interceptor_is_refused_at_once(given: Any, reason: str) -> None:
    _, server = pair()
    with pytest.raises(IllegalTypeError) as caught:
        add(server, given, "echo")
    assert str(caught.value) == (
        f"{reason} [component /server]. Pass an object with before(call) and after(call, error)"
    )
    assert server.controller(InterceptorController).placed() == []
    assert server.stub("echo", Echo).say("x") == "x"


def test_a_removed_interceptor_acts_no_more() -> None:
    record: list[str] = []
    _, server = pair()
    first, second = Tape("a", record), Tape("b", record)
    for tape in (first, second, first):
        add(server, tape, "echo")
    controller = server.controller(InterceptorController)
    assert controller.placed() == controller.placed("echo") == [first, second, first]
    controller.remove(first)
    assert controller.placed() == [second]
    say(server)
    assert record == ["b before /server.echo.say", "b after say None"]


def test_a_failing_before_refuses_the_call_and_those_that_entered_see_its_end() -> None:
    record: list[str] = []
    _, server = pair()
    add(server, Tape("a", record), "echo")
    add(server, Tape("b", record, "before"), "echo")
    add(server, Tape("c", record), "echo")
    with pytest.raises(RuntimeError, match="^b before$"):
        say(server)
    assert record == [
        "a before /server.echo.say",
        "b before /server.echo.say",
        "a after say RuntimeError('b before')",
    ]


def test_a_failing_after_is_the_failure_of_the_call_and_the_outer_ones_see_it() -> None:
    record: list[str] = []
    _, server = pair()
    add(server, Tape("a", record), "echo")
    add(server, Tape("b", record, "after"), "echo")
    add(server, Tape("c", record), "echo")
    with pytest.raises(RuntimeError, match="^b after$"):
        say(server)
    assert record[3:] == [
        "c after say None",
        "b after say None",
        "a after say RuntimeError('b after')",
    ]


def test_a_failing_after_keeps_the_error_of_the_call_as_its_context() -> None:
    _, server = pair()
    add(server, Tape("a", [], "after"), "echo")
    with pytest.raises(RuntimeError, match="a after") as caught:
        say(server, "bad")
    assert isinstance(caught.value.__context__, ValueError)


def composite_over(part: Component) -> Component:
    box = composite("box", ComponentType((InterfaceType("echo", Echo),)))
    box.controller(ContentController).add(part)
    box.bind("echo", part.server("echo"))
    return box


class Held(Speaker):
    def __init__(self) -> None:
        self.inside, self.go_on = threading.Event(), threading.Event()

    def say(self, text: str, times: int = 1) -> str:
        self.inside.set()
        assert self.go_on.wait(WAIT)
        return super().say(text, times)


def held(ended: Ended) -> tuple[Component, Held]:
    part = active(Held, "part")
    box = ended(composite_over(part))
    box.start()
    return box, part.content


@pytest.mark.parametrize("text", ["hi", "bad"])
def test_after_an_asynchronous_call_interceptors_act_when_the_result_has_come(
    text: str, ended: Ended
) -> None:
    record: list[str] = []
    box, content = held(ended)
    add(box, Tape("a", record), "echo")
    add(box, Tape("b", record), "echo")
    future = submit(box.stub("echo", Echo).say, text)
    assert content.inside.wait(WAIT)
    assert record == ["a before /box.echo.say", "b before /box.echo.say"]
    content.go_on.set()
    error = future.exception(WAIT)
    assert repr(error) == ("None" if text == "hi" else "ValueError('bad')")
    assert record[2:] == [f"b after say {error!r}", f"a after say {error!r}"]
    if error is None:
        assert future.result(0) == "hi"


def test_a_waiting_call_through_an_asynchronous_interception_returns_the_result(
    ended: Ended,
) -> None:
    box, content = held(ended)
    add(box, Tape("a", []), "echo")
    content.go_on.set()
    assert box.stub("echo", Echo).say("x", times=3) == "xxx"


def test_a_failing_after_fails_an_asynchronous_call(ended: Ended) -> None:
    record: list[str] = []
    box, content = held(ended)
    add(box, Tape("a", record), "echo")
    add(box, Tape("b", record, "after"), "echo")
    content.go_on.set()
    with pytest.raises(RuntimeError, match="b after"):
        submit(box.stub("echo", Echo).say, "x").result(WAIT)
    assert record[-1] == "a after say RuntimeError('b after')"


def test_a_call_that_could_not_be_sent_has_an_end_too(ended: Ended) -> None:
    record: list[str] = []
    box, content = held(ended)
    add(box, Tape("a", record), "echo")
    content.go_on.set()
    uncopyable: Any = threading.Lock()
    with pytest.raises(CopyError):
        box.stub("echo", Echo).say(uncopyable)
    assert len(record) == 2
    assert record[1].startswith("a after say CopyError(")


def test_a_cancelled_asynchronous_call_is_cancelled_behind_the_interceptors(ended: Ended) -> None:
    record: list[str] = []
    box, content = held(ended)
    first = submit(box.stub("echo", Echo).say, "first")
    assert content.inside.wait(WAIT)
    add(box, Tape("a", record), "echo")
    second = submit(box.stub("echo", Echo).say, "second")
    assert second.cancel()
    assert record == ["a before /box.echo.say", "a after say CancelledError()"]
    with pytest.raises(CancelledError):
        second.result(WAIT)
    content.go_on.set()
    assert first.result(WAIT) == "first"


def test_a_call_that_is_served_already_ends_normally_for_the_interceptors(ended: Ended) -> None:
    record: list[str] = []
    over = threading.Event()

    class Telling(Tape):
        def after(self, call: Invocation, error: BaseException | None) -> None:
            super().after(call, error)
            over.set()

    box, content = held(ended)
    add(box, Telling("a", record), "echo")
    future = submit(box.stub("echo", Echo).say, "x")
    assert content.inside.wait(WAIT)
    assert future.cancel()  # nobody waits any more, but the request itself goes on
    content.go_on.set()
    assert over.wait(WAIT)
    assert record[-1] == "a after say None"


def test_an_interceptor_of_an_active_object_runs_in_its_thread(ended: Ended) -> None:
    names: list[str] = []

    class Looking:
        def before(self, call: Invocation) -> None:
            names.append(threading.current_thread().name)

        def after(self, call: Invocation, error: BaseException | None) -> None:
            names.append(threading.current_thread().name)

    component = ended(active(Speaker))
    component.start()
    add(component, Looking(), "echo")
    component.stub("echo", Echo).say("x")
    assert names == ["serving /speaker"] * 2


def test_a_non_functional_component_can_be_an_interceptor() -> None:
    from gcm import Interceptor

    @provides("watch", Interceptor)
    class Watching(Tape):
        def __init__(self) -> None:
            super().__init__("nf", [])

    _, server = pair()
    membrane = server.controller(MembraneController)
    watcher = primitive(Watching, "watcher")
    membrane.add(watcher)
    membrane.start()
    add(server, watcher.stub("watch", Interceptor), "echo")
    assert say(server) == "hi"
    assert watcher.content.record == ["nf before /server.echo.say", "nf after say None"]


def test_inner_faces_of_a_composite_are_not_intercepted_twice() -> None:
    record: list[str] = []
    box = composite_over(primitive(Speaker))
    box.start()
    add(box, Tape("a", record))
    assert say(box) == "hi"
    assert record == ["a before /box.echo.say", "a after say None"]
