"""Which actions each state allows, and what a start and a terminate do to a whole tree."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    Composite,
    Contingency,
    Controller,
    InterfaceType,
    Role,
    active,
    composite,
    primitive,
    requires,
    submit,
)
from gcm.errors import IllegalBindingError, IllegalLifeCycleError
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.lifecycle import TRANSITIONS, LifeCycleController, State
from tests.unit.parts import Echo, Relay, Speaker, within


class Diary:
    """Content that writes down its hooks; `trouble` names the hook that fails."""

    def __init__(self, name: str, pages: list[str], trouble: str = "") -> None:
        self.name, self.pages, self.trouble = name, pages, trouble

    def write(self, hook: str) -> None:
        self.pages.append(f"{self.name} {hook}")
        if self.trouble == hook:
            raise ValueError(f"{self.name} cannot {hook}")

    def on_start(self) -> None:
        self.write("start")

    def on_stop(self) -> None:
        self.write("stop")

    def on_terminate(self) -> None:
        self.write("terminate")


def diary(name: str, pages: list[str], trouble: str = "") -> Component:
    return primitive(lambda: Diary(name, pages, trouble), name, type=ComponentType())


def test_the_table_of_transitions_is_the_one_of_the_model() -> None:
    assert TRANSITIONS == {
        (State.STOPPED, "start"): State.STARTED,
        (State.STARTING, "start"): State.STARTED,
        (State.STARTED, "start"): State.STARTED,
        (State.STARTED, "stop"): State.STOPPED,
        (State.STOPPED, "stop"): State.STOPPED,
        (State.STOPPED, "terminate"): State.TERMINATED,
        (State.TERMINATED, "terminate"): State.TERMINATED,
    }


def bring_to(component: Component, state: State) -> None:
    {
        State.STOPPED: lambda: None,
        State.STARTED: component.start,
        State.TERMINATED: component.terminate,
    }[state]()


@pytest.mark.parametrize(
    ("state", "action"), [pair for pair in TRANSITIONS if pair[0] is not State.STARTING]
)
def test_an_allowed_action_leads_to_the_state_of_the_table(state: State, action: str) -> None:
    component = primitive(Speaker)
    bring_to(component, state)
    getattr(component, action)()
    assert component.state == TRANSITIONS[state, action]


@pytest.mark.parametrize(
    ("state", "action", "cure"),
    [
        (State.STARTED, "terminate", "Stop it first"),
        (State.TERMINATED, "start", "A terminated component never comes back: make a new one"),
        (State.TERMINATED, "stop", "A terminated component never comes back: make a new one"),
    ],
)
def test_an_illegal_action_is_refused_and_changes_nothing(
    state: State, action: str, cure: str
) -> None:
    component = primitive(Speaker)
    bring_to(component, state)
    with pytest.raises(IllegalLifeCycleError) as caught:
        getattr(component, action)()
    assert str(caught.value) == (
        f"cannot {action} a component that is {state} [component /speaker, state {state}]. {cure}"
    )
    assert component.state == state


def test_the_state_is_told_by_the_controller_too() -> None:
    component = primitive(Speaker)
    life = component.controller(LifeCycleController)
    assert (life.state(), life.is_started(), life.has_ended()) == (State.STOPPED, False, False)
    component.start()
    assert (life.state(), life.is_started(), life.has_ended()) == (State.STARTED, True, False)
    component.stop()
    component.terminate()
    assert (life.state(), life.is_started(), life.has_ended()) == (State.TERMINATED, False, True)


def test_a_start_reports_every_unbound_mandatory_interface_of_the_whole_tree() -> None:
    inner = within("inner", primitive(Relay, "deep"))
    box = composite("box", ComponentType((InterfaceType("echo", Echo),)))
    box.controller(ContentController).add(primitive(Relay, "near"))
    box.controller(ContentController).add(inner)
    with pytest.raises(IllegalLifeCycleError) as caught:
        box.start()
    assert str(caught.value).startswith(
        "cannot start, 3 reason(s): "
        "/box/near: mandatory interface 'next' is not bound; "
        "/box/inner/deep: mandatory interface 'next' is not bound; "
        "/box: mandatory interface 'echo' is not bound [component /box, state stopped]. "
    )
    assert {box.state, inner.state, *(part.state for part in box.children)} == {"stopped"}


def test_optional_interfaces_may_stay_unbound() -> None:
    class Shy:
        next: Annotated[Echo, requires(optional=True)]

    component = primitive(Shy)
    component.start()
    assert component.state == "started"
    assert component.content.next is None


def test_parts_start_before_the_whole_in_order_and_stop_the_other_way_round() -> None:
    pages: list[str] = []
    box = within("box", diary("a", pages), within("inner", diary("b", pages)), diary("c", pages))
    box.start()
    assert pages == ["a start", "b start", "c start"]
    pages.clear()
    box.stop()
    assert pages == ["c stop", "b stop", "a stop"]
    pages.clear()
    box.terminate()
    assert pages == ["a terminate", "b terminate", "c terminate"]
    assert box.find("inner/b").state == "terminated"


def test_hooks_run_once_for_a_repeated_action() -> None:
    pages: list[str] = []
    component = diary("a", pages)
    for action in ("start", "start", "stop", "stop", "terminate", "terminate"):
        getattr(component, action)()
    assert pages == ["a start", "a stop", "a terminate"]


def test_a_part_that_runs_already_is_not_started_again() -> None:
    pages: list[str] = []
    early, late = diary("early", pages), diary("late", pages)
    box = within("box", early, late)
    early.start()
    box.start()
    assert pages == ["early start", "late start"]


def test_a_started_composite_starts_a_part_that_was_stopped_alone() -> None:
    part = primitive(Speaker)
    box = within("box", part)
    box.start()
    part.stop()
    box.start()
    assert part.state == "started"


def test_a_stopped_composite_stops_a_part_that_was_started_alone() -> None:
    part = primitive(Speaker)
    box = within("box", part)
    part.start()
    box.stop()
    assert part.state == "stopped"


def test_a_failed_start_leaves_nothing_started_and_tells_those_that_had_begun() -> None:
    pages: list[str] = []
    parts = [diary("a", pages), diary("b", pages), diary("c", pages, "start"), diary("d", pages)]
    box = within("box", *parts)
    with pytest.raises(IllegalLifeCycleError) as caught:
        box.start()
    assert str(caught.value) == (
        "the start failed: ValueError: c cannot start [component /box/c, state stopped]. "
        "Nothing was left running; fix the cause above and start again"
    )
    assert isinstance(caught.value.__cause__, ValueError)
    assert pages == ["a start", "b start", "c start", "b stop", "a stop"]
    assert {box.state, *(part.state for part in parts)} == {"stopped"}


def test_a_start_can_be_repeated_once_its_cause_is_mended() -> None:
    pages: list[str] = []
    part = diary("a", pages, "start")
    box = within("box", part)
    with pytest.raises(IllegalLifeCycleError):
        box.start()
    part.content.trouble = ""
    box.start()
    assert box.state == "started"


def test_errors_of_the_model_in_a_start_hook_are_handed_on_as_they_are() -> None:
    refusal = IllegalLifeCycleError("not today")

    class Refusing:
        def on_start(self) -> None:
            raise refusal

    with pytest.raises(IllegalLifeCycleError) as caught:
        primitive(Refusing, type=ComponentType()).start()
    assert caught.value is refusal


def test_what_fails_while_a_failed_start_is_taken_back_is_noted_on_its_error() -> None:
    pages: list[str] = []
    box = within("box", diary("a", pages, "stop"), diary("b", pages, "start"))
    with pytest.raises(IllegalLifeCycleError, match="b cannot start") as caught:
        box.start()
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.__cause__.__notes__ == [
        "While the others were stopped again: a cannot stop"
    ]


class Witness(Controller):
    name = "witness"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self.seen: list[str] = []

    def started(self) -> None:
        self.seen.append("started")

    def stopped(self) -> None:
        self.seen.append("stopped")


def test_controllers_of_one_membrane_that_had_begun_are_told_of_a_failed_start() -> None:
    class Failing:
        def on_start(self) -> None:
            raise ValueError("no")

    class Late(Witness):
        name = "late"

    first = PRIMITIVE.including(Late)
    witnessed = type(first)("witnessed", (Witness, *first.controllers))
    component = primitive(Failing, type=ComponentType(), controllers=witnessed)
    with pytest.raises(IllegalLifeCycleError):
        component.start()
    assert component.controller(Witness).seen == ["started", "stopped"]
    assert component.controller(Late).seen == []


def test_a_failed_start_lets_no_queue_serve(ended: Callable[[Any], Any]) -> None:
    class Failing:
        def on_start(self) -> None:
            raise ValueError("no")

    worker = ended(active(Speaker, "worker"))
    box = within("box", worker, primitive(Failing, type=ComponentType()))
    with pytest.raises(IllegalLifeCycleError, match="ValueError: no"):
        box.start()
    future = submit(worker.stub("echo", Echo).say, "too early")
    worker.interface("component-controller").stub.path()  # served after all that may be served
    assert not future.done()
    worker.start()
    assert future.result(10) == "too early"


def test_several_failures_of_a_stop_come_together_and_everything_is_stopped() -> None:
    pages: list[str] = []
    parts = [diary("a", pages, "stop"), diary("b", pages), diary("c", pages, "stop")]
    box = within("box", *parts)
    box.start()
    with pytest.raises(ExceptionGroup, match="while they stopped") as all:
        box.stop()
    assert [str(one) for one in all.value.exceptions] == ["c cannot stop", "a cannot stop"]
    assert {box.state, *(part.state for part in parts)} == {"stopped"}
    assert "b stop" in pages


def test_a_single_failure_of_a_stop_is_raised_as_it_is() -> None:
    component = diary("a", [], "stop")
    component.start()
    with pytest.raises(ValueError, match="a cannot stop"):
        component.stop()
    assert component.state == "stopped"


def test_every_part_ends_even_if_one_fails_at_its_end() -> None:
    pages: list[str] = []
    box = within("box", diary("a", pages, "terminate"), diary("b", pages))
    with pytest.raises(ValueError, match="a cannot terminate"):
        box.terminate()
    assert pages == ["a terminate", "b terminate"]
    assert {box.state, box.find("a").state, box.find("b").state} == {"terminated"}


def test_a_composite_does_not_end_while_a_part_of_it_runs() -> None:
    part = primitive(Speaker)
    box = within("box", part)
    part.start()
    with pytest.raises(IllegalLifeCycleError) as caught:
        box.terminate()
    assert str(caught.value) == (
        "cannot terminate a component while parts of it run: /box/speaker "
        "[component /box, state stopped]. Stop the component: that stops everything inside"
    )
    assert (box.state, part.state) == ("stopped", "started")


def test_a_composite_with_an_ended_part_cannot_start() -> None:
    part = primitive(Speaker)
    box = within("box", part)
    part.terminate()
    with pytest.raises(IllegalLifeCycleError) as caught:
        box.start()
    assert str(caught.value).startswith(
        "cannot start, 1 reason(s): /box/speaker: it is terminated. A terminated component never "
        "comes back: make a new one [component /box, state stopped]. "
    )
    assert part.state == "terminated"


def shared() -> tuple[Component, Composite, Composite]:
    part = primitive(Speaker)
    return part, within("left", part), within("right", part)


def test_a_shared_part_is_started_and_stopped_with_each_of_its_composites() -> None:
    part, left, right = shared()
    left.start()
    assert part.state == "started"
    right.start()
    right.stop()
    assert (part.state, left.state) == ("stopped", "started")


def test_a_shared_part_outlives_all_but_the_last_of_its_composites() -> None:
    part, left, right = shared()
    right.start()
    left.terminate()
    assert part.state == "started"
    right.stop()
    assert part.state == "stopped"
    right.terminate()
    assert part.state == "terminated"


def test_what_is_shared_inside_one_composite_ends_with_it() -> None:
    part, left, right = shared()
    box = within("box", left, right)
    box.start()
    box.stop()
    box.terminate()
    assert {one.state for one in (part, left, right, box)} == {"terminated"}


def test_a_shared_part_is_told_of_its_start_once() -> None:
    pages: list[str] = []
    part = diary("a", pages)
    box = within("box", within("left", part), within("right", part))
    box.start()
    box.stop()
    assert pages == ["a start", "a stop"]


def test_a_mandatory_collection_starts_with_any_number_of_members() -> None:
    class Many:
        workers: Annotated[
            dict[str, Echo], requires(cardinality=Cardinality.COLLECTION, name="worker")
        ]

    client, server = primitive(Many), primitive(Speaker)
    client.client("worker1")
    client.start()
    client.stop()
    client.bind("worker2", server.server("echo"))
    client.start()
    assert client.state == "started"


def test_an_optional_collection_may_have_no_member() -> None:
    optional = InterfaceType(
        "worker", Echo, Role.CLIENT, Contingency.OPTIONAL, Cardinality.COLLECTION
    )
    component = primitive(SimpleNamespace, "c", type=ComponentType((optional,)))
    component.start()
    assert component.state == "started"


def test_a_used_member_of_a_composites_mandatory_collection_must_lead_somewhere() -> None:
    box = composite(
        "box",
        ComponentType((InterfaceType("in", Echo, cardinality=Cardinality.COLLECTION),)),
    )
    box.start()
    box.stop()
    user = primitive(Relay)
    user.bind("next", box.server("in1"))
    with pytest.raises(IllegalLifeCycleError) as caught:
        box.start()
    assert "1 reason(s): /box: mandatory interface 'in1' is not bound" in str(caught.value)
    part = primitive(Speaker)
    box.controller(ContentController).add(part)
    box.bind("in1", part.server("echo"))
    box.start()
    assert box.stub("in1", Echo).say("hi") == "hi"


def test_the_inner_side_of_a_composites_collection_member_must_lead_somewhere_once_used() -> None:
    optional = Contingency.OPTIONAL
    several = Cardinality.COLLECTION
    declared = InterfaceType("in", Echo, Role.SERVER, optional, several)
    box = composite("box", ComponentType((declared,)))
    box.server("in1")
    box.start()
    box.stop()

    class Shy:
        next: Annotated[Echo, requires(optional=True)]

    client = primitive(Shy)
    client.bind("next", box.server("in1"))
    box.start()
    with pytest.raises(IllegalBindingError, match="'say' was called, but nothing is bound"):
        box.stub("in1", Echo).say("hi")
