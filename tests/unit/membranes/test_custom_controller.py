"""A controller of one's own, in under twenty lines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from gcm import (
    PRIMITIVE,
    Component,
    Controller,
    LifeCycleController,
    MembraneDescription,
    primitive,
)
from gcm.errors import IllegalLifeCycleError, IllegalTypeError
from gcm.interfaces.interface import Interface
from tests.unit.parts import Echo, Speaker

Port = Callable[..., Any]


class CallCounter(Controller):
    name = "counter"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self.calls = 0

    def count(self) -> int:
        return self.calls

    def wrap(self, interface: Interface, operation: str, proceed: Port) -> Port:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return proceed(*args, **kwargs)

        return counted


COUNTED = PRIMITIVE.including(CallCounter, name="counted")


def test_a_controller_of_ones_own_takes_under_twenty_lines() -> None:
    assert len(inspect.getsource(CallCounter).splitlines()) < 20


def test_it_acts_on_calls_and_is_an_interface_like_the_others() -> None:
    component = primitive(Speaker, controllers=COUNTED)
    component.start()
    assert component.stub("echo", Echo).say("a") == "a"
    component.stub("echo", Echo).say("b")
    assert component.controller(CallCounter).count() == 2
    counter: Any = component.server("counter-controller").stub
    assert counter.count() == 2
    assert component.membrane["counter"] is component.controller(CallCounter)


def test_it_can_join_a_component_that_runs_and_leave_it() -> None:
    component = primitive(Speaker)
    component.start()
    stub = component.stub("echo", Echo)
    counter = CallCounter(component)
    component.membrane.add(counter)
    stub.say("a")
    component.membrane.remove("counter")
    stub.say("b")
    assert counter.count() == 1
    assert "counter" not in component.membrane


def test_a_description_is_extended_by_name() -> None:
    class Other(CallCounter):
        pass

    assert COUNTED.name == "counted"
    assert COUNTED.controllers == (*PRIMITIVE.controllers, CallCounter)
    again = COUNTED.including(Other)
    assert (again.name, again.controllers) == ("counted", (*PRIMITIVE.controllers, Other))


def test_controllers_wrap_in_the_order_of_the_description() -> None:
    record: list[str] = []

    def named(label: str) -> type[Controller]:
        class Noting(Controller):
            name = label

            def wrap(self, interface: Interface, operation: str, proceed: Port) -> Port:
                def noted(*args: Any, **kwargs: Any) -> Any:
                    record.append(label)
                    return proceed(*args, **kwargs)

                return noted

        return Noting

    component = primitive(Speaker, controllers=PRIMITIVE.including(named("outer"), named("inner")))
    component.start()
    component.stub("echo", Echo).say("x")
    assert record == ["outer", "inner"]


def test_every_hook_comes_when_it_should() -> None:
    record: list[str] = []

    class All(Controller):
        name = "all"

        def attached(self) -> None:
            record.append(f"attached {[one.name for one in self.component.servers]}")

        def faults_before_start(self) -> list[str]:
            record.append("faults")
            return ["it rains"] if len(record) < 3 else []

        def started(self) -> None:
            record.append("started")

        def stopped(self) -> None:
            record.append("stopped")

        def terminated(self) -> None:
            record.append("terminated")

    component = primitive(Speaker, controllers=PRIMITIVE.including(All))
    with pytest.raises(IllegalLifeCycleError) as caught:
        component.start()
    assert caught.value.what == "cannot start, 1 reason(s): /speaker: it rains"
    component.start()
    component.stop()
    component.terminate()
    assert record == [
        "attached ['echo']",
        "faults",
        "faults",
        "started",
        "stopped",
        "terminated",
    ]


def test_a_controller_without_hooks_is_made_when_it_is_first_asked_for() -> None:
    made: list[Component] = []

    class Lazy(Controller):
        name = "lazy"

        def __init__(self, component: Component) -> None:
            super().__init__(component)
            made.append(component)

    component = primitive(Speaker, controllers=PRIMITIVE.including(Lazy))
    component.start()
    assert made == []
    assert component.controller(Lazy) is component.membrane["lazy"]
    assert made == [component]


def test_a_controller_notes_only_the_hooks_it_overrides() -> None:
    assert CallCounter.hooks == {"wrap"}
    assert Controller.hooks == frozenset()


def test_the_plain_hooks_do_nothing() -> None:
    component = primitive(Speaker)
    plain = Controller(component)
    for hook in (plain.attached, plain.started, plain.stopped, plain.terminated):
        hook()
    assert list(plain.faults_before_start()) == []
    assert plain.wrap(component.server("echo"), "say", len) is len
    assert plain.operations() == []


def test_an_exchanged_controller_takes_over() -> None:
    component = primitive(Speaker, controllers=COUNTED)
    component.start()
    old, new = component.controller(CallCounter), CallCounter(component)
    interface = component.interface("counter-controller")
    component.membrane.add(new)
    component.stub("echo", Echo).say("x")
    assert (old.count(), new.count()) == (0, 1)
    assert component.interface("counter-controller") is not interface


def test_a_controller_in_the_place_of_the_life_cycle_is_one() -> None:
    class Idle(Controller):
        name = "lifecycle"

    class Slow(LifeCycleController):
        pass

    with pytest.raises(IllegalTypeError) as caught:
        PRIMITIVE.including(Idle)
    assert caught.value.what.endswith(
        "Idle is named 'lifecycle' and is not a LifeCycleController, so the component could not be "
        "started"
    )
    assert caught.value.cure == (
        "Give its class another name, or make it a subclass of LifeCycleController"
    )
    component = primitive(Speaker, controllers=PRIMITIVE.including(Slow))
    component.start()
    assert type(component.membrane.lifecycle) is Slow
    assert component.stub("echo", Echo).say("x") == "x"


def test_a_membrane_description_needs_a_life_cycle() -> None:
    from gcm.errors import NoSuchControllerError

    with pytest.raises(NoSuchControllerError, match="has no controller 'lifecycle'"):
        primitive(Speaker, controllers=MembraneDescription("bare", (CallCounter,)))
