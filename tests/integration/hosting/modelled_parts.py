"""What the components consist of that the features of the model are tried with on nodes."""

from __future__ import annotations

import os
import threading
import time
from typing import Annotated, Any, ClassVar, Protocol

from gcm import Cardinality, attribute, provides, redistribute, requires, submit
from gcm.components.controller import Controller
from gcm.invocation import Invocation


class Work(Protocol):
    def work(self, number: int) -> tuple[int, int]: ...


class Noted(Protocol):
    def noted(self) -> list[str]: ...


@provides("work", Work)
class Worker:
    factor: Annotated[int, attribute()] = 2

    def work(self, number: int) -> tuple[int, int]:
        return os.getpid(), self.factor * number


@provides("work", Work)
class Passer:
    """Passes its calls on."""

    next: Annotated[Work, requires()]

    def work(self, number: int) -> tuple[int, int]:
        return self.next.work(number)


class Ways(Protocol):
    def go(self, way: str) -> str: ...


@provides("ways", Ways)
class Walker:
    """Goes on as its argument says: a call (c), one awaited later (s) or not at all (f), or none.

    It keeps what became of those that nobody waits for.
    """

    next: Annotated[Ways, requires()]
    forgotten: ClassVar[list[Any]] = []

    def go(self, way: str) -> str:
        if not way:
            return "there"
        kind, rest = way[0], way[1:]
        if kind == "w":  # so that others come as far
            time.sleep(0.3)
            return self.go(rest)
        if kind == "s":
            return submit(self.next.go, rest).result()
        if kind == "f":
            self.forgotten.append(submit(self.next.go, rest))
            time.sleep(2.5)  # longer than a wait lasts before it asks
            return "went on"
        if kind == "?":
            return repr(self.forgotten.pop().exception(20.0))
        return self.next.go(rest)


@provides("all", Ways, cardinality=Cardinality.GATHERCAST)
class Meeting:
    """Calls `next` once for all that have called."""

    next: Annotated[Ways, requires()]

    def go(self, way: list[str]) -> list[str]:
        return [self.next.go("")] * len(way)


class WaysOfAll(Protocol):
    def go(self, way: list[str]) -> list[str]: ...


@provides("ways", WaysOfAll)
class Guide(Meeting):
    """The same, for a composite that gathers."""


class Log:
    """An interceptor that is an object; what it saw is kept where it is."""

    seen: ClassVar[list[str]] = []

    def before(self, call: Invocation) -> None:
        self.seen.append(f"before {call.operation}{call.args} in {os.getpid()}")

    def after(self, call: Invocation, error: BaseException | None) -> None:
        self.seen.append(f"after {call.operation}")


@provides("work", Work)
class Watched(Worker):
    """Tells in its result what the interceptors of its own process saw."""

    def work(self, number: int) -> Any:
        return os.getpid(), [*Log.seen]


class Interceptor(Protocol):
    def before(self, call: Invocation) -> None: ...
    def after(self, call: Invocation, error: BaseException | None) -> None: ...


@provides("watch", Interceptor)
class Watch:
    """A non-functional component that intercepts."""

    def before(self, call: Invocation) -> None:
        Log.seen.append(f"watched {call.operation} in {os.getpid()}")

    def after(self, call: Invocation, error: BaseException | None) -> None:
        pass


class Tally(Controller):
    """A controller of one's own: it counts the calls that come in."""

    name = "tally"

    def __init__(self, component: Any) -> None:
        super().__init__(component)
        self.calls = 0

    def wrap(self, interface: Any, operation: str, proceed: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls += not interface.type.is_client
            return proceed(*args, **kwargs)

        return counted

    def counted(self) -> tuple[int, int]:
        """Return the process and the number."""
        return os.getpid(), self.calls


class Surface(Protocol):
    def put(self, heat: Annotated[Any, redistribute], step: int) -> Any: ...


class Model(Protocol):
    def advance(self, step: int) -> list[float]: ...


class Models(Protocol):
    def advance(self, step: int) -> list[list[float]]: ...


@provides("model", Model)
class Giver:
    """A member of a parallel component: holds some rows of a spread array."""

    air: Annotated[Surface, requires()]
    first: Annotated[int, attribute()] = 0
    size: Annotated[int, attribute()] = 1

    def advance(self, step: int) -> list[float]:
        import numpy as np

        heat = np.repeat(np.arange(self.first, self.first + self.size, dtype=float), 4096)
        wind = self.air.put(heat.reshape(self.size, 4096), step)
        return [float(row.min() + row.max()) for row in wind]


@provides("surface", Surface)
class Taker:
    """A member of the other parallel component."""

    def put(self, heat: Any, step: int) -> Any:
        assert type(heat).__name__ == "ndarray"
        assert (heat == heat[:, :1]).all()
        return heat * 10 + step


@provides("work", Work)
class Counter:
    """Counts its calls, and tells where it and the next one live."""

    next: Annotated[Work, requires()]

    def __init__(self) -> None:
        self.calls = 0

    def work(self, number: int) -> Any:
        self.calls += 1
        return self.calls, os.getpid(), self.next.work(number)[0]


@provides("work", Work)
class Locked(Worker):
    """Has something that cannot leave its process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Sums(Protocol):
    def add(self, value: list[int]) -> list[list[int]]: ...


@provides("sum", Sums)
class ListAdder:
    """Is called with what a composite has gathered."""

    def add(self, value: list[int]) -> list[list[int]]:
        return [value for _ in value]
