"""Attributes as one object that a Protocol types."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import pytest

from gcm import AttributeController, attribute, primitive
from gcm.errors import NoSuchAttributeError


class Content:
    size: Annotated[int, attribute()] = 1
    label: Annotated[str | None, attribute()] = None
    free: int = 3


class Sized(Protocol):
    size: float


class Settings(Sized, Protocol):
    @property
    def label(self) -> str | None: ...


class Strict(Protocol):
    label: str
    free: int
    sise: int


def attributes() -> AttributeController:
    return primitive(Content).controller(AttributeController)


def test_reading_and_setting_act_on_the_content() -> None:
    controller = attributes()
    settings = controller.typed(Settings)
    settings.size = 4
    assert (settings.size, settings.label, controller.get("size")) == (4, None, 4)
    assert dir(settings) == ["label", "size"]
    assert repr(settings) == "<Settings of /content>"


def test_a_property_is_only_read() -> None:
    settings: Any = attributes().typed(Settings)
    with pytest.raises(AttributeError, match="'label' of Settings is only read"):
        settings.label = "x"


def test_a_name_that_the_protocol_does_not_have_is_no_attribute() -> None:
    settings: Any = attributes().typed(Sized)
    with pytest.raises(AttributeError, match="Sized has no attribute 'label'"):
        settings.label  # noqa: B018 - the point of the test
    with pytest.raises(AttributeError, match="Sized has no attribute 'label'"):
        settings.label = "x"


def test_every_attribute_that_does_not_fit_is_told() -> None:
    with pytest.raises(NoSuchAttributeError) as caught:
        attributes().typed(Strict)
    assert str(caught.value) == (
        "the attributes are not those of Strict: 'label' is str | None, not str; there is no "
        "attribute 'free'; there is no attribute 'sise' [component /content]. There is: size, label"
    )


def test_a_component_without_attributes_has_none_of_them() -> None:
    class Bare:
        pass

    with pytest.raises(NoSuchAttributeError, match="There is: none"):
        primitive(Bare).controller(AttributeController).typed(Sized)


def test_the_typed_view_is_no_operation_of_the_control_interface() -> None:
    assert attributes().operations() == ["names", "get", "set"]
