"""Workers and lanes: everything runs, in order where order was asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from runtime.hosting.workers import SerialQueue, Workers

LONG = 10.0


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers("test")
    yield made
    made.close()


def test_work_that_waits_for_other_work_does_not_keep_it_from_running(workers: Workers) -> None:
    together = threading.Barrier(30)
    done = threading.Semaphore(0)

    def meet() -> None:
        together.wait(LONG)
        done.release()

    for _ in range(30):
        workers.run(meet)
    assert all(done.acquire(timeout=LONG) for _ in range(30))


def test_a_free_thread_is_used_again(workers: Workers) -> None:
    idents: list[int] = []
    for _ in range(20):
        ran = threading.Event()

        def work(ran: threading.Event = ran) -> None:
            idents.append(threading.get_ident())
            ran.set()

        workers.run(work)
        assert ran.wait(LONG)
    assert len(set(idents)) < 20


def test_work_that_fails_is_logged_and_the_next_runs(
    workers: Workers, caplog: pytest.LogCaptureFixture
) -> None:
    ran = threading.Event()
    lane = SerialQueue(workers)

    def fail() -> None:
        raise LookupError("in the work")

    workers.run(fail)
    lane.run(fail)
    lane.run(ran.set)
    assert ran.wait(LONG)
    workers.close()
    assert caplog.text.count("LookupError: in the work") == 2


def test_a_lane_keeps_order_and_never_runs_two_pieces_at_once(workers: Workers) -> None:
    lane = SerialQueue(workers)
    seen: list[int] = []
    running = threading.Lock()
    done = threading.Event()

    def work(number: int) -> None:
        assert running.acquire(blocking=False)
        seen.append(number)
        running.release()
        if number == 299:
            done.set()

    for number in range(300):
        lane.run(lambda number=number: work(number))  # type: ignore[misc]  # bound here
    assert done.wait(LONG)
    assert seen == list(range(300))


def test_after_closing_work_is_dropped_and_no_thread_stays() -> None:
    workers = Workers("closing")
    ran = threading.Event()
    workers.run(ran.set)
    assert ran.wait(LONG)
    workers.close()
    for end in (workers, SerialQueue(workers)):
        assert not end.run(lambda: pytest.fail("ran after the end"))
        assert not end.run(lambda: pytest.fail("ran after the end"))
    assert workers._threads == set()


def test_closing_does_not_wait_for_ever_for_a_busy_thread() -> None:
    workers = Workers("busy")
    free = threading.Event()
    workers.run(lambda: free.wait(LONG))
    workers.close(grace=0.01)
    assert len(workers._threads) == 1
    free.set()


def test_work_that_was_taken_on_is_done_and_none_after_the_end() -> None:
    workers = Workers("test")
    busy, go_on = threading.Event(), threading.Event()
    done: list[int] = []

    def work() -> None:
        busy.set()
        go_on.wait(LONG)

    taken_on = [workers.run(work) for _ in range(3)]
    assert busy.wait(LONG)
    with workers._changed:  # so that nobody has begun with it when it ends
        taken_on.append(workers.run(lambda: done.append(1)))
        go_on.set()
        workers.close(LONG)
    assert (taken_on, done) == ([True] * 4, [1])
    assert not workers.run(lambda: done.append(2))
    assert done == [1]
