"""Non-functional components inside a membrane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Component,
    ComponentType,
    InterfaceType,
    Role,
    active,
    composite,
    primitive,
    provides,
    requires,
)
from gcm.errors import (
    IllegalBindingError,
    IllegalContentError,
    IllegalLifeCycleError,
    NoSuchComponentError,
    NoSuchInterfaceError,
)
from gcm.membranes.content import ContentController
from gcm.membranes.lifecycle import LifeCycleController
from gcm.membranes.membrane_controller import MembraneController
from tests.unit.parts import Echo
from tests.unit.parts import Speaker as PlainSpeaker


class Speaker(PlainSpeaker):
    next: Annotated[Echo, requires(optional=True)]


class Life(Protocol):
    def is_started(self) -> bool: ...
    def stop(self) -> None: ...


class Watch(Protocol):
    def alive(self) -> bool: ...
    def halt(self) -> None: ...


@provides("watch", Watch)
class Watchdog:
    target: Annotated[Life, requires(optional=True)]

    def alive(self) -> bool:
        return self.target.is_started()

    def halt(self) -> None:
        self.target.stop()


@pytest.fixture
def guarded() -> Component:
    component = primitive(Speaker)
    membrane = component.controller(MembraneController)
    membrane.add(primitive(Watchdog, "dog"))
    membrane.add(primitive(Speaker, "helper"))
    return component


def membrane_of(component: Component) -> MembraneController:
    return component.controller(MembraneController)


def test_parts_are_listed_in_order_and_found_by_name(guarded: Component) -> None:
    membrane = membrane_of(guarded)
    assert membrane.names() == ["dog", "helper"]
    assert membrane.part("dog").name == "dog"
    with pytest.raises(NoSuchComponentError) as caught:
        membrane.part("dgo")
    assert str(caught.value) == (
        "the membrane has no component 'dgo' [component /speaker]. did you mean 'dog'?"
    )
    with pytest.raises(NoSuchComponentError, match="It has: none"):
        membrane_of(primitive(Speaker)).part("dog")


def test_a_second_part_of_one_name_is_refused(guarded: Component) -> None:
    with pytest.raises(IllegalContentError) as caught:
        membrane_of(guarded).add(primitive(Watchdog, "dog"))
    assert str(caught.value) == (
        "the membrane cannot take in another 'dog' [component /speaker]. "
        "Give the non-functional component a name of its own"
    )


def test_a_membrane_does_not_take_in_its_own_component() -> None:
    component = primitive(Speaker)
    with pytest.raises(IllegalContentError, match="cannot take in another 'speaker'"):
        membrane_of(component).add(component)


def test_a_part_can_be_bound_to_a_controller_and_works_while_the_component_is_stopped(
    guarded: Component,
) -> None:
    membrane = membrane_of(guarded)
    membrane.bind("dog.target", "this.lifecycle-controller")
    membrane.start()
    dog = membrane.part("dog").stub("watch", Watch)
    assert guarded.state == "stopped"
    assert dog.alive() is False
    guarded.start()
    assert dog.alive() is True
    dog.halt()
    assert guarded.state == "stopped"


def test_parts_can_be_bound_to_each_other(guarded: Component) -> None:
    membrane = membrane_of(guarded)
    membrane.add(primitive(Speaker, "other"))
    membrane.bind("helper.next", "other.echo")
    membrane.start()
    assert membrane.part("helper").content.next.say("x") == "x"


@pytest.mark.parametrize(
    ("client", "server", "error", "message"),
    [
        ("dog.target", "helper.echo", IllegalBindingError, "has no operation 'is_started'"),
        ("cat.target", "helper.echo", NoSuchComponentError, "no component 'cat'"),
        ("dog.target", "cat.echo", NoSuchComponentError, "no component 'cat'"),
        ("dog.targt", "helper.echo", NoSuchInterfaceError, "did you mean 'target'"),
        ("dog.target", "helper.eco", NoSuchInterfaceError, "did you mean 'echo'"),
        ("dog.target", "this.life-controller", NoSuchInterfaceError, "no interface 'life-con"),
    ],
)
def test_a_binding_inside_the_membrane_follows_the_rules(
    client: str, server: str, error: type[Exception], message: str, guarded: Component
) -> None:
    with pytest.raises(error, match=message):
        membrane_of(guarded).bind(client, server)


def test_bindings_of_a_part_change_only_while_it_is_stopped(guarded: Component) -> None:
    membrane = membrane_of(guarded)
    membrane.start()
    with pytest.raises(IllegalLifeCycleError, match="bindings change only while"):
        membrane.bind("dog.target", "this.lifecycle-controller")


def test_parts_start_in_order_and_stop_in_reverse_order() -> None:
    pages: list[str] = []

    class Noting:
        def __init__(self, name: str) -> None:
            self.name = name

        def on_start(self) -> None:
            pages.append(f"start {self.name}")

        def on_stop(self) -> None:
            pages.append(f"stop {self.name}")

    membrane = membrane_of(primitive(Speaker))
    for name in "ab":
        membrane.add(primitive(lambda n=name: Noting(n), name, type=ComponentType()))  # type: ignore[misc]  # a lambda's default
    membrane.start()
    membrane.stop()
    assert pages == ["start a", "start b", "stop b", "stop a"]


def test_the_life_of_the_parts_is_not_that_of_the_component(guarded: Component) -> None:
    guarded.start()
    assert membrane_of(guarded).part("dog").state == "stopped"
    guarded.stop()
    membrane_of(guarded).start()
    assert membrane_of(guarded).part("dog").state == "started"
    assert guarded.state == "stopped"


def test_parts_end_with_the_component(guarded: Component) -> None:
    membrane = membrane_of(guarded)
    dog, helper = membrane.part("dog"), membrane.part("helper")
    membrane.start()
    helper.stop()
    helper.terminate()
    guarded.terminate()
    assert (dog.state, helper.state) == ("terminated", "terminated")


def test_a_part_is_removed_when_it_is_stopped_and_nothing_is_bound_to_it(
    guarded: Component,
) -> None:
    membrane = membrane_of(guarded)
    membrane.add(primitive(Speaker, "other"))
    membrane.bind("helper.next", "other.echo")
    with pytest.raises(IllegalContentError) as caught:
        membrane.remove("other")
    assert str(caught.value) == (
        "'other' cannot be removed from the membrane: /helper.next is bound to it "
        "[component /speaker]. Unbind and stop it first"
    )
    membrane.part("helper").unbind("next")
    membrane.start()
    with pytest.raises(IllegalContentError, match="it is started"):
        membrane.remove("other")
    membrane.stop()
    membrane.remove("other")
    assert membrane.names() == ["dog", "helper"]


def test_an_exported_interface_is_one_of_the_component(guarded: Component) -> None:
    membrane = membrane_of(guarded)
    membrane.export("watch", "dog.watch")
    membrane.bind("dog.target", "this.lifecycle-controller")
    membrane.start()
    assert guarded.server("watch") is membrane.part("dog").server("watch")
    assert guarded.stub("watch", Watch).alive() is False


def test_an_export_does_not_hide_a_functional_interface(guarded: Component) -> None:
    with pytest.raises(IllegalBindingError) as caught:
        membrane_of(guarded).export("echo", "dog.watch")
    assert str(caught.value) == (
        "is a functional interface, which the content serves "
        "[component /speaker, interface 'echo']. Export under another name"
    )
    assert membrane_of(guarded).exports == {}


def test_the_membrane_can_serve_an_internal_interface_of_a_composite() -> None:
    box = composite("box", ComponentType((InterfaceType("help", Echo, Role.INTERNAL_SERVER),)))
    part = primitive(Speaker)
    box.controller(ContentController).add(part)
    part.bind("next", box.inner_server("help"))
    part.start()
    with pytest.raises(IllegalBindingError) as caught:
        part.content.next.say("x")
    assert str(caught.value) == (
        "'say' was called, but nothing in the membrane serves the interface "
        "[component /box, interface 'help']. Let a non-functional component serve it: "
        'controller(MembraneController).export("name", "component.interface")'
    )
    membrane = membrane_of(box)
    membrane.add(primitive(Speaker, "helper"))
    membrane.export("help", "helper.echo")
    membrane.start()
    assert part.content.next.say("x") == "x"


def test_controls_of_an_active_object_can_be_called_from_its_membrane(
    ended: Callable[[Any], Any],
) -> None:
    component = ended(active(Speaker))
    membrane = membrane_of(component)
    membrane.add(primitive(Watchdog, "dog"))
    membrane.bind("dog.target", "this.lifecycle-controller")
    membrane.start()
    component.start()
    membrane.part("dog").stub("watch", Watch).halt()
    assert component.controller(LifeCycleController).state() == "stopped"


def test_a_part_of_a_membrane_sees_its_component_and_the_other_parts_alone() -> None:
    host, watch, log = primitive(Speaker), primitive(Speaker, "watch"), primitive(Speaker, "log")
    box = composite("box")
    box.controller(ContentController).add(host)
    membrane = host.controller(MembraneController)
    membrane.add(watch)
    membrane.add(log)
    membrane.bind("watch.next", "log.echo")
    membrane.bind("log.next", "this.echo")
    membrane.start()
    assert watch.state == log.state == "started"
    membrane.stop()
    watch.unbind("next")
    with pytest.raises(IllegalBindingError, match="/watch.next is in /box/speaker"):
        watch.bind("next", primitive(Speaker, "outside").server("echo"))
    membrane.remove("watch")
    assert watch.host is None
