"""The two ends of a binding: what a content is given to call, and when it changes."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gcm import Cardinality, InterfaceType, Invocation, primitive, provides
from gcm.errors import IllegalBindingError
from gcm.interfaces.interface import ClientInterface
from gcm.interfaces.stub import Stub, stub_class
from gcm.membranes.binding import BindingController
from gcm.membranes.interceptor import InterceptorController
from tests.unit.parts import Asking, Echo, Louder, Shouter, Speaker


class Counting:
    def __init__(self) -> None:
        self.calls = 0

    def before(self, call: Invocation) -> None:
        self.calls += 1

    def after(self, call: Invocation, error: BaseException | None) -> None: ...


def test_a_content_calls_the_stub_of_its_server_where_nothing_lies_between() -> None:
    client, server = primitive(Asking), primitive(Speaker)
    client.bind("next", server.server("echo"))
    assert client.client("next").reference is server.server("echo").stub is client.content.next


def test_threads_that_bind_first_share_a_stub_that_serves() -> None:
    looked_up, looks_on = threading.Event(), threading.Event()

    @provides("echo", Echo)
    class Slow(Speaker):
        def __getattribute__(self, name: str) -> Any:
            if name == "say" and threading.current_thread() is other:
                looked_up.set()
                assert looks_on.wait(10)
            return super().__getattribute__(name)

    component = primitive(Slow)
    component.start()
    echo = component.server("echo")
    other = threading.Thread(target=lambda: echo.stub)
    other.start()
    try:
        assert looked_up.wait(10)
        stub: Any = echo.stub
        assert stub.say("x") == "x"
    finally:
        looks_on.set()
        other.join()
    assert echo.stub is stub


def test_what_lies_between_gives_the_content_a_stub_of_its_own() -> None:
    client, server = primitive(Asking), primitive(Speaker)
    client.bind("next", server.server("echo"))
    counting = Counting()
    interceptors = client.controller(InterceptorController)
    interceptors.add(counting, "next")
    own: Any = client.content.next
    assert own is not server.server("echo").stub
    assert repr(own) == "<stub of /asking.next>"
    server.start()
    client.start()
    own.say("x")
    assert counting.calls == 1
    interceptors.remove(counting)
    assert client.content.next is server.server("echo").stub
    own.say("x")  # what somebody kept leads to the same place, by the way that is valid now
    assert counting.calls == 1


def test_a_stub_that_was_kept_follows_the_new_binding() -> None:
    client, one, two = primitive(Asking), primitive(Speaker, "one"), primitive(Speaker, "two")
    client.controller(InterceptorController).add(Counting(), "next")
    client.bind("next", one.server("echo"))
    kept = client.content.next
    client.unbind("next")
    with pytest.raises(IllegalBindingError) as caught:
        kept.say("x")
    assert str(caught.value) == (
        "'say' was called, but nothing is bound to the interface "
        "[component /asking, interface 'next']. "
        'Bind it first: component.bind("next", server_interface)'
    )
    client.bind("next", two.server("echo"))
    two.content.say = lambda text: f"two: {text}"
    two.start()
    assert kept.say("x") == "two: x"
    assert client.content.next is kept


def test_a_subtype_is_called_by_its_own_stub() -> None:
    client, server = primitive(Asking), primitive(Shouter)
    client.bind("next", server.server("louder"))
    server.start()
    client.start()
    assert client.content.next.say("x") == "x"
    assert isinstance(client.content.next, stub_class(Louder))


def test_all_clients_share_the_stub_of_a_server_that_does_not_gather() -> None:
    server = primitive(Speaker)
    clients = [primitive(Asking, name) for name in "ab"]
    for client in clients:
        client.bind("next", server.server("echo"))
    assert clients[0].content.next is clients[1].content.next
    assert server.server("echo").clients == tuple(client.client("next") for client in clients)


def test_each_client_of_a_gathercast_interface_has_a_stub_of_its_own() -> None:
    @provides("echo", Echo, cardinality=Cardinality.GATHERCAST)
    class Gathering:
        def say(self, text: list[str]) -> list[str]:
            return text

    server = primitive(Gathering)
    clients = [primitive(Asking, name) for name in "ab"]
    for client in clients:
        client.bind("next", server.server("echo"))
    assert clients[0].content.next is not clients[1].content.next


def test_a_server_end_may_be_anywhere() -> None:
    """A binding asks of its server only what `ServerEnd` says: here it is no component at all."""

    class There:
        type = InterfaceType("echo", Echo)
        path = "there.echo"

        def __init__(self) -> None:
            self.connected: list[ClientInterface] = []

        def connect(self, client: ClientInterface) -> Stub:
            self.connected.append(client)
            stub = stub_class(Echo)(self)
            stub._set_port("say", lambda text: f"there: {text}")
            return stub

        def disconnect(self, client: ClientInterface) -> None:
            self.connected.remove(client)

    client, there = primitive(Asking), There()
    client.bind("next", there)
    assert there.connected == [client.client("next")]
    assert client.controller(BindingController).lookup("next") == (there,)
    client.start()
    assert client.content.next.say("x") == "there: x"
    client.stop()
    client.unbind("next")
    assert there.connected == []
