"""Multicast through bindings: who gets what, what comes back, and what a failure tells."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import numpy as np
import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    Future,
    InterfaceType,
    Invocation,
    Primitive,
    Role,
    active,
    broadcast,
    composite,
    distribute,
    one_to_one,
    primitive,
    provides,
    reduce_with,
    requires,
    round_robin,
    submit,
    wrapper,
)
from gcm.errors import DispatchError, IllegalBindingError, MulticastError
from gcm.interfaces.policies.reduction import first, maximum, minimum, total
from gcm.membranes.content import ContentController
from tests.unit.parts import ECHO, WAIT, Echoes, Ended

MULTICAST = Cardinality.MULTICAST


class Named:
    """Content that answers with its name; `bad` says which of them fail."""

    def __init__(self, name: str, bad: str = "") -> None:
        self.name, self.bad = name, bad
        self.heard: list[str] = []

    def say(self, text: str) -> str:
        self.heard.append(text)
        if self.name in self.bad:
            raise ValueError(f"{self.name} is bad")
        return f"{self.name}:{text}"


def server(name: str, bad: str = "", make: Callable[..., Primitive] = primitive) -> Primitive:
    component = make(lambda: Named(name, bad), name, type=ECHO)
    component.start()
    return component


class Casting:
    all: Annotated[Echoes, requires(cardinality=MULTICAST)]


def client_of(servers: list[Primitive], content: type[Any] = Casting) -> Any:
    client = primitive(content)
    for one in servers:
        client.bind("all", one.server("echo"))
    client.start()
    return client.content.all


def test_a_broadcast_calls_every_server_and_lists_results_in_binding_order() -> None:
    servers = [server(name) for name in "cab"]
    assert client_of(servers).say("x") == ["c:x", "a:x", "b:x"]
    assert [one.content.heard for one in servers] == [["x"]] * 3


@pytest.mark.parametrize("make", [primitive, active])
def test_one_failure_names_every_failed_server_and_carries_every_result(
    make: Callable[..., Primitive], ended: Ended
) -> None:
    servers = [ended(server(name, "bd", make)) for name in "abcd"]
    with pytest.raises(MulticastError) as caught:
        client_of(servers).say("x")
    error = caught.value
    assert str(error) == (
        "2 of 4 calls of 'say' failed: /b.echo: ValueError: b is bad; "
        "/d.echo: ValueError: d is bad [component /casting, interface 'all']"
    )
    assert error.results == (("/a.echo", "a:x"), ("/c.echo", "c:x"))
    assert [(path, str(failure)) for path, failure in error.failures] == [
        ("/b.echo", "b is bad"),
        ("/d.echo", "d is bad"),
    ]
    assert error.__cause__ is error.failures[0][1]
    assert [one.content.heard for one in servers] == [["x"]] * 4


def test_a_call_that_cannot_be_sent_is_a_failure_beside_the_results(ended: Ended) -> None:
    servers = [ended(server("a", make=active)), server("b")]
    uncopyable: Any = threading.Lock()
    with pytest.raises(MulticastError, match="failed: /a.echo: CopyError: an argument"):
        client_of(servers).say(uncopyable)
    assert servers[1].content.heard == [uncopyable]


def test_a_request_that_is_cancelled_at_a_server_is_a_failure(ended: Ended) -> None:
    class Elsewhere:
        def __init__(self) -> None:
            self.answer: Future[Any] = Future()

        def call(self, invocation: Invocation) -> Future[Any]:
            self.answer.cancel()
            self.answer.set_running_or_notify_cancel()
            return self.answer

        def on_start(self) -> None: ...

        def on_stop(self) -> None: ...

        def on_terminate(self) -> None: ...

    there = wrapper("w", ECHO, Elsewhere())
    there.start()
    client = primitive(Casting)
    client.bind("all", there.server("echo"))
    client.bind("all", server("a").server("echo"))
    client.start()
    with pytest.raises(MulticastError, match="/w.echo: CancelledError") as caught:
        client.content.all.say("x")
    assert caught.value.results == (("/a.echo", "a:x"),)


class Meeting:
    """Content whose calls return only when all of them are inside at the same time."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self.barrier = barrier

    def say(self, text: str) -> str:
        self.barrier.wait(WAIT)
        return text


def meeting(count: int, ended: Ended) -> list[Primitive]:
    barrier = threading.Barrier(count)
    return [
        ended(active(lambda: Meeting(barrier), f"m{number}", type=ECHO)) for number in range(count)
    ]


def test_calls_of_active_objects_run_in_parallel(ended: Ended) -> None:
    servers = meeting(4, ended)
    for one in servers:
        one.start()
    assert client_of(servers).say("x") == ["x"] * 4


def test_calls_through_composites_run_in_parallel_whichever_starts_first(ended: Ended) -> None:
    client = primitive(Casting)
    root = composite("root")
    content = root.controller(ContentController)
    content.add(client)
    for number, part in enumerate(meeting(3, ended)):
        box = composite(f"box{number}", ECHO)
        content.add(box)
        box.controller(ContentController).add(part)
        box.bind("echo", part.server("echo"))
        client.bind("all", box.server("echo"))
    root.start()
    assert client.content.all.say("x") == ["x"] * 3
    root.stop()


def test_passive_servers_work_while_active_ones_do(ended: Ended) -> None:
    barrier = threading.Barrier(2)
    there = ended(active(lambda: Meeting(barrier), "there", type=ECHO))
    here = primitive(lambda: Meeting(barrier), "here", type=ECHO)
    for one in (there, here):
        one.start()
    # The passive one comes first in binding order, and still the other one is sent off before.
    assert client_of([here, there]).say("x") == ["x", "x"]


