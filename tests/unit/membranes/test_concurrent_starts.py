"""Several threads start and stop the same components, and hooks start what is starting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from gcm import Component, ComponentType, primitive
from gcm.errors import IllegalLifeCycleError
from gcm.membranes.lifecycle import LifeCycleController, State
from gcm.membranes.lifecycle import controller as lifecycle
from gcm.membranes.lifecycle.starting import await_turn
from tests.unit.parts import WAIT, InThread, within


class Slow:
    """Content whose hooks count, and stay inside until they are let go."""

    def __init__(self) -> None:
        self.entered, self.let_go = threading.Semaphore(0), threading.Event()
        self.starts = self.ends = 0
        self.failures = 0

    def on_start(self) -> None:
        self.starts += 1
        self.entered.release()
        assert self.let_go.wait(WAIT)
        if self.failures:
            self.failures -= 1
            raise ValueError("not yet")

    def on_terminate(self) -> None:
        self.ends += 1


def slow() -> Component:
    return primitive(Slow, type=ComponentType())


def outcome(action: Callable[[], Any], into: list[Any]) -> Callable[[], None]:
    """Return a function that notes what `action` returned or raised."""

    def run() -> None:
        try:
            into.append(action())
        except Exception as error:
            into.append(error)

    return run


class Gate(LifeCycleController):
    """The real controller, which also tells when a start begins to look at the component."""

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self.asked = threading.Semaphore(0)

    def start(self) -> None:
        self.asked.release()
        super().start()


def gated(part: Component) -> Gate:
    gate = Gate(part)
    part.membrane._controllers["lifecycle"] = gate
    part.membrane.lifecycle = gate
    return gate


def test_a_second_start_waits_for_the_first_and_the_hook_runs_once(in_thread: InThread) -> None:
    part = slow()
    gate = gated(part)
    outcomes: list[Any] = []
    threads = []
    for _ in range(2):
        threads.append(in_thread(outcome(part.start, outcomes)))
        assert gate.asked.acquire(timeout=WAIT)
    assert part.content.entered.acquire(timeout=WAIT)
    assert (part.state, outcomes) == ("starting", [])
    part.content.let_go.set()
    for thread in threads:
        thread.join(WAIT)
    assert outcomes == [None, None]
    assert (part.state, part.content.starts) == ("started", 1)


@pytest.mark.parametrize("child_first", [True, False])
def test_a_composite_and_its_part_started_at_once_tell_the_part_once(
    child_first: bool, in_thread: InThread
) -> None:
    part = slow()
    box = within("box", part)
    first, second = (part, box) if child_first else (box, part)
    outcomes: list[Any] = []
    thread = in_thread(outcome(first.start, outcomes))
    assert part.content.entered.acquire(timeout=WAIT)
    other = in_thread(outcome(second.start, outcomes))
    part.content.let_go.set()
    thread.join(WAIT)
    other.join(WAIT)
    assert outcomes == [None, None]
    assert (part.state, box.state, part.content.starts) == ("started", "started", 1)


@pytest.mark.parametrize("all_of_it", [True, False])
def test_a_start_also_waits_for_one_that_began_after_it_had_looked(
    all_of_it: bool, in_thread: InThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = slow()
    box = within("box", part)
    other = box if all_of_it else part
    looks: list[Component] = []

    def look(component: Component, deadline: float) -> None:
        looks.append(component)
        if looks == [box, other, box]:
            part.content.let_go.set()
        await_turn(component, deadline)
        if looks == [box]:
            in_thread(other.start)
            assert part.content.entered.acquire(timeout=WAIT)

    monkeypatch.setattr(lifecycle, "await_turn", look)
    try:
        box.start()
    finally:
        part.content.let_go.set()
    assert (looks, box.state, part.content.starts) == ([box, other, box], "started", 1)


def test_many_threads_that_start_and_stop_never_tell_a_part_twice(in_thread: InThread) -> None:
    balance: list[int] = [0]
    extremes: set[int] = set()

    class Counting:
        def on_start(self) -> None:
            balance[0] += 1
            extremes.add(balance[0])

        def on_stop(self) -> None:
            balance[0] -= 1
            extremes.add(balance[0])

    part = primitive(Counting, type=ComponentType())
    box = within("box", part)
    outcomes: list[Any] = []

    def churn(component: Component) -> None:
        for _ in range(100):
            outcome(component.start, outcomes)()
            outcome(component.stop, outcomes)()

    threads = [in_thread(churn, one) for one in (part, box, part, box)]
    for thread in threads:
        thread.join(60)
    assert {type(one) for one in outcomes} <= {type(None), IllegalLifeCycleError}
    assert extremes == {0, 1}


def test_a_start_after_a_failed_one_that_it_waited_for_tries_again(in_thread: InThread) -> None:
    part = slow()
    part.content.failures = 1
    outcomes: list[Any] = []
    thread = in_thread(outcome(part.start, outcomes))
    assert part.content.entered.acquire(timeout=WAIT)
    other = in_thread(outcome(part.start, outcomes))
    part.content.let_go.set()
    thread.join(WAIT)
    other.join(WAIT)
    assert sorted(str(one).partition(" [")[0] for one in outcomes) == [
        "None",
        "the start failed: ValueError: not yet",
    ]
    assert (part.state, part.content.starts) == ("started", 2)


def test_a_start_waits_no_longer_for_another_than_the_start_timeout(in_thread: InThread) -> None:
    part = slow()
    box = within("box", part)
    assert box.controller(LifeCycleController).start_timeout == 30.0
    box.controller(LifeCycleController).start_timeout = 0.02
    thread = in_thread(part.start)
    assert part.content.entered.acquire(timeout=WAIT)
    with pytest.raises(IllegalLifeCycleError) as caught:
        box.start()
    part.content.let_go.set()
    thread.join(WAIT)
    assert str(caught.value) == (
        "another thread starts or stops /box/slow, and is not done after 0.02 s "
        "[component /box, state stopped]. Look for what `on_start` or `on_stop` waits for, or "
        "raise `start_timeout` of the lifecycle controller"
    )
    assert part.content.starts == 1


@pytest.mark.parametrize("action", ["stop", "terminate"])
def test_what_is_starting_can_be_neither_stopped_nor_terminated(
    action: str, in_thread: InThread
) -> None:
    part = slow()
    thread = in_thread(part.start)
    assert part.content.entered.acquire(timeout=WAIT)
    with pytest.raises(IllegalLifeCycleError) as caught:
        getattr(part, action)()
    part.content.let_go.set()
    thread.join(WAIT)
    assert str(caught.value) == (
        f"cannot {action} a component that is starting [component /slow, state starting]. "
        "Wait until its start is over"
    )
    assert part.state == "started"


def test_a_composite_stops_once_the_part_that_is_starting_has_started(
    in_thread: InThread,
) -> None:
    part = slow()
    box = within("box", part)
    part.content.let_go.set()
    box.start()
    part.stop()
    part.content.let_go.clear()
    assert part.content.entered.acquire(timeout=WAIT)
    thread = in_thread(part.start)
    assert part.content.entered.acquire(timeout=WAIT)
    stopping = in_thread(box.stop)
    part.content.let_go.set()
    thread.join(WAIT)
    stopping.join(WAIT)
    assert (box.state, part.state) == ("stopped", "stopped")


def test_two_threads_that_terminate_tell_the_content_once(in_thread: InThread) -> None:
    parts = [slow() for _ in range(30)]
    for part in parts:
        barrier = threading.Barrier(2)
        for thread in [
            in_thread(lambda p=part, b=barrier: (b.wait(WAIT), p.terminate())) for _ in range(2)
        ]:
            thread.join(WAIT)
    assert [part.content.ends for part in parts] == [1] * 30


def test_hooks_may_start_themselves_their_siblings_and_what_is_around_them() -> None:
    started: list[str] = []

    class Eager:
        def __init__(self) -> None:
            self.all: list[Component] = []
            self.seen: list[str] = []

        def on_start(self) -> None:
            for one in self.all:
                one.start()
                self.seen.append(one.state)
            started.append("eager")

    class Quiet:
        def on_start(self) -> None:
            started.append("quiet")

    eager = primitive(Eager, type=ComponentType())
    quiet = primitive(Quiet, type=ComponentType())
    outside = primitive(Quiet, "outside", type=ComponentType())
    box = within("box", eager, quiet)
    outer = within("outer", box)
    eager.content.all = [eager, quiet, box, outer, outside]
    box.start()
    assert eager.content.seen == ["starting", "starting", "starting", "started", "started"]
    assert started == ["quiet", "eager", "quiet"]
    assert {one.state for one in (eager, quiet, box, outer, outside)} == {State.STARTED}
