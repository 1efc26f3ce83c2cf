"""The reactor: timers, wake-ups and watched descriptors, whatever some callbacks do."""

from __future__ import annotations

import queue
import socket
import threading

import pytest

from runtime.transport.errors import TransportError
from runtime.transport.reactor import READ, WRITE, Reactor

LONG = 10.0


def test_callbacks_run_in_order_on_the_reactors_own_thread() -> None:
    ran: queue.Queue[tuple[int, bool]] = queue.Queue()
    with Reactor() as reactor:
        for number in range(100):
            reactor.soon(lambda number=number: ran.put((number, reactor.is_own_thread())))  # type: ignore[misc]  # bound here
        assert [ran.get(timeout=LONG) for _ in range(100)] == [(n, True) for n in range(100)]
        assert not reactor.is_own_thread()


def test_what_a_callback_asks_for_runs_too() -> None:
    done = threading.Event()
    with Reactor() as reactor:
        reactor.soon(lambda: reactor.soon(lambda: reactor.later(0.0, done.set)))
        assert done.wait(LONG)


def test_timers_fire_by_time_and_not_by_order_of_asking() -> None:
    fired: queue.Queue[str] = queue.Queue()
    with Reactor() as reactor:
        reactor.later(0.06, lambda: fired.put("late"))
        never = reactor.later(0.03, lambda: fired.put("never"))
        reactor.later(0.01, lambda: fired.put("early"))
        never.cancel()
        assert [fired.get(timeout=LONG) for _ in range(2)] == ["early", "late"]
        assert fired.empty()


def test_a_callback_that_fails_is_logged_and_harms_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done = threading.Event()

    def fail() -> None:
        raise LookupError("what went wrong")

    with Reactor() as reactor:
        reactor.soon(fail)
        reactor.later(0.0, fail)
        reactor.later(0.01, done.set)
        assert done.wait(LONG)
    assert caplog.text.count("LookupError: what went wrong") == 2


def test_a_descriptor_is_watched_only_for_what_was_asked() -> None:
    events: queue.Queue[int] = queue.Queue()
    left, right = socket.socketpair()
    with left, right, Reactor() as reactor:

        def ready(what: int) -> None:
            events.put(what)
            reactor.watch(left.fileno(), 0, ready)

        reactor.soon(lambda: reactor.watch(left.fileno(), WRITE, ready))
        assert events.get(timeout=LONG) == WRITE
        reactor.soon(lambda: reactor.watch(left.fileno(), READ, ready))
        right.send(b"x")
        assert events.get(timeout=LONG) == READ
        reactor.soon(lambda: reactor.watch(left.fileno(), 0, ready))
    assert events.empty()


def test_an_idle_reactor_sleeps() -> None:
    with Reactor() as reactor:
        woken = []
        rest = reactor._rest

        def counted() -> float | None:
            woken.append(1)
            return rest()

        reactor._rest = counted  # type: ignore[method-assign]  # to see when it goes to sleep
        settled = threading.Event()
        reactor.soon(settled.set)
        assert settled.wait(LONG)
        before = len(woken)
        threading.Event().wait(0.1)
        assert len(woken) - before <= 1


def test_closing_ends_what_uses_it_and_twice_is_once() -> None:
    ended: list[str] = []
    reactor = Reactor()
    reactor.start()
    reactor.soon(lambda: reactor.at_close("one", lambda: ended.append("one")))
    reactor.soon(lambda: reactor.at_close("two", lambda: ended.append("two")))
    reactor.soon(lambda: reactor.at_close("two", None))
    reactor.close()
    reactor.close()
    assert ended == ["one"]


def test_a_reactor_that_never_ran_can_be_closed() -> None:
    reactor = Reactor()
    ends = (reactor._awake, reactor._waker)
    assert all(end.fileno() >= 0 for end in ends)
    reactor.close()
    assert [end.fileno() for end in ends] == [-1, -1]
    assert not reactor._thread.is_alive()


def test_a_callback_cannot_close_the_reactor_it_runs_on() -> None:
    caught: queue.Queue[BaseException] = queue.Queue()
    with Reactor() as reactor:

        def close() -> None:
            try:
                reactor.close()
            except TransportError as error:
                caught.put(error)

        reactor.soon(close)
        assert "cannot close it" in str(caught.get(timeout=LONG))
