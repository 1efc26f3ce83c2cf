"""A component is told of its start before it serves, and its servers before it."""

from __future__ import annotations

import contextlib
import threading
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    Composite,
    Contingency,
    InterfaceType,
    Role,
    active,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.errors import IllegalLifeCycleError
from gcm.membranes.lifecycle import LifeCycleController
from gcm.membranes.tree import servers_first
from tests.unit.parts import WAIT, Echo, Ended, InThread, Make, within


@provides("echo", Echo)
class Node:
    """Content that calls its neighbours as soon as it is told of its start."""

    next: Any

    def __init__(self, name: str, pages: list[str], calls: bool = True) -> None:
        self.name, self.pages, self.calls = name, pages, calls

    def on_start(self) -> None:
        self.pages.append(f"{self.name} begins")
        if self.calls and self.next:
            self.pages.append(self.next.say(f"from {self.name}"))
        self.pages.append(f"{self.name} is up")

    def on_stop(self) -> None:
        self.pages.append(f"{self.name} stops")

    def say(self, text: str) -> str:
        return f"{self.name} heard {text}"


class Told(Node):
    """Content that has pages of its own, and writes down its calls too."""

    def __init__(self, name: str) -> None:
        super().__init__(name, [])

    def say(self, text: str) -> str:
        self.pages.append(f"{self.name} hears {text}")
        return super().say(text)


def caller_named(name: str, pages: list[str], make: Make = primitive) -> Component:
    return make(lambda: Node(name, pages), name, type=NODE)


ECHO = InterfaceType("echo", Echo)
NEXT = InterfaceType("next", Echo, Role.CLIENT)
NODE = ComponentType((ECHO, InterfaceType("next", Echo, Role.CLIENT, Contingency.OPTIONAL)))


@pytest.mark.parametrize("make", [primitive, active])
def test_a_server_is_told_before_the_client_that_calls_it_at_once(make: Make, ended: Ended) -> None:
    pages: list[str] = []
    client = make(lambda: Node("client", pages), "client", type=NODE)
    server = make(lambda: Node("server", pages), "server", type=NODE)
    box = ended(within("box", client, server))
    client.bind("next", server.server("echo"))
    box.start()
    assert pages == [
        "server begins",
        "server is up",
        "client begins",
        "server heard from client",
        "client is up",
    ]
    pages.clear()
    box.stop()
    assert pages == ["client stops", "server stops"]


@pytest.mark.parametrize("make", [primitive, active])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_in_a_circle_who_is_called_before_its_turn_is_told_first(
    size: int, make: Make, ended: Ended
) -> None:
    nodes = [make(lambda n=n: Told(f"n{n}"), f"n{n}", type=NODE) for n in range(size)]
    box = ended(within("box", *nodes))
    for n, node in enumerate(nodes):
        node.bind("next", nodes[(n + 1) % size].server("echo"))
    box.start()
    early = 0
    for n, node in enumerate(nodes):
        before, after = f"n{(n - 1) % size}", f"n{(n + 1) % size}"
        told = [f"n{n} begins", f"n{n} is up", f"n{n} hears from {before}"]
        pages = node.content.pages
        assert sorted(pages) == sorted([*told, f"{after} heard from n{n}"])
        early += pages.index(f"n{n} hears from {before}") < pages.index(f"n{n} is up")
    # Only the last one of the circle is called while it is itself still being told.
    assert early == 1


def test_servers_are_found_through_composites() -> None:
    pages: list[str] = []
    client = primitive(lambda: Node("client", pages), "client", type=NODE)
    server = primitive(lambda: Node("server", pages), "server", type=NODE)
    left = within("left", client, type=ComponentType((NEXT,)))
    right = within("right", server, type=ComponentType((ECHO,)))
    box = within("box", left, right)
    client.bind("next", left.inner_server("next"))
    left.bind("next", right.server("echo"))
    right.bind("echo", server.server("echo"))
    box.start()
    assert pages[:2] == ["server begins", "server is up"]
    assert pages[3] == "server heard from client"
    assert servers_first([client, left, server, right, box]) == [server, client, left, right, box]


def test_where_nobody_calls_anybody_the_order_stays() -> None:
    parts = [primitive(lambda: Node("n", []), f"n{n}", type=NODE) for n in range(5)]
    assert servers_first(parts) == parts
    assert servers_first(reversed(parts)) == parts[::-1]


def careful(entered: threading.Event, go_on: threading.Event) -> type[Any]:
    """Return a content whose start lasts until the test lets it go on."""

    @provides("echo", Echo)
    class Careful:
        ready = False

        def on_start(self) -> None:
            entered.set()
            assert go_on.wait(WAIT)
            self.ready = True

        def say(self, text: str) -> str:
            return f"{text} {self.ready}"

    return Careful


