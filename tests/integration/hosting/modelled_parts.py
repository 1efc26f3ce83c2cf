"""What the components consist of that the features of the model are tried with on nodes."""

from __future__ import annotations

import os
from typing import Annotated, Any, ClassVar, Protocol

from gcm import attribute, provides, requires
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
