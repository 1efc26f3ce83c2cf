"""A hierarchy: clustering components gather what wrapped processes send, level by level.

    python examples/14_hierarchy/census.py

A wrapper is a component around something that runs elsewhere, here a thread that counts. Its
`Wrapped` object forwards the calls and follows the wrapper's life cycle. Two clustering components
above gather the numbers of their members, and each sends one sum upwards.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from gcm import (
    ClusteringContent,
    ComponentType,
    Contingency,
    Future,
    InterfaceType,
    Invocation,
    Role,
    Wrapped,
    Wrapper,
    clustering_type,
    primitive,
    wrapper,
)


class Start(Protocol):
    def start(self) -> int: ...


class Count(Protocol):
    """The interface that members call: their numbers are gathered."""

    def add(self, number: int) -> int: ...


class Counts(Protocol):
    """The interface of the next level, which returns one answer of each."""

    def add(self, number: int) -> list[int]: ...


class Level(ClusteringContent):
    def add(self, number: list[int]) -> list[int]:
        answer = sum(number)
        if self.up is not None:
            (answer,) = self.up.add(answer)
        return [answer] * len(number)


class Process:
    """The wrapped object: it counts in its own thread and asks the level above."""

    def __init__(self, people: int) -> None:
        self.people = people
        self.thread = ThreadPoolExecutor(1)
        self.around: Wrapper | None = None

    def call(self, invocation: Invocation) -> Future[Any]:
        assert self.around is not None
        up: Any = self.around.client("up").reference
        answer: Future[Any] = Future()
        self.thread.submit(lambda: answer.set_result(up.add(self.people)))
        return answer

    def on_start(self) -> None: ...

    def on_stop(self) -> None: ...

    def on_terminate(self) -> None:
        self.thread.shutdown()


MEMBER = ComponentType(
    (
        InterfaceType("start", Start),
        InterfaceType("up", Count, Role.CLIENT, Contingency.OPTIONAL),
    )
)


def member(name: str, people: int) -> Wrapper:
    process = Process(people)
    wrapped: Wrapped = process
    process.around = wrapper(name, MEMBER, wrapped)
    return process.around


def main() -> None:
    top, *towns = [
        primitive(Level, name, type=clustering_type(Count, Counts, Counts))
        for name in ("land", "town0", "town1")
    ]
    members = [member(f"street{number}", 100 * (number + 1)) for number in range(4)]
    for town, some in zip(towns, (members[:2], members[2:]), strict=True):
        town.bind("up", top.server("srv"))
        for one in some:
            one.bind("up", town.server("srv"))
    for component in (top, *towns, *members):
        component.start()
    with ThreadPoolExecutor(len(members)) as pool:
        for people in pool.map(lambda one: one.stub("start", Start).start(), members):
            print(people, "people live in all streets")
    for component in (*members, *towns, top):
        component.stop()
        component.terminate()


if __name__ == "__main__":
    main()
