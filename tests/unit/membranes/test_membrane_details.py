"""Small promises of the membrane: what is refused, what is handed on, what is told."""

from __future__ import annotations

import pytest

from gcm import Controller, MonitorController, primitive
from gcm.errors import NoSuchControllerError
from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.monitor import Figures
from tests.unit.parts import Echo, Speaker


def test_a_controller_that_is_not_there_cannot_be_taken_out() -> None:
    component = primitive(Speaker)
    with pytest.raises(NoSuchControllerError) as caught:
        component.membrane.remove("monitr")
    assert caught.value.cure == "did you mean 'monitor'?"
    assert component.controller(MonitorController).name == "monitor"


def test_a_measured_call_returns_its_result() -> None:
    component = primitive(Speaker)
    component.start()
    component.controller(MonitorController).enable()
    assert component.stub("echo", Echo).say("x") == "x"


def test_figures_begin_at_zero() -> None:
    assert Figures() == Figures(0, 0, 0, 0, 0.0, 0.0, None, None, 0)


class Base:
    """Keeps what is said about a class derived from it."""

    said: list[str]

    def __init_subclass__(cls, **kwargs: object) -> None:
        cls.said = sorted(kwargs)
        super().__init_subclass__()


def test_a_controller_class_hands_the_words_of_its_making_on() -> None:
    class Mixed(Controller, Base, colour="red"):
        name = "mixed"

    assert Mixed.said == ["colour"]
    made = primitive(Speaker, controllers=PRIMITIVE.including(Mixed))
    assert made.controller(Mixed).component is made
