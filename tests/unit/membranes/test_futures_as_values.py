"""Futures as results and arguments of active objects."""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Any, Protocol

import pytest

from gcm import Component, Future, active, provides, submit
from tests.unit.parts import WAIT, Ended


class Desk(Protocol):
    def promise(self) -> Future[list[str]]: ...
    def standard(self) -> concurrent.futures.Future[list[str]]: ...
    def several(self) -> dict[str, Future[list[str]]]: ...
    def redeem(self, promised: Future[list[str]]) -> list[str]: ...


@provides("desk", Desk)
class Clerk:
    def __init__(self) -> None:
        self.made: Future[list[str]] = Future("a promise")
        self.plain: concurrent.futures.Future[list[str]] = concurrent.futures.Future()

    def promise(self) -> Future[list[str]]:
        return self.made

    def standard(self) -> concurrent.futures.Future[list[str]]:
        return self.plain

    def several(self) -> dict[str, Future[list[str]]]:
        return {"one": self.made}

    def redeem(self, promised: Future[list[str]]) -> list[str]:
        return promised.result(WAIT)


@pytest.fixture
def clerk(ended: Ended) -> Component:
    component: Component = ended(active(Clerk))
    component.start()
    return component


def test_an_operation_may_return_a_future_that_is_done_later(clerk: Component) -> None:
    promised = clerk.stub("desk", Desk).promise()
    assert not promised.done()
    mine = ["kept"]
    clerk.content.made.set_result(mine)
    assert promised.result(WAIT) == ["kept"]
    assert promised.result(WAIT) is not mine  # it crossed by value
    assert repr(promised) == "<Future of a promise: done>"


def test_its_exception_comes_through(clerk: Component) -> None:
    promised = submit(clerk.stub("desk", Desk).promise).result(WAIT)
    clerk.content.made.set_exception(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        promised.result(WAIT)


def test_cancelling_it_cancels_what_was_promised(clerk: Component) -> None:
    promised = clerk.stub("desk", Desk).promise()
    assert promised.cancel()
    assert clerk.content.made.cancelled()


def test_a_cancelled_promise_is_a_cancelled_result(clerk: Component) -> None:
    promised = clerk.stub("desk", Desk).promise()
    clerk.content.made.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        promised.result(WAIT)


def test_a_standard_future_is_handed_on_as_one_of_ours(clerk: Component) -> None:
    promised = clerk.stub("desk", Desk).standard()
    clerk.content.plain.set_result(["kept"])
    assert promised.result(WAIT) == ["kept"]
    assert isinstance(promised, Future)


def test_futures_may_be_inside_what_is_returned(clerk: Component) -> None:
    promised = clerk.stub("desk", Desk).several()["one"]
    clerk.content.made.set_result(["kept"])
    assert promised.result(WAIT) == ["kept"]


def test_futures_are_arguments_too(clerk: Component) -> None:
    promised: Future[list[str]] = Future()
    answer = submit(clerk.stub("desk", Desk).redeem, promised)
    promised.set_result(["kept"])
    assert answer.result(WAIT) == ["kept"]


def test_what_cannot_be_copied_is_an_error_of_the_future(clerk: Component) -> None:
    promised: Any = clerk.stub("desk", Desk).promise()
    clerk.content.made.set_result([threading.Lock()])
    with pytest.raises(TypeError, match="cannot pickle"):
        promised.result(WAIT)
