"""A gathercast round that is half open while its composite stops is completed after the restart."""

from __future__ import annotations

import threading
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    ComponentType,
    Composite,
    GathercastController,
    InterfaceType,
    active,
    composite,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.errors import GathercastTimeoutError, IllegalLifeCycleError
from gcm.interfaces.collective.gathering import RoundSettings
from gcm.membranes.content import ContentController
from gcm.membranes.lifecycle import LifeCycleController
from tests.unit.parts import WAIT, Ended, InThread, Make


class Work(Protocol):
    def work(self, number: int) -> int: ...


class Put(Protocol):
    def put(self, numbers: int) -> int: ...


@provides("work", Work)
class Caller:
    out: Annotated[Put, requires()]

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.after: list[int] = []

    def work(self, number: int) -> int:
        self.entered.release()
        got = self.out.put(number)
        self.after.append(got)
        return got


class Asking(Caller):
    def work(self, number: int) -> int:
        self.entered.release()
        got = submit(self.out.put, number).result()
        self.after.append(got)
        return got


@provides("in", Put, cardinality=Cardinality.GATHERCAST)
class Collector:
    def put(self, numbers: list[int]) -> list[int]:
        return [sum(numbers)] * len(numbers)


def assembly(ended: Ended, make: Make, content: type[Caller] = Caller) -> Composite:
    one, two, gather = make(content, "one"), make(content, "two"), primitive(Collector, "gather")
    box: Composite = ended(
        composite("box", ComponentType((InterfaceType("a", Work), InterfaceType("b", Work))))
    )
    for part in (one, two, gather):
        box.controller(ContentController).add(part)
    for caller, name in ((one, "a"), (two, "b")):
        caller.bind("out", gather.server("in"))
        box.bind(name, caller.server("work"))
    box.controller(LifeCycleController).stop_timeout = 5.0
    box.start()
    return box


def waiting(box: Composite) -> dict[str, list[str]]:
    return box.find("gather").controller(GathercastController).waiting("in")


def half_open(box: Composite, in_thread: InThread, into: list[Any]) -> threading.Thread:
    """Let the first of two clients call, and return once it waits for the other."""

    def call() -> None:
        try:
            into.append(box.stub("a", Work).work(1))
        except Exception as error:
            into.append(error)

    thread = in_thread(call)
    while waiting(box) != {"put": ["/box/two.out"]}:
        assert thread.is_alive(), f"its call has ended: {into}"
        thread.join(0.001)
    return thread


@pytest.mark.parametrize("content", [Caller, Asking])
@pytest.mark.parametrize("make", [primitive, active])
def test_a_caller_in_a_half_open_round_does_not_hold_up_the_stop(
    make: Make, content: type[Caller], in_thread: InThread, ended: Ended
) -> None:
    box = assembly(ended, make, content)
    answers: list[Any] = []
    caller = half_open(box, in_thread, answers)
    in_thread(box.stop).join(WAIT)
    assert box.state == box.find("one").state == "stopped"
    assert box.find("one").content.after == []
    box.start()
    assert box.stub("b", Work).work(2) == 3
    caller.join(WAIT)
    assert answers == [3]
    assert box.find("one").content.after == [3]


@pytest.mark.parametrize("make", [primitive, active])
def test_it_is_refused_when_the_composite_ends(
    make: Make, in_thread: InThread, ended: Ended
) -> None:
    box = assembly(ended, make)
    answers: list[Any] = []
    caller = half_open(box, in_thread, answers)
    in_thread(box.stop).join(WAIT)
    box.terminate()
    caller.join(WAIT)
    assert [str(answer) for answer in answers] == [
        "the component has ended [component /box/gather, interface 'in']"
    ]


def test_a_client_stopped_alone_is_in_flight_because_its_round_may_be_completed(
    in_thread: InThread, ended: Ended
) -> None:
    box = assembly(ended, primitive)
    answers: list[Any] = []
    caller = half_open(box, in_thread, answers)
    one = box.find("one")
    one.controller(LifeCycleController).stop_timeout = 0.02
    with pytest.raises(IllegalLifeCycleError, match="cannot stop within 0.02 s: /box/one is in"):
        one.stop()
    assert box.stub("b", Work).work(2) == 3
    caller.join(WAIT)
    assert answers == [3]


def test_a_round_that_runs_out_of_time_meanwhile_is_given_up_after_the_restart(
    in_thread: InThread, ended: Ended
) -> None:
    box = assembly(ended, primitive)
    gather = box.find("gather").controller(GathercastController)
    gather.configure("in", timeout=2.0)
    answers: list[Any] = []
    caller = half_open(box, in_thread, answers)
    in_thread(box.stop).join(WAIT)
    assert box.state == "stopped"
    caller.join(3)
    assert answers == []
    box.start()
    caller.join(WAIT)
    assert [type(answer) for answer in answers] == [GathercastTimeoutError]


def test_settings_outlive_the_rounds_that_are_refused(in_thread: InThread, ended: Ended) -> None:
    box = assembly(ended, primitive)
    gathering = box.find("gather").server("in").gathering
    assert gathering is not None
    gathering.configure(RoundSettings(timeout=2.0))
    answers: list[Any] = []
    half_open(box, in_thread, answers).name = "first"
    gathering.abandon("enough")
    half_open(box, in_thread, answers).join(WAIT)
    assert [type(answer) for answer in answers] == [IllegalLifeCycleError, GathercastTimeoutError]
