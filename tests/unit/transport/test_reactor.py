"""The reactor: timers, wake-ups and watched descriptors, whatever some callbacks do."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable
from functools import partial

import pytest

from runtime.transport.decrypted import DECRYPTED
from runtime.transport.errors import TransportError
from runtime.transport.reactor import IDLE, READ, WRITE, Reactor

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


def test_what_another_thread_has_decrypted_and_left_is_told_although_the_system_is_silent() -> None:
    left, right = socket.socketpair()
    called = threading.Event()
    with left, right, Reactor() as reactor:
        reactor.watch(left.fileno(), IDLE, lambda _: called.set())
        while not reactor._sleeps:  # as it does while a thread that waits for an answer reads
            pass
        try:
            DECRYPTED.add(left.fileno())
            reactor.watch(left.fileno(), READ, lambda _: called.set())
            assert called.wait(5)
        finally:
            DECRYPTED.discard(left.fileno())
            reactor.watch(left.fileno(), 0, lambda _: None)


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
    reactor.close()
    reactor.close()
    with pytest.raises(ValueError, match="closed"):
        reactor.watch(0, READ, print)


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


class Waiting:
    """A task that waits until it is told to end."""

    def __init__(self) -> None:
        self.begun, self.end, self.over = threading.Event(), threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        self.end.wait(LONG)
        self.over.set()


def run_task(reactor: Reactor, task: Callable[[], object]) -> None:
    """Let a reactor run a task, from any thread."""
    reactor.soon(lambda: reactor.task(task, lambda _: pytest.fail("it was run elsewhere")))


def test_a_task_runs_on_the_thread_that_was_woken_and_may_wait() -> None:
    told: queue.Queue[tuple[int, bool]] = queue.Queue()
    with Reactor() as reactor:
        reactor.soon(lambda: told.put((threading.get_ident(), reactor.is_own_thread())))
        run_task(reactor, lambda: told.put((threading.get_ident(), reactor.is_own_thread())))
        (woken, in_callback), (ran, in_task) = told.get(timeout=LONG), told.get(timeout=LONG)
    assert (woken, in_callback, in_task) == (ran, True, False)


def test_events_are_waited_for_while_a_task_waits() -> None:
    met = threading.Event()
    with Reactor() as reactor:
        run_task(reactor, lambda: met.wait(LONG))
        run_later = threading.Event()
        reactor.later(0.01, run_later.set)
        assert run_later.wait(LONG)
        reactor.soon(met.set)
        assert met.wait(LONG)


def test_a_task_that_waits_for_a_callback_gets_it() -> None:
    done = threading.Event()
    with Reactor() as reactor:

        def ask() -> None:
            called = threading.Event()
            reactor.soon(called.set)
            if called.wait(LONG):
                done.set()

        for _ in range(3):
            done.clear()
            run_task(reactor, ask)
            assert done.wait(LONG)


def test_of_several_tasks_all_but_one_run_elsewhere() -> None:
    here: list[int] = []
    elsewhere: list[int] = []
    done = threading.Event()
    with Reactor() as reactor:

        def run_here(number: int) -> None:
            here.append(number)
            done.set()

        def three() -> None:
            for number in range(3):
                add = partial(elsewhere.append, number)
                reactor.task(partial(run_here, number), lambda _, add=add: add())  # type: ignore[misc]  # bound here

        reactor.soon(three)
        assert done.wait(LONG)
    assert (here, elsewhere) == ([2], [0, 1])


def test_while_a_task_waits_the_next_one_runs_elsewhere() -> None:
    waiting, told = Waiting(), threading.Event()
    with Reactor() as reactor:
        run_task(reactor, waiting)
        assert waiting.begun.wait(LONG)
        reactor.soon(lambda: reactor.task(waiting.end.set, lambda _: told.set()))
        assert told.wait(LONG)
        waiting.end.set()


def test_tasks_run_here_again_once_a_long_one_is_over() -> None:
    with Reactor() as reactor:
        for _ in range(20):
            waiting = Waiting()
            run_task(reactor, waiting)
            assert waiting.begun.wait(LONG)
            waiting.end.set()
            assert waiting.over.wait(LONG)
            while reactor._at_task:
                threading.Event().wait(0.001)


def test_a_reactor_closes_although_a_task_does_not_end() -> None:
    waiting = Waiting()
    with Reactor() as reactor:
        run_task(reactor, waiting)
        assert waiting.begun.wait(LONG)
    waiting.end.set()


def test_a_task_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise LookupError("what went wrong")

    done = threading.Event()
    with Reactor() as reactor:
        run_task(reactor, fail)
        reactor.later(0.01, done.set)
        assert done.wait(LONG)
    assert "LookupError: what went wrong" in caplog.text
