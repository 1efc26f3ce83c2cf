"""What components expect of any controller, as tests for new ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import pytest

from gcm.components.controller import Controller
from gcm.components.declarations import provides
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.components.running import running
from gcm.factory import composite, primitive
from gcm.membranes.descriptions import ACTIVE, COMPOSITE, PRIMITIVE

CALL_SECONDS = 10.0


class Echoing(Protocol):
    """The interface that the component under test serves."""

    def echo(self, value: Any, *, twice: bool = False) -> Any:
        """Return the value, or a pair of it."""

    def fail(self, text: str) -> None:
        """Raise LookupError."""


@provides("echo", Echoing)
class EchoContent:
    """Serves `Echoing` and counts how often it was started."""

    def __init__(self) -> None:
        self.starts = 0

    def on_start(self) -> None:
        """Count the start."""
        self.starts += 1

    def echo(self, value: Any, *, twice: bool = False) -> Any:
        """Return the value, or a pair of it."""
        return (value, value) if twice else value

    def fail(self, text: str) -> None:
        """Raise LookupError."""
        raise LookupError(text)


class ControllerContract:
    """What holds for a component with the controller as for one without it.

    A subclass names the class. Where the controller is meant to do otherwise, such as one that
    refuses calls, the subclass overrides that test, or `prepare`, which is called before the start.

    >>> class TestQuota(ControllerContract):  # doctest: +SKIP
    ...     controller = Quota
    ...
    ...     def prepare(self, component):
    ...         component.controller(Quota).grant(100)
    """

    controller: ClassVar[type[Controller]]

    def prepare(self, component: Component) -> None:
        """Do what the controller needs before its component can start."""

    @pytest.fixture(params=[PRIMITIVE, ACTIVE], ids=lambda membrane: str(membrane.name))
    def component(self, request: pytest.FixtureRequest) -> Iterator[Component]:
        """Yield a running component with the controller: a passive one, and an active object."""
        membrane: MembraneDescription = request.param
        made = primitive(EchoContent, name="it", controllers=membrane.including(self.controller))
        self.prepare(made)
        with running(made):
            yield made

    def test_it_has_a_name_of_its_own(self) -> None:
        name = self.controller.name
        assert name, f"{self.controller.__name__} needs a class attribute `name`"
        assert name not in {one.name for one in ACTIVE.controllers if one is not self.controller}

    def test_its_operations_can_be_called_through_a_control_interface(
        self, component: Component
    ) -> None:
        stub = component.stub(f"{self.controller.name}-controller", self.controller)
        for operation in component.controller(self.controller).operations():
            assert callable(getattr(stub, operation))

    def test_arguments_and_results_pass_unchanged(self, component: Component) -> None:
        stub = component.stub("echo", Echoing)
        assert stub.echo((1, "two")) == (1, "two")
        assert stub.echo(3, twice=True) == (3, 3)

    def test_an_exception_of_the_content_reaches_the_caller_as_it_is(
        self, component: Component
    ) -> None:
        with pytest.raises(LookupError, match="nothing here"):
            component.stub("echo", Echoing).fail("nothing here")
        assert component.stub("echo", Echoing).echo("after it") == "after it"

    def test_callers_in_several_threads_get_their_own_results(self, component: Component) -> None:
        stub = component.stub("echo", Echoing)
        wrong: list[tuple[int, Any]] = []

        def call(number: int) -> None:
            for turn in range(20):
                if (got := stub.echo((number, turn))) != (number, turn):
                    wrong.append((number, got))

        threads = [threading.Thread(target=call, args=(number,), daemon=True) for number in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(CALL_SECONDS)
        assert not [thread for thread in threads if thread.is_alive()], "a call does not return"
        assert wrong == []

    def test_the_component_can_be_stopped_and_started_again(self, component: Component) -> None:
        component.stop()
        component.start()
        assert component.stub("echo", Echoing).echo(1) == 1
        assert component.content.starts == 2

    def test_it_can_be_added_to_a_component_that_exists(self) -> None:
        made = primitive(EchoContent, name="it")
        made.membrane.add(self.controller(made))
        self.prepare(made)
        with running(made):
            assert made.stub("echo", Echoing).echo(1) == 1

    def test_it_can_be_in_the_membrane_of_a_composite(self) -> None:
        made = composite(name="outer", controllers=COMPOSITE.including(self.controller))
        self.prepare(made)
        with running(made):
            assert made.controller(self.controller).component is made

    def test_two_components_do_not_share_it(self) -> None:
        membrane = PRIMITIVE.including(self.controller)
        first, second = (primitive(EchoContent, controllers=membrane) for _ in range(2))
        assert first.controller(self.controller) is not second.controller(self.controller)
