"""A multicast to passive components whose calls wait for each other goes on all the same."""

from __future__ import annotations

import threading
from typing import Annotated, Any, Protocol

import pytest

from gcm import Cardinality, Component, one_to_one, provides, requires
from gcm.adl import Assembly
from gcm.errors import MulticastError
from gcm.interfaces.going_on import begin, end, hand_on_the_rest


class Work(Protocol):
    def work(self, number: int) -> int: ...


class WorkForAll(Protocol):
    def work(self, number: int) -> list[int]: ...


class WorkForEach(Protocol):
    def work(self, number: Annotated[list[int], one_to_one]) -> list[int]: ...


class Collect(Protocol):
    def put(self, value: int) -> int: ...


@provides("work", Work)
class Worker:
    out: Annotated[Collect, requires()]

    def work(self, number: int) -> int:
        if number < 0:
            raise ValueError(f"{number} is negative")
        return self.out.put(number) + 1


@provides("put", Collect, cardinality=Cardinality.GATHERCAST)
class Collector:
    def put(self, value: list[int]) -> list[int]:
        return [sum(value) + number for number in value]


@provides("work", Work)
class BroadcastMaster:
    workers: Annotated[WorkForAll, requires(cardinality=Cardinality.MULTICAST)]

    def work(self, number: int) -> Any:
        return self.workers.work(number)


@provides("work", Work)
class SpreadingMaster:
    workers: Annotated[WorkForEach, requires(cardinality=Cardinality.MULTICAST)]

    def work(self, number: int) -> Any:
        return self.workers.work([number, number + 1, number + 2])


def farm(master: type[Any]) -> Component:
    app = Assembly("farm").serves("work", Work)
    app.primitive("master", master).primitive("collector", Collector)
    app.bind("this.work", "master.work")
    for name in ("a", "b", "c"):
        app.primitive(name, Worker)
        app.bind("master.workers", f"{name}.work").bind(f"{name}.out", "collector.put")
    root = app.assemble()
    root.start()
    return root


@pytest.mark.parametrize(
    ("master", "expected"), [(BroadcastMaster, [21, 21, 21]), (SpreadingMaster, [24, 25, 26])]
)
def test_every_worker_reaches_the_round_and_the_results_keep_their_order(
    master: type[Any], expected: list[int]
) -> None:
    root = farm(master)
    result: Any = root.stub("work", Work).work(5)
    assert result == expected
    root.stop()


def test_failures_are_told_with_their_servers_and_the_round_waits_for_the_rest() -> None:
    root = farm(SpreadingMaster)
    with pytest.raises(MulticastError) as caught:
        root.stub("work", Work).work(-3)
    assert [path for path, _ in caught.value.failures] == [
        "/farm/a.work",
        "/farm/b.work",
        "/farm/c.work",
    ]
    root.stop()


def test_a_component_with_such_a_multicast_under_way_can_be_stopped() -> None:
    root = farm(BroadcastMaster)
    results: list[int] = []
    stub = root.stub("work", Work)

    def call_often() -> None:
        for _ in range(50):
            results.extend([stub.work(1)])

    caller = threading.Thread(target=call_often)
    caller.start()
    for _ in range(10):
        root.stop()
        root.start()
    caller.join(30)
    root.stop()
    assert results == [[5, 5, 5]] * 50  # type: ignore[comparison-overlap]  # a list at run time


def test_nothing_is_handed_on_outside_a_multicast_or_after_its_last_call() -> None:
    hand_on_the_rest()
    rest = begin([1], lambda left: left)
    assert list(rest.items) == [1]
    hand_on_the_rest()
    end()
    assert rest.taken_over() is None


def test_what_is_handed_on_is_exactly_what_was_left() -> None:
    rest = begin([1, 2, 3], lambda left: (threading.current_thread().name, left))
    assert next(rest.items) == 1
    hand_on_the_rest()
    hand_on_the_rest()
    assert list(rest.items) == []
    end()
    assert rest.taken_over() == ("multicast", [2, 3])


def test_an_exception_of_what_was_handed_on_comes_back() -> None:
    def fail(left: list[int]) -> None:
        raise RuntimeError(f"no {left}")

    rest = begin([1, 2], fail)
    next(rest.items)
    hand_on_the_rest()
    end()
    with pytest.raises(RuntimeError, match=r"no \[2\]"):
        rest.taken_over()
