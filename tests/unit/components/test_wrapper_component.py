"""Wrappers and clustering components."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from gcm import (
    Cardinality,
    ClusteringContent,
    ComponentType,
    Future,
    InterfaceType,
    Invocation,
    Primitive,
    Role,
    clustering_type,
    composite,
    one_by_one,
    primitive,
    submit,
    wrapper,
)
from gcm.membranes.content import ContentController


class Echo(Protocol):
    def say(self, text: str, times: int = 1) -> str: ...


class Process:
    """Something that runs elsewhere: here it answers at once, and notes its life."""

    def __init__(self) -> None:
        self.life: list[str] = []
        self.calls: list[Invocation] = []

    def call(self, invocation: Invocation) -> Future[Any]:
        self.calls.append(invocation)
        answer: Future[Any] = Future(invocation)
        answer.set_result(f"{invocation.operation} {invocation.args} {dict(invocation.kwargs)}")
        return answer

    def on_start(self) -> None:
        self.life.append("start")

    def on_stop(self) -> None:
        self.life.append("stop")

    def on_terminate(self) -> None:
        self.life.append("terminate")


TYPE = ComponentType((InterfaceType("echo", Echo), InterfaceType("next", Echo, Role.CLIENT)))


def test_a_call_of_a_wrapper_becomes_an_invocation() -> None:
    process = Process()
    component = wrapper("w", ComponentType((InterfaceType("echo", Echo),)), process)
    component.start()
    assert component.content is process
    assert component.stub("echo", Echo).say("x", times=2) == "say ('x',) {'times': 2}"
    assert process.calls == [Invocation("/w", "echo", "say", ("x",), {"times": 2})]
    assert submit(component.stub("echo", Echo).say, "y").result(0) == "say ('y',) {}"


def test_what_is_wrapped_follows_the_life_of_its_wrapper() -> None:
    process = Process()
    component = wrapper("w", ComponentType(), process)
    component.start()
    component.stop()
    component.terminate()
    assert process.life == ["start", "stop", "terminate"]


def test_the_path_of_an_invocation_is_where_the_wrapper_is_when_it_starts() -> None:
    process = Process()
    component = wrapper("w", ComponentType((InterfaceType("echo", Echo),)), process)
    component.server("echo").stub  # noqa: B018 - made before the wrapper has its place
    box = composite("box")
    box.controller(ContentController).add(component)
    box.start()
    component.stub("echo", Echo).say("x")
    assert process.calls[0].component == "/box/w"


def test_the_client_interfaces_of_a_wrapper_stay_here() -> None:
    component, other = wrapper("w", TYPE, Process()), wrapper("o", TYPE, Process())
    component.bind("next", other.server("echo"))
    assert component.client("next").reference is other.server("echo").stub


class Relay(Protocol):
    def add(self, value: int) -> int: ...
    @one_by_one
    def ping(self, name: str) -> str: ...


class Spread(Protocol):
    def add(self, value: int) -> list[int]: ...
    def ping(self, name: str) -> list[str]: ...


class Node(ClusteringContent):
    """Adds what its members send, and asks the level above with the sum."""

    def add(self, value: list[int]) -> list[int]:
        total = sum(value)
        if self.up is not None:
            (total,) = self.up.add(total)
        return [total] * len(value)

    def ping(self, name: str) -> str:
        return name


def test_a_clustering_type_has_one_gathering_server_and_two_multicast_clients() -> None:
    for made, signature in (
        (clustering_type(Spread), Spread),
        (clustering_type(Relay, Spread, Spread), Relay),
    ):
        srv, up, down = made.interfaces
        assert (srv.name, srv.role, srv.cardinality) == (
            "srv",
            Role.SERVER,
            Cardinality.GATHERCAST,
        )
        assert srv.signature is signature
        for one, name in ((up, "up"), (down, "down")):
            assert (one.name, one.role, one.cardinality) == (
                name,
                Role.CLIENT,
                Cardinality.MULTICAST,
            )
            assert one.signature is Spread
            assert not one.is_mandatory
        assert srv.is_mandatory


def node(name: str) -> Primitive:
    return primitive(Node, name, type=clustering_type(Relay, Spread, Spread))


def test_clustering_components_make_a_hierarchy_that_reduces_upwards(
    in_thread: Callable[..., threading.Thread],
) -> None:
    top, left, right = node("top"), node("left"), node("right")
    leaves = [node(f"leaf{number}") for number in range(4)]
    for low, high in (
        (left, top),
        (right, top),
        (leaves[0], left),
        (leaves[1], left),
        (leaves[2], right),
        (leaves[3], right),
    ):
        low.bind("up", high.server("srv"))
    for one in (top, left, right, *leaves):
        one.start()
    answers: dict[int, list[int]] = {}

    def add(number: int) -> None:
        answers[number] = leaves[number].content.up.add(number)

    for thread in [in_thread(add, number) for number in range(4)]:
        thread.join(10)
    assert answers == {number: [6] for number in range(4)}


def test_a_message_that_is_served_one_by_one_needs_no_round() -> None:
    top, left, right = node("top"), node("left"), node("right")
    for low in (left, right):
        low.bind("up", top.server("srv"))
        top.bind("down", low.server("srv"))
    for one in (top, left, right):
        one.start()
    assert left.content.up.ping("left") == ["left"]
    assert top.content.down.ping("all") == ["all", "all"]


def test_the_top_has_nobody_above_and_an_empty_cluster_nobody_below() -> None:
    top = node("top")
    top.start()
    assert (top.content.up, top.content.down) == (None, None)
