"""The attributes of a component whose content has moved are those of the content over there."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import pytest

from gcm import Caller, Component, Future, Invocation, attribute, primitive, provides, submit
from gcm.errors import NoSuchAttributeError
from gcm.membranes.attribute import AttributeController
from gcm.membranes.migration import MigrationController


class Echo(Protocol):
    def say(self) -> str: ...


@provides("echo", Echo)
class Speaker:
    text: Annotated[str, attribute()] = "hello"
    volume: Annotated[int, attribute()]

    def say(self) -> str:
        return self.text


class Host:
    """A destination in this process."""

    guest: Component

    def adopt(self, component: Component, content: Any) -> Caller:
        self.guest = primitive(lambda: content, "there", type=component.type)
        self.guest.start()
        return self

    def call(self, invocation: Invocation) -> Future[Any]:
        stub = self.guest.server(invocation.interface).stub
        return submit(stub._port(invocation.operation), *invocation.args, **invocation.kwargs)


def test_attributes_are_read_and_set_where_the_content_is_now() -> None:
    component, host = primitive(Speaker), Host()
    component.start()
    attributes = component.controller(AttributeController)
    component.controller(MigrationController).migrate(host)
    attributes.set("text", "good bye")
    assert component.stub("echo", Echo).say() == "good bye"
    assert host.guest.content.text == "good bye"
    assert component.content.text == "hello"
    host.guest.content.text = "again"
    assert attributes.get("text") == "again"
    assert attributes.names() == ["text", "volume"]


def test_what_is_wrong_with_an_attribute_is_told_as_before_the_move() -> None:
    component = primitive(Speaker)
    component.controller(MigrationController).migrate(Host())
    attributes = component.controller(AttributeController)
    with pytest.raises(NoSuchAttributeError, match="there is no attribute 'txt'"):
        attributes.set("txt", "x")
    with pytest.raises(NoSuchAttributeError, match="attribute 'volume' has no value yet"):
        attributes.get("volume")
