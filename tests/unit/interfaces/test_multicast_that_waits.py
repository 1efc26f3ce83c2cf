"""A multicast to passive components whose calls wait for each other goes on all the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from gcm import Cardinality, Component, one_to_one, primitive, provides, requires
from gcm.adl import Assembly
from gcm.errors import MulticastError
from gcm.interfaces.going_on import Elsewhere, Handed, hand_on_the_rest, make_each


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


ELSEWHERE = Elsewhere(primitive(Collector), "put")


def noting(made_there: list[Any]) -> Callable[[list[Any]], None]:
    def note(left: list[int]) -> None:
        made_there.append((threading.current_thread().name, left))
        if 13 in left:
            raise RuntimeError(f"no {left}")

    return note


def test_nothing_is_handed_on_outside_a_multicast_or_after_its_last_call() -> None:
    there: list[Any] = []
    handed: list[Handed] = []
    hand_on_the_rest()
    make_each(iter([1]), handed, ELSEWHERE, noting(there), lambda _: hand_on_the_rest())
    assert (there, handed) == ([], [])


def test_what_is_handed_on_is_exactly_what_was_left() -> None:
    here: list[int] = []
    there: list[Any] = []
    handed: list[Handed] = []

    def call(item: int) -> None:
        here.append(item)
        hand_on_the_rest()
        hand_on_the_rest()

    make_each(iter([1, 2, 3]), handed, ELSEWHERE, noting(there), call)
    assert here == [1]
    assert [future.result(10) for future in handed] == [None]
    assert there == [("multicast", [2, 3])]
    assert repr(handed[0]) == "<Future of the rest of 'put' of /collector: done>"


def test_an_exception_of_what_was_handed_on_comes_back() -> None:
    handed: list[Handed] = []
    make_each(iter([1, 13]), handed, ELSEWHERE, noting([]), lambda _: hand_on_the_rest())
    with pytest.raises(RuntimeError, match=r"no \[13\]"):
        handed[0].result(10)


class Options(Protocol):
    def mixed(self, first: int, *rest: int, last: int = 0, **more: int) -> int: ...

    def named(self, first: int, *, last: int) -> int: ...


class OptionsOfAll(Protocol):
    def mixed(self, first: int, *rest: int, last: int = 0, **more: int) -> list[int]: ...

    def named(self, first: int, *, last: int) -> list[int]: ...


@provides("options", Options)
class Optional:
    out: Annotated[Collect, requires()]

    def mixed(self, first: int, *rest: int, last: int = 0, **more: int) -> Any:
        return self.out.put(first + sum(rest) + last + sum(more.values()))

    def named(self, first: int, *, last: int) -> Any:
        return self.out.put(first - last)


@provides("work", Work)
class OptionalMaster:
    workers: Annotated[OptionsOfAll, requires(cardinality=Cardinality.MULTICAST)]

    def work(self, number: int) -> Any:
        return [self.workers.mixed(number, 1, last=2, other=3), self.workers.named(number, last=1)]


def test_calls_that_are_handed_on_get_all_their_arguments() -> None:
    app = Assembly("app").serves("work", Work)
    app.primitive("master", OptionalMaster).primitive("collector", Collector)
    app.bind("this.work", "master.work")
    for name in ("a", "b"):
        app.primitive(name, Optional)
        app.bind("master.workers", f"{name}.options").bind(f"{name}.out", "collector.put")
    root = app.assemble()
    root.start()
    result: Any = root.stub("work", Work).work(4)
    assert result == [[30, 30], [9, 9]]
    root.stop()
