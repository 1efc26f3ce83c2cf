"""Futures: standard ones that also say what they wait for."""

from __future__ import annotations

import asyncio
import concurrent.futures

import pytest

from gcm import Future
from gcm.interfaces.future import finished, fulfil


def test_a_future_is_one_of_the_standard_library() -> None:
    future: Future[int] = Future("an answer")
    assert concurrent.futures.wait([future], timeout=0).not_done == {future}
    seen: list[int] = []
    future.add_done_callback(lambda done: seen.append(done.result()))
    future.set_result(3)
    assert seen == [3]
    assert concurrent.futures.wait([future], timeout=0).done == {future}

    async def wait() -> int:
        return await asyncio.wrap_future(future)

    assert asyncio.run(wait()) == 3


def test_a_future_says_what_it_waits_for() -> None:
    future: Future[int] = Future("an answer")
    assert (future.about, repr(future)) == ("an answer", "<Future of an answer: waiting>")
    future.set_result(1)
    assert repr(future) == "<Future of an answer: done>"
    assert repr(Future()) == "<Future of a result: waiting>"


def test_a_result_that_does_not_come_in_time_is_named() -> None:
    future: Future[int] = Future("an answer")
    with pytest.raises(TimeoutError) as caught:
        future.result(0.001)
    assert str(caught.value) == "no result from an answer within 0.001 s"


def test_a_timeout_that_the_call_itself_raised_is_its_result() -> None:
    future: Future[int] = Future("an answer")
    own = TimeoutError("of its own")
    future.set_exception(own)
    with pytest.raises(TimeoutError) as caught:
        future.result(1)
    assert caught.value is own


def test_a_finished_call_has_its_result_or_its_exception() -> None:
    done = finished(divmod, (7, 2), {})
    assert (done.done(), done.result(), done.about) == (True, (3, 1), "divmod")
    assert isinstance(finished(divmod, (1, 0), {}).exception(0), ZeroDivisionError)
    assert finished(int, ("11",), {"base": 2}).result() == 3


def test_an_exit_is_kept_in_the_future_and_goes_on() -> None:
    def leave() -> None:
        raise SystemExit(3)

    future: Future[None] = Future()
    with pytest.raises(SystemExit):
        fulfil(future, leave, (), {})
    assert isinstance(future.exception(0), SystemExit)
