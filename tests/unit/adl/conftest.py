"""A library of content classes, and documents checked against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any, Protocol

import pytest

from gcm.adl.classes import ClassFault
from gcm.adl.loading import plan_document
from gcm.adl.plan import AssemblyPlan
from gcm.components.controller import Controller
from gcm.components.declarations import attribute, provides, requires
from gcm.components.membrane import MembraneDescription
from gcm.documents import Diagnostic, Diagnostics
from gcm.invocation import Invocation
from gcm.membranes.interceptor import Interceptor


class Greeter(Protocol):
    def greet(self, name: str) -> str: ...


class AllGreeters(Protocol):
    def greet(self, name: str) -> list[str]: ...


class ListGreeter(Protocol):
    def greet(self, name: list[str]) -> list[str]: ...


class LoudGreeter(Greeter, Protocol):
    def shout(self, name: str) -> str: ...


class Clock(Protocol):
    def now(self) -> float: ...


class Runnable(Protocol):
    def run(self) -> None: ...


class Stopping(Protocol):
    def stop(self) -> None: ...


@provides("greeter", Greeter)
class Server:
    prefix: Annotated[str, attribute()] = ""
    count: Annotated[int, attribute()] = 1
    sizes: Annotated[list[int], attribute()]

    def greet(self, name: str) -> str:
        return name


@provides("run", Runnable)
class Client:
    greeter: Annotated[Greeter, requires()]

    def run(self) -> None: ...


class Loud:
    def greet(self, name: str) -> str:
        return name

    def shout(self, name: str) -> str:
        return name


class Choir:
    def greet(self, name: list[str]) -> list[str]:
        return name


class Wrong:
    def greet(self, name: int) -> str:
        return str(name)


class Settings:
    count: float
    speed: float
    label: str


class Watch:
    pass


class Misspelt:
    greeter: Annotated[Clok, requires()]  # type: ignore[name-defined]  # noqa: F821

    def run(self) -> None: ...


class Dividing:
    greeter: Annotated[1 / 0, requires()]  # type: ignore[valid-type]

    def run(self) -> None: ...


class Count(Controller):
    name = "count"


NOT_A_CLASS = 5
COUNTED = MembraneDescription("counted", ())


@provides("hook", Interceptor)
@provides("greeter", Greeter)
class Sentry:
    def greet(self, name: str) -> str:
        return name

    def before(self, call: Invocation) -> None: ...

    def after(self, call: Invocation, error: BaseException | None) -> None: ...


LIBRARY: Mapping[str, Any] = {
    f"lib.{one.__name__}": one
    for one in (
        Greeter,
        AllGreeters,
        ListGreeter,
        Choir,
        LoudGreeter,
        Clock,
        Runnable,
        Stopping,
        Server,
        Client,
        Loud,
        Wrong,
        Settings,
        Watch,
        Misspelt,
        Dividing,
        Sentry,
    )
} | {"lib.five": NOT_A_CLASS, "lib.COUNTED": COUNTED, "lib.Count": Count}


def load_from_library(dotted: str) -> object:
    try:
        return LIBRARY[dotted]
    except KeyError:
        raise ClassFault("missing-class", f"no '{dotted}'", "add it", "its traceback") from None


class Checked:
    """The outcome of one check."""

    def __init__(self, plan: AssemblyPlan | None, found: tuple[Diagnostic, ...]) -> None:
        self.plan = plan
        self.found = found

    @property
    def codes(self) -> list[str]:
        return [f"{one.location.line} {one.code}" for one in self.found]

    @property
    def only(self) -> Diagnostic:
        assert len(self.found) == 1, [str(one) for one in self.found]
        return self.found[0]

    @property
    def root(self) -> Any:
        assert self.plan is not None, [str(one) for one in self.found]
        return self.plan.root


Check = Callable[..., Checked]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Check the definition `app`, with the other definitions given by keyword beside it."""

    def run(text: str, arguments: Mapping[str, str] | None = None, **others: str) -> Checked:
        for name, written in {"app": text, **others}.items():
            (tmp_path / f"{name}.fractal").write_text(dedent(written).strip())
        found = Diagnostics()
        plan = plan_document(
            tmp_path / "app.fractal",
            arguments=arguments or {},
            diagnostics=found,
            load_class=load_from_library,
        )
        return Checked(plan, found.by_location())

    return run
