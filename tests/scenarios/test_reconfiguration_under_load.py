"""While many threads call, an assembly is stopped, bound anew and started, again and again.

Every call returns exactly once, with the answer of a server that was bound when it was served.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    Composite,
    Future,
    InterfaceType,
    Invocation,
    Primitive,
    active,
    composite,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.membranes.content import ContentController
from gcm.membranes.interceptor import InterceptorController

WAIT = 20
CALLERS = 6
CYCLES = 20
CALLS_IN_EACH_CYCLE = 60

Make = Callable[..., Primitive]


class Serve(Protocol):
    def serve(self, number: int) -> tuple[str, int]: ...


class Server:
    def __init__(self, name: str) -> None:
        self.name = name
        self.served: list[int] = []

    def serve(self, number: int) -> tuple[str, int]:
        self.served.append(number)
        return self.name, number


SERVE = ComponentType((InterfaceType("serve", Serve),))


@provides("serve", Serve)
class Front:
    back: Annotated[Serve, requires()]

    def serve(self, number: int) -> tuple[str, int]:
        name, same = self.back.serve(number)
        assert self.back is not None, "the binding was taken away during a call"
        return name, same


class Callers:
    """Threads that call without a pause, until the reconfigurations are over."""

    def __init__(self, call: Callable[[int], Any]) -> None:
        self._call = call
        self._numbers = itertools.count()
        self._enough = threading.Event()
        self._progress = threading.Event()
        self.sent: list[int] = []
        self.answers: list[Any] = []
        self.errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(CALLERS)]

    def _run(self) -> None:
        try:
            while not self._enough.is_set():
                number = next(self._numbers)
                self.sent.append(number)
                self.answers.append(self._call(number))
                self._progress.set()
        except BaseException as error:
            self.errors.append(error)
            self._progress.set()

    def go_on(self) -> None:
        """Let some calls return, so that each reconfiguration meets calls in flight."""
        target = len(self.answers) + CALLS_IN_EACH_CYCLE
        while len(self.answers) < target and not self.errors:
            self._progress.clear()
            if len(self.answers) < target:
                assert self._progress.wait(WAIT), "no call returns any more"

    @contextmanager
    def calling(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._enough.set()
            for thread in self._threads:
                thread.join(WAIT)
        assert not any(thread.is_alive() for thread in self._threads), "a call never returned"
        assert self.errors == []
        assert len(self.answers) == len(self.sent) >= CYCLES * CALLS_IN_EACH_CYCLE


def assembled(make: Make) -> tuple[Composite, Primitive, list[Primitive]]:
    root = composite("root", SERVE)
    front = make(Front, "front")
    servers = [make(partial(Server, name), name, type=SERVE) for name in ("old", "new")]
    for part in (front, *servers):
        root.controller(ContentController).add(part)
    root.bind("serve", front.server("serve"))
    front.bind("back", servers[0].server("serve"))
    return root, front, servers


def exchange(front: Component, servers: list[Primitive], cycle: int) -> None:
    front.unbind("back")
    front.bind("back", servers[(cycle + 1) % 2].server("serve"))


def end(root: Component) -> None:
    root.stop()
    root.terminate()


@pytest.mark.parametrize("make", [primitive, active])
@pytest.mark.parametrize("whole", [True, False], ids=["the whole", "the front alone"])
def test_no_request_is_lost_or_served_twice(make: Make, whole: bool) -> None:
    root, front, servers = assembled(make)
    root.start()
    stub = root.stub("serve", Serve)
    callers = Callers(stub.serve)
    stopped = root if whole else front
    with callers.calling():
        for cycle in range(CYCLES):
            callers.go_on()
            stopped.stop()
            exchange(front, servers, cycle)
            stopped.start()
    assert sorted(number for _, number in callers.answers) == sorted(callers.sent)
    served = [(one.name, number) for one in servers for number in one.content.served]
    assert sorted(served) == sorted(callers.answers)
    end(root)


@pytest.mark.parametrize("make", [primitive, active])
def test_no_request_that_nobody_waits_for_is_lost(make: Make) -> None:
    root, front, servers = assembled(make)
    root.start()
    stub = root.stub("serve", Serve)

    def send(number: int) -> Future[Any]:
        sent = submit(stub.serve, number)
        if number % 20 == 0:  # or the queue would grow without end on a busy machine
            sent.result(WAIT)
        return sent

    callers = Callers(send)
    with callers.calling():
        for cycle in range(CYCLES):
            callers.go_on()
            root.stop()
            exchange(front, servers, cycle)
            root.start()
    results = [future.result(WAIT) for future in callers.answers]
    assert sorted(number for _, number in results) == sorted(callers.sent)
    end(root)


def test_a_stopped_front_is_never_inside_a_call() -> None:
    """What runs while the front is stopped would be seen by the reconfiguration itself."""
    root, front, servers = assembled(primitive)
    inside: list[int] = []

    class Watching:
        def before(self, call: Invocation) -> None:
            inside.append(1)

        def after(self, call: Invocation, error: BaseException | None) -> None:
            inside.append(-1)

    front.controller(InterceptorController).add(Watching(), "serve")
    root.start()
    callers = Callers(root.stub("serve", Serve).serve)
    sums: list[int] = []
    with callers.calling():
        for cycle in range(CYCLES):
            callers.go_on()
            front.stop()
            sums.append(sum(inside))
            exchange(front, servers, cycle)
            front.start()
    assert sums == [0] * CYCLES
    assert sum(inside) == 0
    assert len(inside) == 2 * len(callers.sent)
    end(root)


def test_a_server_is_replaced_while_it_is_in_use() -> None:
    root, front, servers = assembled(primitive)
    root.start()
    callers = Callers(root.stub("serve", Serve).serve)
    content = root.controller(ContentController)
    made = [servers[0]]
    with callers.calling():
        for cycle in range(CYCLES):
            callers.go_on()
            root.stop()
            fresh = primitive(partial(Server, f"s{cycle}"), f"s{cycle}", type=SERVE)
            front.unbind("back")
            content.remove(made[-1])
            content.add(fresh)
            front.bind("back", fresh.server("serve"))
            made.append(fresh)
            root.start()
    served = [number for one in made for number in one.content.served]
    assert sorted(served) == sorted(callers.sent)
    assert set(root.children) == {front, made[-1], servers[1]}
    end(root)


class Give(Protocol):
    def give(self, number: int) -> int: ...


@provides("give", Give, cardinality=Cardinality.GATHERCAST)
class Gatherer:
    def __init__(self) -> None:
        self.rounds = 0

    def give(self, number: list[int]) -> list[int]:
        self.rounds += 1
        return [sum(number)] * len(number)


class Run(Protocol):
    def run(self, number: int, rounds: int) -> list[int]: ...


@provides("run", Run)
class Giver:
    give: Annotated[Give, requires()]

    def run(self, number: int, rounds: int) -> list[int]:
        return [self.give.give(number + turn) for turn in range(rounds)]


def test_a_gathercast_server_that_is_stopped_between_calls_loses_no_round() -> None:
    server = primitive(Gatherer)
    givers = [primitive(Giver, f"g{number}") for number in range(3)]
    for giver in givers:
        giver.bind("give", server.server("give"))
        giver.start()
    server.start()
    rounds = 500 if server.is_elsewhere else 2000
    answers: dict[int, list[int]] = {}

    def run(number: int) -> None:
        answers[number] = givers[number].stub("run", Run).run(number, rounds)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(CYCLES):
        server.stop()
        server.start()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive(), "a round was lost"
    expected = [3 + 3 * turn for turn in range(rounds)]
    assert answers == dict.fromkeys(range(3), expected)
    assert server.content.rounds == rounds
