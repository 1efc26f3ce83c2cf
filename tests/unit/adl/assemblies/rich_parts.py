"""The classes of Rich.fractal, an assembly with a bit of everything."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Protocol

from gcm import (
    PRIMITIVE,
    Cardinality,
    Interceptor,
    Invocation,
    MembraneDescription,
    attribute,
    provides,
    requires,
)
from gcm.membranes.lifecycle import LifeCycleController

COUNTED = MembraneDescription("counted", PRIMITIVE.controllers)


class Colour(Enum):
    RED = "r"
    BLUE = "b"


class Runnable(Protocol):
    def run(self) -> int: ...


class Work(Protocol):
    def work(self, n: int) -> int: ...


class Spread(Protocol):
    def work(self, n: int) -> list[int]: ...


class Adding(Protocol):
    def add(self, n: int) -> int: ...


class Store(Protocol):
    def put(self, key: str) -> None: ...


@provides("work", Work)
class Worker:
    sum: Annotated[Adding, requires()]
    store: Annotated[Store, requires(optional=True)]
    size: Annotated[int, attribute()] = 5
    name: Annotated[str, attribute()] = ""
    ratios: Annotated[list[float], attribute()] = []  # noqa: RUF012 - never changed in place
    colour: Annotated[Colour, attribute()] = Colour.RED

    def work(self, n: int) -> int:
        return self.sum.add(n * self.size)


class CallLog:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def before(self, call: Invocation) -> None:
        self.calls.append(str(call))

    def after(self, call: Invocation, error: BaseException | None) -> None:
        self.calls.append(f"{call} {error}")


@provides("watching", Interceptor)
@provides("stats", Work)
class Watch(CallLog):
    target: Annotated[LifeCycleController, requires()]

    def work(self, n: int) -> int:
        return n if self.target.is_started() else -n


@provides("add", Adding, cardinality=Cardinality.GATHERCAST)
class Adder:
    store: Annotated[Store, requires()]

    def add(self, n: list[int]) -> list[int]:
        self.store.put(f"{n}")
        return [sum(n) for _ in n]


@provides("store", Store)
class Cache:
    def __init__(self) -> None:
        self.keys: list[str] = []

    def put(self, key: str) -> None:
        self.keys.append(key)


@provides("run", Runnable)
class Main:
    workers: Annotated[Spread, requires(cardinality=Cardinality.MULTICAST)]
    spare: Annotated[Mapping[str, Work], requires(cardinality=Cardinality.COLLECTION)]

    def run(self) -> int:
        return sum(self.workers.work(1)) + len(self.spare)
