"""Small promises of interfaces: what a round forgets, futures of others, names of parameters."""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    Future,
    InterfaceType,
    Primitive,
    Role,
    one_by_one,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.errors import GathercastTimeoutError, IllegalLifeCycleError, IllegalTypeError
from gcm.interfaces.distribution import redistributes
from gcm.interfaces.future import as_ours
from gcm.interfaces.going_on import is_under_way
from gcm.interfaces.interface import ClientInterface, ServerInterface
from gcm.interfaces.signature import SignatureError, signature_of
from gcm.interfaces.stub import stub_class
from gcm.membranes.collective import GathercastController
from gcm.membranes.lifecycle import LifeCycleController
from tests.unit.parts import WAIT, InThread


class Sum(Protocol):
    def add(self, value: int) -> int: ...


@provides("sum", Sum, cardinality=Cardinality.GATHERCAST)
class Adder:
    def add(self, value: list[int]) -> list[int]:
        return [sum(value)] * len(value)


class Giver:
    sum: Annotated[Sum, requires()]


def assembled() -> tuple[Primitive, Primitive, Primitive]:
    server = primitive(Adder)
    givers = primitive(Giver, "one"), primitive(Giver, "other")
    for giver in givers:
        giver.bind("sum", server.server("sum"))
        giver.start()
    server.start()
    return server, *givers


def configure(server: Primitive, timeout: float) -> None:
    server.controller(GathercastController).configure("sum", timeout=timeout)


def test_who_was_unbound_is_not_waited_for_after_a_new_configuration() -> None:
    server, one, other = assembled()
    other.stop()
    other.unbind("sum")
    configure(server, 0.05)
    assert submit(one.content.sum.add, 3).result(WAIT) == 3


def test_the_end_of_a_server_leaves_no_timer_behind() -> None:
    server, one, _ = assembled()
    configure(server, 60.0)
    before = set(threading.enumerate())
    waiting = submit(one.content.sum.add, 3)
    (timer,) = set(threading.enumerate()) - before
    server.stop()
    server.terminate()
    assert isinstance(waiting.exception(WAIT), IllegalLifeCycleError)
    timer.join(WAIT)
    assert not timer.is_alive()


def test_a_round_of_running_clients_is_over_in_time_though_the_server_is_stopped(
    in_thread: InThread,
) -> None:
    server, one, _ = assembled()
    server.controller(LifeCycleController).hold_timeout = 0.0
    configure(server, 0.2)
    waiting = submit(one.content.sum.add, 3)
    in_thread(server.stop).join(WAIT)
    assert isinstance(waiting.exception(WAIT), GathercastTimeoutError)


def test_a_standard_future_becomes_one_of_ours_with_the_same_result() -> None:
    given: concurrent.futures.Future[int] = concurrent.futures.Future()
    ours = as_ours(given)
    assert isinstance(ours, Future)
    assert not ours.done()
    given.set_result(3)
    assert ours.result(0) == 3
    assert as_ours(ours) is ours
    assert as_ours("anything else") == "anything else"


def test_a_thread_that_hands_nothing_on_has_nothing_under_way() -> None:
    assert is_under_way(threading.get_ident()) is False


def test_functional_interfaces_are_told_from_those_of_controllers() -> None:
    server = primitive(Adder)
    assert server.server("sum").is_functional is True
    assert server.server("lifecycle-controller").is_functional is False


def test_any_keyword_can_be_handed_to_an_operation_that_takes_all() -> None:
    class Open(Protocol):
        def take(self, *args: int, **kwargs: str) -> str: ...

    taken: list[Any] = []
    stub: Any = stub_class(Open)("end")
    stub._set_port("take", lambda *args, **kwargs: taken.append((args, kwargs)))
    stub.take(1, self="me")
    assert taken == [((1,), {"self": "me"})]


def test_what_is_no_signature_redistributes_nothing() -> None:
    class Wrong(Protocol):
        @staticmethod
        def put(field: int) -> int: ...

    with pytest.raises(SignatureError):
        signature_of(Wrong)
    assert redistributes(Wrong) is False


def test_one_by_one_names_itself_when_it_is_put_on_something_else() -> None:
    mark: Any = one_by_one
    with pytest.raises(IllegalTypeError) as caught:
        mark(5)
    assert caught.value.what == "@one_by_one marks an operation or an interface class, not 5"


def test_an_interface_is_an_outer_face_unless_it_is_told_otherwise() -> None:
    server, one, _ = assembled()
    client = ClientInterface(one, InterfaceType("sum", Sum, Role.CLIENT))
    assert (client.internal, client.is_bound) == (False, False)
    assert ServerInterface(server, InterfaceType("sum", Sum)).internal is False
