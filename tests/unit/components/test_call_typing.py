"""Calls are typed for the caller's editor: the type checker is the test here, and it runs too."""

from __future__ import annotations

from typing import Annotated, Any, Protocol, assert_type

from gcm import Component, Future, Primitive, attribute, primitive, provides, requires, submit
from gcm.membranes.attribute import AttributeController


class Greeter(Protocol):
    def greet(self, name: str, times: int = 1) -> str: ...


@provides("greeter", Greeter)
class Server:
    size: Annotated[int, attribute()] = 5

    def greet(self, name: str, times: int = 1) -> str:
        return f"hello {name}" * times


class Client:
    greeter: Annotated[Greeter, requires()]

    def ask(self) -> str:
        answer = self.greeter.greet("world")
        assert_type(answer, str)
        return answer


def started() -> Primitive:
    component = primitive(Server)
    component.start()
    return component


def test_a_stub_has_the_type_of_its_signature() -> None:
    component = started()
    stub = component.stub("greeter", Greeter)
    assert_type(stub, Greeter)
    assert assert_type(stub.greet("you", times=2), str) == "hello youhello you"


def test_the_future_of_a_call_has_the_type_of_its_result() -> None:
    future = submit(started().stub("greeter", Greeter).greet, "you")
    assert_type(future, Future[str])
    assert assert_type(future.result(), str) == "hello you"


def test_the_checker_refuses_wrong_arguments() -> None:
    stub = started().stub("greeter", Greeter)
    if len("never") == 0:  # for the checker only: each line is an error that it must find
        stub.greet(1)  # type: ignore[arg-type]  # the error that is expected
        stub.greet()  # type: ignore[call-arg]  # the error that is expected
        stub.shout("x")  # type: ignore[attr-defined]  # the error that is expected
        submit(stub.greet, 1)  # type: ignore[arg-type]  # the error that is expected
        submit(stub.greet, "x", tims=1)  # type: ignore[call-arg]  # the error that is expected
    assert stub.greet("you") == "hello you"


def test_a_controller_has_the_type_that_was_asked_for() -> None:
    component = started()
    controller = component.controller(AttributeController)
    assert_type(controller, AttributeController)
    assert controller.get("size") == 5


def test_an_injected_client_is_typed_by_its_annotation() -> None:
    client, server = primitive(Client), started()
    client.bind("greeter", server.server("greeter"))
    client.start()
    content: Any = client.content
    assert isinstance(content, Client)
    assert content.ask() == "hello world"


def test_the_factory_tells_what_it_makes() -> None:
    assert_type(primitive(Server), Primitive)
    found: Component = primitive(Server)
    assert found.name == "server"