def test_an_unbound_multicast_interface_gives_the_content_none() -> None:
    class Maybe:
        all: Annotated[Echoes, requires(optional=True, cardinality=MULTICAST)]

    component = primitive(Maybe)
    component.start()
    assert component.content.all is None


def test_servers_bound_and_unbound_later_change_the_calls() -> None:
    client = primitive(Casting)
    servers = [server(name) for name in "abc"]
    for one in servers[:2]:
        client.bind("all", one.server("echo"))
    client.start()
    assert client.content.all.say("x") == ["a:x", "b:x"]
    client.stop()
    client.bind("all", servers[2].server("echo"))
    client.unbind("all", servers[0].server("echo"))
    client.start()
    assert client.content.all.say("x") == ["b:x", "c:x"]


class Numbers(Protocol):
    def give(self) -> int: ...


class Giver:
    def __init__(self, number: Any) -> None:
        self.number = number

    def give(self) -> Any:
        return self.number


def reduced(signature: type[Any], values: list[Any], server_signature: type[Any]) -> Any:
    declared = InterfaceType("all", signature, Role.CLIENT, cardinality=MULTICAST)
    client = primitive(Holder, type=ComponentType((declared,)))
    for number, value in enumerate(values):
        one = primitive(
            lambda value=value: Giver(value),  # type: ignore[misc]  # a lambda's default
            f"g{number}",
            type=ComponentType((InterfaceType("numbers", server_signature),)),
        )
        one.start()
        client.bind("all", one.server("numbers"))
    client.start()
    return client.content.all.give()


class Holder:
    all: Any


class Total(Protocol):
    def give(self) -> Annotated[int, total]: ...


@reduce_with(first)
class ByInterface(Protocol):
    @reduce_with(maximum)
    def give(self) -> Annotated[int, minimum]: ...


@reduce_with(first)
class ByOperation(Protocol):
    @reduce_with(maximum)
    def give(self) -> int: ...


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        (Total, 9),
        (ByInterface, 2),
        (ByOperation, 4),
    ],
)
def test_results_are_reduced_by_the_nearest_annotation(signature: Any, expected: int) -> None:
    assert reduced(signature, [3, 4, 2], Numbers) == expected


class Silent(Protocol):
    def give(self) -> None: ...


def test_an_operation_without_result_gives_none() -> None:
    assert reduced(Silent, [None, None], Silent) is None


class Parts(Protocol):
    @distribute(text=one_to_one)
    def say(self, text: list[str]) -> list[str]: ...


class Turns(Protocol):
    @distribute(round_robin)
    def say(self, text: list[str]) -> list[str]: ...


def casting(signature: Any) -> type[Any]:
    hints = {"all": Annotated[signature, requires(cardinality=MULTICAST)]}
    return type("Client", (), {"__annotations__": hints})


def test_one_to_one_gives_each_server_its_element() -> None:
    assert client_of([server(name) for name in "abc"], casting(Parts)).say(["x", "y", "z"]) == [
        "a:x",
        "b:y",
        "c:z",
    ]


def test_a_wrong_length_is_refused_before_anything_is_sent() -> None:
    servers = [server(name) for name in "abc"]
    with pytest.raises(DispatchError) as caught:
        client_of(servers, casting(Parts)).say(["x", "y"])
    message = str(caught.value)
    assert "has 2 elements for 3 servers" in message
    assert "[component /client, interface 'all']" in message
    assert [one.content.heard for one in servers] == [[], [], []]


def test_round_robin_deals_the_elements_out_and_keeps_their_order_in_the_results() -> None:
    servers = [server(name) for name in "ab"]
    assert client_of(servers, casting(Turns)).say(list("vwxyz")) == [
        "a:v",
        "b:w",
        "a:x",
        "b:y",
        "a:z",
    ]


def test_two_failed_elements_of_one_server_are_two_failures() -> None:
    servers = [server("a"), server("b", "b")]
    with pytest.raises(MulticastError, match="2 of 4 calls") as caught:
        client_of(servers, casting(Turns)).say(list("wxyz"))
    assert caught.value.results == (("/a.echo", "a:w"), ("/a.echo", "a:y"))
    assert [path for path, _ in caught.value.failures] == ["/b.echo", "/b.echo"]


class Blocks(Protocol):
    def work(self, rows: Annotated[Any, one_to_one], scale: Annotated[int, broadcast]) -> Any: ...


class Block(Protocol):
    def work(self, rows: Any, scale: int) -> Any: ...


@provides("echo", Block)
class Scaling:
    def work(self, rows: Any, scale: int) -> Any:
        return rows * scale


def test_an_array_is_spread_by_blocks_of_its_first_axis_and_the_rest_is_broadcast() -> None:
    servers = [primitive(Scaling, f"s{number}") for number in range(3)]
    for one in servers:
        one.start()
    results = client_of(servers, casting(Blocks)).work(np.arange(7), 10)
    assert [list(block) for block in results] == [[0, 10, 20], [30, 40], [50, 60]]


def test_a_composite_spreads_calls_over_its_parts() -> None:
    box = composite("box", ComponentType((InterfaceType("in", Echoes, cardinality=MULTICAST),)))
    for name in "ab":
        part = server(name)
        box.controller(ContentController).add(part)
        box.bind("in", part.server("echo"))
    box.start()
    assert box.stub("in", Echoes).say("x") == ["a:x", "b:x"]


def test_a_call_with_nothing_bound_says_what_is_missing() -> None:
    client: Component = primitive(Casting)
    with pytest.raises(IllegalBindingError, match="nothing is bound to the interface"):
        client.client("all").way_out("say")("x")


def test_a_multicast_call_can_be_submitted_like_any_other(ended: Ended) -> None:
    stub = client_of([ended(server("a", make=active)), server("b")])
    assert submit(stub.say, "x").result(WAIT) == ["a:x", "b:x"]
