"""Our futures behave like those of the standard library, and with its functions."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, InvalidStateError
from typing import Any

import pytest

from gcm import Future

SETTERS: list[Callable[[Future[int]], None]] = [
    lambda future: future.set_result(3),
    lambda future: future.set_exception(ValueError("no")),
]


def outcome(future: concurrent.futures.Future[int]) -> object:
    error = future.exception(0)
    return str(error) if error else future.result(0)


@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize("look", [True, False])
def test_a_future_goes_through_the_states_of_a_standard_one(
    setter: Callable[[Future[int]], None], look: bool
) -> None:
    ours, standard = Future[int]("it"), concurrent.futures.Future[int]()
    seen: list[list[object]] = []
    for future in (ours, standard):
        if look:  # then the condition variable is there from the beginning
            concurrent.futures.wait([future], timeout=0)
        states: list[object] = [future.done(), future.running(), future.cancelled()]
        states.append(future.set_running_or_notify_cancel())
        states += [future.done(), future.running(), future.cancelled(), future.cancel()]
        setter(future)  # type: ignore[arg-type]  # a standard one too
        states += [future.done(), future.running(), future.cancel(), outcome(future)]
        with pytest.raises(InvalidStateError):
            setter(future)  # type: ignore[arg-type]  # a standard one too
        with pytest.raises(InvalidStateError):
            future.set_exception(KeyError())
        seen.append([*states, outcome(future)])
    assert seen[0] == seen[1]


def test_beginning_twice_is_an_error() -> None:
    future = Future[int]()
    assert future.set_running_or_notify_cancel()
    with pytest.raises(RuntimeError, match="unexpected state"):
        future.set_running_or_notify_cancel()


@pytest.mark.parametrize("look", [True, False])
def test_a_cancelled_future_tells_whoever_waits(look: bool) -> None:
    future = Future[int]()
    told: list[bool] = []
    future.add_done_callback(lambda done: told.append(done.cancelled()))
    if look:
        concurrent.futures.wait([future], timeout=0)
    waiting, errors = waiter(future)
    assert future.cancel()
    waiting.join(10)
    assert (told, errors, future.done()) == ([True], [CancelledError], True)
    assert not future.set_running_or_notify_cancel()
    with pytest.raises(CancelledError):
        future.exception()


def waiter(future: Future[int]) -> tuple[threading.Thread, list[Any]]:
    """Return a thread that waits for the result, and where it puts what it gets."""
    got: list[Any] = []

    def wait() -> None:
        try:
            got.append(future.result(10))
        except BaseException as error:  # whatever it is, the test looks at it
            got.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    return thread, got


@pytest.mark.parametrize(("setter", "expected"), [(SETTERS[0], 3), (SETTERS[1], ValueError)])
def test_several_waiters_get_what_comes(
    setter: Callable[[Future[int]], None], expected: object
) -> None:
    future = Future[int]()
    waiters = [waiter(future) for _ in range(3)]
    setter(future)
    for thread, _ in waiters:
        thread.join(10)
    assert [got for _, got in waiters] == [[expected]] * 3


def test_a_wait_that_is_too_short_names_the_call() -> None:
    future = Future[int]("/app/server.echo")
    for ask in (future.result, future.exception):
        with pytest.raises(TimeoutError, match=r"^no result from /app/server.echo within 0 s$"):
            ask(0)
        with pytest.raises(TimeoutError, match=r"within -1 s$"):
            ask(-1)
    future.set_result(1)  # those who gave up are not told, and do no harm
    assert future.result(0) == 1


def test_a_timeout_that_the_call_itself_raised_is_its_result() -> None:
    future = Future[int]()
    future.set_exception(TimeoutError("of the call"))
    with pytest.raises(TimeoutError, match="^of the call$"):
        future.result(5)


def test_callbacks_are_called_once_in_order_and_late_ones_at_once() -> None:
    future = Future[int]()
    told: list[object] = []
    future.add_done_callback(lambda _: told.append("first"))
    future.add_done_callback(lambda done: told.append(done.result()))
    future.set_result(5)
    future.add_done_callback(lambda _: told.append("late"))
    assert told == ["first", 5, "late"]


def test_a_callback_runs_without_the_lock_of_the_future() -> None:
    future = Future[int]()
    other_thread: list[list[Any]] = []

    def ask_from_another_thread(_: object) -> None:
        thread, got = waiter(future)
        thread.join(10)
        other_thread.append(got)

    future.add_done_callback(ask_from_another_thread)
    future.set_result(7)
    assert other_thread == [[7]]


@pytest.mark.parametrize("setter", SETTERS)
def test_the_functions_of_the_standard_library_take_our_futures(
    setter: Callable[[Future[int]], None],
) -> None:
    futures = [Future[int](), Future[int]()]
    setter(futures[0])
    done, waiting = concurrent.futures.wait(
        futures, return_when=concurrent.futures.FIRST_COMPLETED, timeout=10
    )
    assert (done, waiting) == ({futures[0]}, {futures[1]})
    thread = threading.Thread(target=setter, args=(futures[1],))
    standard: list[concurrent.futures.Future[int]] = [*futures]
    completed = concurrent.futures.as_completed(standard, timeout=10)
    assert next(completed) is futures[0]
    thread.start()
    assert next(completed) is futures[1]
    thread.join()


def test_a_future_can_be_awaited() -> None:
    async def wait() -> int:
        future = Future[int]()
        asyncio.get_running_loop().call_soon(future.set_result, 9)
        return await asyncio.wrap_future(future)

    assert asyncio.run(wait()) == 9


def test_a_future_says_what_it_waits_for() -> None:
    future = Future[int]("/app.run")
    assert repr(future) == "<Future of /app.run: waiting>"
    future.set_result(1)
    assert repr(future) == "<Future of /app.run: done>"
