"""Interfaces and contents that the tests of several processes share."""

from __future__ import annotations

import os
import threading
from typing import Annotated, Any, Protocol

from gcm import Cardinality, attribute, provides, requires


class Teller(Protocol):
    def tell(self, line: str) -> str: ...


class Work(Protocol):
    def pid(self) -> int: ...
    def double(self, values: Any) -> Any: ...
    def total(self, values: Any) -> tuple[float, int]: ...
    def fail(self) -> None: ...
    def die(self) -> None: ...
    def report_to(self, teller: Teller, line: str) -> str: ...
    def give_back(self, teller: Teller) -> Teller: ...
    def hold(self) -> str: ...
    def let_go(self) -> None: ...
    def settings(self) -> tuple[str, int]: ...


class Sum(Protocol):
    def add(self, value: int) -> list[int]: ...


class Run(Protocol):
    def run(self, value: int) -> Any: ...


class Numbers(Protocol):
    def next(self) -> int: ...


def peak_bytes() -> int:
    """Return the most memory this process ever had."""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@provides("work", Work)
class Worker:
    label: Annotated[str, attribute()] = "nobody"
    size: Annotated[int, attribute()] = 0

    def __init__(self) -> None:
        self.free = threading.Event()

    def pid(self) -> int:
        return os.getpid()

    def double(self, values: Any) -> Any:
        return values * 2

    def total(self, values: Any) -> tuple[float, int]:
        return float(values.sum()), peak_bytes()

    def fail(self) -> None:
        raise LookupError("deep inside the worker")

    def die(self) -> None:
        os.kill(os.getpid(), 9)

    def report_to(self, teller: Teller, line: str) -> str:
        return teller.tell(f"{line} from {os.getpid()}")

    def give_back(self, teller: Teller) -> Teller:
        return teller

    def hold(self) -> str:
        assert self.free.wait(20)
        return "let go"

    def let_go(self) -> None:
        self.free.set()

    def settings(self) -> tuple[str, int]:
        return self.label, self.size


@provides("numbers", Numbers)
class Counter:
    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        self.last += 1
        return self.last


class Team(Protocol):
    def pid(self) -> list[int]: ...
    def hold(self) -> list[str]: ...
    def fail(self) -> list[None]: ...


@provides("sum", Sum, cardinality=Cardinality.GATHERCAST)
class Adder:
    def add(self, value: list[int]) -> list[list[int]]:
        return [value for _ in value]


@provides("run", Run)
class Client:
    sum: Annotated[Sum, requires()]

    def run(self, value: int) -> Any:
        return self.sum.add(value), os.getpid()


@provides("run", Run)
class Chief:
    work: Annotated[Work, requires()]

    def run(self, value: int) -> Any:
        return self.work.double(value), self.work.pid(), os.getpid()


@provides("run", Run)
class Eager:
    work: Annotated[Work, requires()]

    def __init__(self) -> None:
        self.found = 0

    def on_start(self) -> None:
        self.found = self.work.double(21)

    def run(self, value: int) -> Any:
        return self.found + value


@provides("run", Run)
class Stubborn:
    work: Annotated[Work, requires()]

    def on_start(self) -> None:
        raise LookupError("I will not start")

    def run(self, value: int) -> Any:
        return value
