"""Active objects that wait for each other in a circle are told so, instead of waiting for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Protocol

import pytest

from gcm import (
    Cardinality,
    active,
    composite,
    immediate,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.components.model import Component
from gcm.errors import CircularCallError
from gcm.membranes.collective import GathercastController
from gcm.membranes.content import ContentController
from tests.unit.parts import Ended, Make

LONG = 20.0


class Step(Protocol):
    def step(self, way: str) -> str: ...


@provides("server", Step)
class Walker:
    """Goes on as its argument says: a call, a call that is waited for later, or none."""

    next: Annotated[Step, requires(optional=True)]
    both_inside = threading.Barrier(2)

    def step(self, way: str) -> str:
        if not way:
            return "done"
        if way[0] == "s":
            return submit(self.next.step, way[1:]).result()
        if way[0] == "f":  # and forgets it
            submit(self.next.step, way[1:])
            return "forgotten"
        if way[0] == "b":
            self.both_inside.wait(LONG)
        return self.next.step(way[1:])


@provides("server", Step)
class Open(Walker):
    @immediate
    def step(self, way: str) -> str:
        return super().step(way)


@contextmanager
def ring(*parts: Component) -> Iterator[Component]:
    """Bind each part to the next one, and the last one to the first."""
    root = composite("ring")
    for part in parts:
        root.controller(ContentController).add(part)
    for client, server in zip(parts, (*parts[1:], parts[0]), strict=True):
        client.bind("next", server.server("server"))
    root.start()
    try:
        yield parts[0]
    finally:
        root.stop()
        root.terminate()


def step(component: Component, way: str) -> str:
    return component.stub("server", Step).step(way)


def test_a_circle_of_calls_is_an_error_that_names_it() -> None:
    with ring(active(Walker, "a"), active(Walker, "b"), active(Walker, "c")) as first:
        with pytest.raises(CircularCallError) as caught:
            step(first, "ccc")
        assert caught.value.what == (
            "the call would wait for itself: /ring/a.server.step waits for /ring/b.server.step, "
            "which waits for /ring/c.server.step, which waits for /ring/a.server.step"
        )
        assert caught.value.component == "/ring/a"
        assert "@immediate" in caught.value.cure
        assert step(first, "cc") == "done"


def test_a_circle_through_a_passive_component_is_one_too() -> None:
    with ring(active(Walker, "a"), primitive(Walker, "p"), active(Walker, "b")) as first:
        error = submit(first.stub("server", Step).step, "ccc").exception(LONG)
        assert isinstance(error, CircularCallError)
        assert "/ring/a.server.step waits for /ring/b.server.step, which" in error.what


def test_results_that_are_waited_for_later_close_a_circle_as_well() -> None:
    with ring(active(Walker, "a"), active(Walker, "b")) as first:
        error = submit(first.stub("server", Step).step, "ss").exception(LONG)
        assert isinstance(error, CircularCallError)
        assert error.what.count("waits for /ring/") == 2


def test_two_that_call_each_other_at_the_same_time_are_told() -> None:
    with ring(active(Walker, "a"), active(Walker, "b")) as first:
        second = first.client("next").servers[0]
        futures = [submit(end.stub.step, "bc") for end in (first.server("server"), second)]  # type: ignore[attr-defined]
        errors = [future.exception(LONG) for future in futures]
        assert sum(isinstance(error, CircularCallError) for error in errors) >= 1


def test_no_circle_where_nobody_waits() -> None:
    with ring(active(Walker, "a"), active(Walker, "b")) as first:
        assert step(first, "fc") == "forgotten"
    with ring(active(Open, "a"), active(Walker, "b")) as first:
        assert step(first, "cc") == "done"


@provides("all", Step, cardinality=Cardinality.GATHERCAST)
class Gatherer:
    """Calls `next` for all that have called."""

    next: Annotated[Step, requires()]

    def step(self, way: list[str]) -> list[str]:
        return [self.next.step("")] * len(way)


@pytest.mark.parametrize("make", [primitive, active])
@pytest.mark.parametrize("called", ["first", "last"])
@pytest.mark.parametrize("way", ["cc", "sc"])
def test_a_circle_through_a_round_is_found_from_each_that_waits_for_it(
    make: Make, called: str, way: str, ended: Ended
) -> None:
    first, last = ended(active(Walker, "first")), ended(active(Walker, "last"))
    gatherer = ended(make(Gatherer, "gatherer"))
    for one in (first, last):
        one.bind("next", gatherer.server("all"))
    gatherer.bind("next", {"first": first, "last": last}[called].server("server"))
    for one in (gatherer, first, last):
        one.start()
    futures = [submit(first.stub("server", Step).step, way)]
    while not gatherer.controller(GathercastController).waiting("all"):
        time.sleep(0.001)
    futures.append(submit(last.stub("server", Step).step, way))
    errors = [future.exception(LONG) for future in futures]
    if make is primitive and called == "last":  # whose thread carries out the call of the round
        assert errors == [None, None]
        return
    assert [type(error) for error in errors] == [CircularCallError] * 2
    assert f"/{called}.server.step" in str(errors[0])
