"""What `gcm run` calls, what its result means, and why there may be nothing to call."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import pytest

from gcm import Cardinality, provides
from gcm.adl import Assembly
from gcm.adl.plan import ComponentPlan
from gcm.adl.runnable import Result, has_run, result_of, run_operation
from gcm.components.declarations import requires
from gcm.documents import Diagnostic, Diagnostics


@pytest.mark.parametrize(
    ("returned", "result"),
    [
        (None, Result(0, None, "")),
        (0, Result(0, None, "")),
        (3, Result(3, None, "")),
        (255, Result(255, None, "")),
        (256, Result(1, None, "`run` returned 256, which is not an exit code (0 to 255)")),
        (-1, Result(1, None, "`run` returned -1, which is not an exit code (0 to 255)")),
        (True, Result(0, "True", "")),
        ("done", Result(0, "done", "")),
        (2.5, Result(0, "2.5", "")),
    ],
)
def test_an_int_is_the_exit_code_and_anything_but_none_is_printed(
    returned: object, result: Result
) -> None:
    assert result_of(returned) == result


class One(Protocol):
    def go(self, times: int = 1, *more: int, **named: int) -> None: ...


class Needy(Protocol):
    def go(self, times: int, name: str) -> None: ...


class Two(Protocol):
    def first(self) -> None: ...
    def second(self) -> None: ...


class Other(Protocol):
    def other(self) -> None: ...


class Works:
    def go(self, times: int = 1, *more: int, **named: int) -> None: ...
    def first(self) -> None: ...
    def second(self) -> None: ...
    def other(self) -> None: ...


class Plain(Protocol):
    def go(self) -> None: ...


class Gatherer:
    def go(self) -> None: ...


def planned(content: Any) -> ComponentPlan:
    assembly = Assembly("app")
    assembly.primitive("part", content)
    (part,) = assembly.plan().root.components
    return part


def asked(content: Any) -> tuple[str, list[Diagnostic]]:
    diagnostics = Diagnostics()
    return run_operation(planned(content), diagnostics), list(diagnostics)


def test_the_one_operation_of_the_server_interface_run_is_called() -> None:
    content = provides("run", One)(type("Content", (Works,), {}))
    assert asked(content) == ("go", [])
    assert has_run(planned(content))


@pytest.mark.parametrize(
    ("signature", "fault"),
    [
        (Needy, "(Needy) has the operation 'go' with the parameters times, name"),
        (Two, "(Two) has 2 operations ('first', 'second'), not one"),
    ],
)
def test_an_interface_that_cannot_be_called_is_told(signature: type[Any], fault: str) -> None:
    class Content(Works):
        def go(self, times: int = 1, *more: object, **named: object) -> None: ...

    operation, (told,) = asked(provides("run", signature)(Content))
    assert operation == ""
    assert (told.code, told.path) == ("not-runnable", "/app/part")
    assert told.message == f"the interface 'run' {fault}"
    assert told.hint == (
        "`gcm run` calls the one operation of that interface, without arguments; "
        "pass values with --set to arguments of the definition"
    )


def test_without_the_interface_the_others_are_listed() -> None:
    content = provides("other", Other)(type("Content", (Works,), {}))
    assert not has_run(planned(content))
    operation, (told,) = asked(content)
    assert operation == ""
    assert (told.code, told.path) == ("no-run-interface", "/app/part")
    assert told.message == "the definition has no server interface 'run' to be called"
    assert told.hint == "add one and bind it inside; its server interfaces: other"


def test_a_client_interface_named_run_is_not_called() -> None:
    @provides("other", Other)
    class Content(Works):
        run: Annotated[One, requires(optional=True)]

    assert not has_run(planned(Content))
    assert [told.code for told in asked(Content)[1]] == ["no-run-interface"]


def test_a_gathercast_interface_waits_for_clients_and_cannot_be_called() -> None:
    content = provides("run", Plain, cardinality=Cardinality.GATHERCAST)(Gatherer)
    operation, (told,) = asked(content)
    assert operation == ""
    assert told.message == "the interface 'run' (Plain) is gathercast and waits for bound clients"
