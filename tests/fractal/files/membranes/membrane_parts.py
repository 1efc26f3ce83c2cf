"""The classes of the samples about membranes."""

from __future__ import annotations

from typing import Annotated, Protocol

from gcm import Controller, Interceptor, Invocation, provides, requires


class Echo(Protocol):
    def say(self, text: str) -> str: ...


class Report(Protocol):
    def pages(self) -> list[str]: ...


@provides("echo", Echo)
class Speaker:
    def say(self, text: str) -> str:
        return text


@provides("ask", Echo)
class Asker:
    echo: Annotated[Echo, requires()]

    def say(self, text: str) -> str:
        return self.echo.say(text)


@provides("notes", Interceptor)
@provides("alarm", Interceptor)
@provides("report", Report)
class Log:
    """A non-functional component that can intercept through two interfaces."""

    def __init__(self) -> None:
        self._pages: list[str] = []

    def before(self, call: Invocation) -> None:
        self._pages.append(f"before {call.operation}")

    def after(self, call: Invocation, error: BaseException | None) -> None:
        self._pages.append(f"after {call.operation}")

    def pages(self) -> list[str]:
        return self._pages


@provides("service", Report)
class Relay:
    """A non-functional component that passes a report on, with its own name before it."""

    ref: Annotated[Report, requires(optional=True)]
    others: Annotated[Report, requires(optional=True)]

    def pages(self) -> list[str]:
        pages = [type(self).__name__]
        for further in filter(None, (self.ref, self.others)):
            pages += further.pages()
        return pages


class Leaf(Relay):
    """Another one, to be told from the first."""


class Counter(Controller):
    """A controller of one's own, which is an interceptor as well."""

    name = "counter"

    def __init__(self, component: object) -> None:
        super().__init__(component)  # type: ignore[arg-type]
        self.counted: list[str] = []

    def before(self, call: Invocation) -> None:
        self.counted.append(call.operation)

    def after(self, call: Invocation, error: BaseException | None) -> None:
        self.counted.append(f"/{call.operation}")

    def operations_seen(self) -> list[str]:
        return self.counted
