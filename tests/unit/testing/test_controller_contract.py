"""The contract of controllers, asked of some of ours, and of some with a fault."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gcm import Component, Controller, MembraneDescription, primitive, running
from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.migration import MigrationController
from gcm.membranes.monitor import MonitorController
from gcm.testing.controller_contract import ControllerContract, EchoContent

CACHING = Path(__file__).parents[3] / "examples/06_custom_controller/caching.py"


class Counter(Controller):
    name: ClassVar[str] = "counter"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self.calls = 0

    def wrap(self, interface: Any, operation: str, proceed: Callable[..., Any]) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return proceed(*args, **kwargs)

        return counted

    def count(self) -> int:
        return self.calls


class TestCounter(ControllerContract):
    controller = Counter


class TestCacheOfTheExample(ControllerContract):
    spec = importlib.util.spec_from_file_location("caching", CACHING)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    controller = module.Cache


class Nameless(Counter):
    name = ""


class Namesake(Counter):
    name = MonitorController.name


class Deaf(Counter):
    def wrap(self, interface: Any, operation: str, proceed: Callable[..., Any]) -> Any:
        def plain(*args: Any) -> Any:
            return proceed(*args)

        return plain


class Swallowing(Counter):
    def wrap(self, interface: Any, operation: str, proceed: Callable[..., Any]) -> Any:
        def quiet(*args: Any, **kwargs: Any) -> Any:
            try:
                return proceed(*args, **kwargs)
            except LookupError:
                return None

        return quiet


class Once(Counter):
    def stopped(self) -> None:
        self.calls = -1

    def faults_before_start(self) -> list[str]:
        return ["it was stopped"] if self.calls < 0 else []


def holding(controller: type[Controller]) -> ControllerContract:
    contract = ControllerContract()
    contract.controller = controller  # type: ignore[misc]
    return contract


def running_with(controller: type[Controller]) -> Component:
    membrane: MembraneDescription = PRIMITIVE.including(controller)
    return primitive(EchoContent, name="it", controllers=membrane)


@pytest.mark.parametrize("controller", [Nameless, Namesake])
def test_a_name_that_is_missing_or_taken_is_noticed(controller: type[Controller]) -> None:
    with pytest.raises(AssertionError):
        holding(controller).test_it_has_a_name_of_its_own()


def test_lost_keyword_arguments_are_noticed() -> None:
    with running(running_with(Deaf)) as component, pytest.raises(TypeError):
        holding(Deaf).test_arguments_and_results_pass_unchanged(component)


def test_a_swallowed_exception_is_noticed() -> None:
    with running(running_with(Swallowing)) as component, pytest.raises(pytest.fail.Exception):
        holding(Swallowing).test_an_exception_of_the_content_reaches_the_caller_as_it_is(component)


def test_a_component_that_cannot_start_again_is_noticed() -> None:
    component = running_with(Once)
    component.start()
    with pytest.raises(Exception, match="it was stopped"):
        holding(Once).test_the_component_can_be_stopped_and_started_again(component)
    component.terminate()


def test_the_ready_made_controllers_are_known_by_their_names() -> None:
    """A ready-made one is not a second one of its name."""
    for controller in (MonitorController, MigrationController):
        holding(controller).test_it_has_a_name_of_its_own()
