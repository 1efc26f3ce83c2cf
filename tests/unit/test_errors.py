"""Errors of the component model: one root, and messages that say what, where and what to do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Annotated, Protocol

import pytest

from gcm import (
    Composite,
    ContentController,
    composite,
    errors,
    primitive,
    provides,
    requires,
)
from gcm.errors import (
    AdlError,
    GcmError,
    IllegalBindingError,
    IllegalContentError,
    IllegalLifeCycleError,
    InstantiationError,
    MulticastError,
    NoSuchInterfaceError,
)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "it broke"),
        ({"component": "/a"}, "it broke [component /a]"),
        ({"interface": "b"}, "it broke [interface 'b']"),
        ({"state": "stopped"}, "it broke [state stopped]"),
        ({"cure": "Fix it"}, "it broke. Fix it"),
        (
            {"component": "/a", "interface": "b", "state": "stopped", "cure": "Fix it"},
            "it broke [component /a, interface 'b', state stopped]. Fix it",
        ),
    ],
)
def test_a_message_joins_what_is_known(parts: dict[str, str], message: str) -> None:
    error = GcmError("it broke", **parts)
    assert str(error) == message
    known = {"component": "", "interface": "", "state": "", "cure": ""} | parts
    assert {name: getattr(error, name) for name in known} == known
    assert (error.what, error.args) == ("it broke", ("it broke",))


def test_every_error_has_the_one_root() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    raised = [kind for kind in kinds if issubclass(kind, BaseException)]
    assert len(raised) > 10
    assert [kind for kind in raised if not issubclass(kind, GcmError)] == []


def test_a_failed_multicast_pairs_servers_with_what_they_gave() -> None:
    reason = ValueError("no")
    error = MulticastError(
        "1 of 2 failed",
        failures=[("/a", reason)],
        results=[("/b", 5)],
        component="/c",
        interface="all",
        cure="Try again",
    )
    assert (error.failures, error.results) == ((("/a", reason),), (("/b", 5),))
    assert str(error) == "1 of 2 failed [component /c, interface 'all']. Try again"
    plain = MulticastError("1 failed", failures=(), results=())
    assert str(plain) == "1 failed"


def test_an_adl_error_shows_each_finding_on_its_own_line() -> None:
    error = AdlError("2 faults", ["first", "second"], cure="Fix them")
    assert str(error) == "2 faults. Fix them\n  first\n  second"
    assert error.diagnostics == ("first", "second")
    assert error.args == ("2 faults",)
    assert str(AdlError("a fault")) == "a fault"


@pytest.mark.parametrize("carry", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_keeps_all_its_parts_across_processes(
    carry: Callable[[GcmError], GcmError],
) -> None:
    error = MulticastError("x", failures=[], results=[("/b", 5)], component="/c", cure="Fix it")
    error.add_note("seen elsewhere")
    carried = carry(error)
    assert type(carried) is MulticastError
    assert carried.args == ("x",)
    assert vars(carried) == vars(error)
    assert carried.__notes__ == ["seen elsewhere"]


class Echo(Protocol):
    def echo(self, value: int) -> int: ...


@provides("echo", Echo)
class Server:
    def echo(self, value: int) -> int:
        return value


@provides("echo", Echo)
class Client:
    next: Annotated[Echo, requires()]

    def echo(self, value: int) -> int:
        return self.next.echo(value)


class Unmakeable(Server):
    def __init__(self) -> None:
        raise OSError("no disk")


@pytest.fixture
def whole() -> Composite:
    made = composite("whole")
    for part in (primitive(Client, "client"), primitive(Server, "server")):
        made.controller(ContentController).add(part)
    return made


def bound(whole: Composite, server: str) -> None:
    whole.find("client").bind("next", whole.find("server").server(server))


def bound_to_what_is_not_there(whole: Composite) -> None:
    bound(whole, "ecko")


def bound_twice(whole: Composite) -> None:
    bound(whole, "echo")
    bound(whole, "echo")


def started_without_its_server(whole: Composite) -> None:
    whole.start()


def called_before_it_was_started(whole: Composite) -> None:
    whole.find("server").stub("echo", Echo).echo(1)


def added_to_itself(whole: Composite) -> None:
    whole.controller(ContentController).add(whole)


def made_of_what_cannot_be_made(_whole: Composite) -> None:
    primitive(Unmakeable, "broken")


@pytest.mark.parametrize(
    ("act", "kind", "message"),
    [
        (
            bound_to_what_is_not_there,
            NoSuchInterfaceError,
            "there is no interface 'ecko' [component /whole/server]. did you mean 'echo'?",
        ),
        (
            bound_twice,
            IllegalBindingError,
            "cannot be bound to /whole/server.echo: it is bound to it already "
            "[component /whole/client, interface 'next', state stopped]. "
            "Leave this out: the binding is there",
        ),
        (
            started_without_its_server,
            IllegalLifeCycleError,
            "cannot start, 1 reason(s): /whole/client: mandatory interface 'next' is not bound "
            "[component /whole, state stopped]. Nothing was started; fix this and start again",
        ),
        (
            called_before_it_was_started,
            IllegalLifeCycleError,
            "'echo' was called before the component was started "
            "[component /whole/server, interface 'echo', state stopped]. "
            "Start it first: component.start()",
        ),
        (
            added_to_itself,
            IllegalContentError,
            "a composite cannot contain itself [component /whole, state stopped]. "
            "Add another component, or give it another name",
        ),
        (
            made_of_what_cannot_be_made,
            InstantiationError,
            "the content Unmakeable could not be made: OSError: no disk [component broken]. "
            "Its own exception is the cause, above",
        ),
    ],
)
def test_a_refusal_names_the_component_the_interface_the_state_and_a_cure(
    whole: Composite, act: Callable[[Composite], None], kind: type[GcmError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        act(whole)
    assert str(caught.value) == message