def test_an_active_part_serves_nothing_before_its_hook_is_over(
    in_thread: InThread, ended: Ended
) -> None:
    entered, go_on = threading.Event(), threading.Event()
    part = active(careful(entered, go_on))
    box = ended(within("box", part))
    early = submit(part.stub("echo", Echo).say, "queued before")
    starting = in_thread(box.start)
    assert entered.wait(WAIT)
    late = submit(part.stub("echo", Echo).say, "queued meanwhile")
    submit(part.server("component-controller").stub._port("path")).result(WAIT)
    assert not early.done()
    assert not late.done()
    go_on.set()
    starting.join(WAIT)
    assert early.result(WAIT) == "queued before True"
    assert late.result(WAIT) == "queued meanwhile True"


@pytest.mark.parametrize("wait", [True, False], ids=["call", "submit"])
def test_a_call_of_another_thread_waits_until_the_passive_part_was_told(
    wait: bool, in_thread: InThread
) -> None:
    entered, go_on = threading.Event(), threading.Event()
    part = primitive(careful(entered, go_on))
    starting = in_thread(part.start)
    assert entered.wait(WAIT)
    answers: list[str] = []
    stub = part.stub("echo", Echo)

    def call() -> None:
        answers.append(stub.say("hi") if wait else submit(stub.say, "hi").result())

    caller = in_thread(call)
    caller.join(0.02)
    assert answers == []
    go_on.set()
    starting.join(WAIT)
    caller.join(WAIT)
    assert answers == ["hi True"]


def test_a_hook_may_submit_to_a_part_that_is_told_later_and_wait(ended: Ended) -> None:
    pages: list[str] = []

    @provides("echo", Echo)
    class Asking:
        next: Annotated[Echo, requires()]

        def on_start(self) -> None:
            pages.append(submit(self.next.say, "from asking").result(WAIT))

        def say(self, text: str) -> str:
            return f"asking heard {text}"

    asking = primitive(Asking)
    other = active(lambda: Node("other", pages), "other", type=NODE)
    box = ended(within("box", other, asking))
    asking.bind("next", other.server("echo"))
    other.bind("next", asking.server("echo"))
    box.start()
    assert sorted(pages) == [
        "asking heard from other",
        "other begins",
        "other heard from asking",
        "other is up",
    ]


def test_a_failure_that_the_calling_hook_hides_still_fails_the_start() -> None:
    @provides("echo", Echo)
    class Failing:
        next: Annotated[Echo, requires()]

        def on_start(self) -> None:
            self.next.say("x")
            raise ValueError("no")

        def say(self, text: str) -> str:
            return text

    @provides("echo", Echo)
    class Hiding:
        next: Annotated[Echo, requires()]

        def on_start(self) -> None:
            with contextlib.suppress(ValueError):
                self.next.say("hello")

        def say(self, text: str) -> str:
            return text

    failing, hiding = primitive(Failing), primitive(Hiding)
    failing.bind("next", hiding.server("echo"))
    hiding.bind("next", failing.server("echo"))
    box = within("box", failing, hiding)
    with pytest.raises(IllegalLifeCycleError) as caught:
        box.start()
    assert "the start failed: ValueError: no [component /box/failing" in str(caught.value)
    assert {box.state, failing.state, hiding.state} == {"stopped"}


def test_hooks_call_what_is_in_composites_beside_them_and_through_the_outermost_one() -> None:
    pages: list[str] = []

    class Around:
        box: Composite

        def on_start(self) -> None:
            pages.append(self.box.stub("echo", Echo).say("from inside"))

    around = primitive(Around, type=ComponentType())
    server = primitive(lambda: Node("server", [], False), "server", type=NODE)
    box = within("box", server, around, type=ComponentType((ECHO,)))
    box.bind("echo", server.server("echo"))
    around.content.box = box
    box.start()
    assert pages == ["server heard from inside"]


def test_the_members_of_a_multicast_are_told_before_who_calls_them() -> None:
    pages: list[str] = []

    class Herald:
        def __init__(self) -> None:
            self.all: Any = None

        def on_start(self) -> None:
            pages.append(str(self.all.say("hello")))

    herald = primitive(
        Herald,
        type=ComponentType(
            (InterfaceType("all", EchoAll, Role.CLIENT, cardinality=Cardinality.MULTICAST),)
        ),
    )
    members = [caller_named(f"m{n}", pages) for n in range(2)]
    box = within("box", herald, *members)
    for member in members:
        herald.bind("all", member.server("echo"))
    box.start()
    assert pages[-1] == "['m0 heard hello', 'm1 heard hello']"


class EchoAll(Protocol):
    def say(self, text: str) -> list[str]: ...


def test_a_call_does_not_outwait_a_hook_that_lasts_too_long(in_thread: InThread) -> None:
    entered, go_on = threading.Event(), threading.Event()

    @provides("echo", Echo)
    class Stuck:
        def on_start(self) -> None:
            entered.set()
            assert go_on.wait(WAIT)

        def say(self, text: str) -> str:
            return text

    part = primitive(Stuck)
    part.controller(LifeCycleController).hold_timeout = 0.02
    starting = in_thread(part.start)
    assert entered.wait(WAIT)
    with pytest.raises(IllegalLifeCycleError, match=r"'say' waited 0.02 s .* state starting"):
        part.stub("echo", Echo).say("hi")
    go_on.set()
    starting.join(WAIT)
