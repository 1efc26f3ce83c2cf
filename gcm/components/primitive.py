"""Primitive components: one Python object within a membrane."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, cast

from gcm.components.declarations import client_attributes, is_immediate
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.errors import InstantiationError
from gcm.interfaces.compatibility import content_mismatches
from gcm.interfaces.interface import ClientInterface, ServerInterface
from gcm.interfaces.types import ComponentType, InterfaceType


class Primitive(Component):
    """A component whose content is one Python object.

    The object implements the server interfaces with methods of the same names. The stubs of its
    client interfaces are put into its attributes, by the name of the interface or as
    `requires(name=...)` says; for a collection the attribute maps suffixes to stubs.
    """

    __slots__ = ("_content",)

    def __init__(
        self,
        name: str,
        type: ComponentType,
        description: MembraneDescription,
        content: Any,
    ) -> None:
        self._content = content
        check_content(name, content.__class__, type)
        super().__init__(name, type, description)
        for declared in type.interfaces:
            if declared.is_client:
                _prepare(name, content, declared)

    @property
    def content(self) -> Any:
        """The object inside."""
        return self._content

    def serves_at_once(self, operation: str) -> bool:
        """Return whether the content declares `operation` immediate."""
        return is_immediate(self._content.__class__, operation)

    def target_of(self, interface: ServerInterface, operation: str) -> Callable[..., Any]:  # noqa: ARG002 - the operation is enough here
        """Return the content's own method."""
        target: Callable[..., Any] = getattr(self._content, operation)
        return target

    def client_changed(self, interface: ClientInterface) -> None:
        """Put the stub of `interface` into the content's attribute."""
        declared = self.type.find(interface.name) or interface.type
        attribute = _attribute(self._content.__class__, declared.name)
        if not declared.is_collection:
            setattr(self._content, attribute, interface.reference)
            return
        members = dict(getattr(self._content, attribute, None) or {})
        suffix = interface.name.removeprefix(declared.name)
        if interface.is_bound:
            members[suffix] = interface.reference
        else:
            members.pop(suffix, None)
        setattr(self._content, attribute, members)


def _prepare(name: str, content: Any, declared: InterfaceType) -> None:
    """Set the attributes for stubs of client interfaces to their unbound values."""
    attribute = _attribute(content.__class__, declared.name)
    try:
        setattr(content, attribute, {} if declared.is_collection else None)
    except AttributeError as error:
        raise InstantiationError(
            f"the class {content.__class__.__qualname__} has no room for the stub of "
            f"'{declared.name}': {error}",
            component=name,
            cure=f"Let its objects have an attribute '{attribute}' that can be set",
        ) from error


@lru_cache(maxsize=4096)
def _attributes(content: Hashable) -> dict[str, str]:
    return dict(client_attributes(cast(type[Any], content)))


def _attribute(content: type[Any], interface: str) -> str:
    return _attributes(cast(Hashable, content)).get(
        interface, interface.replace("-", "_").replace(".", "_")
    )


def check_content(name: str, content: type[Any], type: ComponentType) -> None:
    """Check that a content class implements every server interface of a component type.

    Raises:
        InstantiationError: it does not, with every mismatch listed.
    """
    faults = _content_faults(cast(Hashable, content), type.interfaces)
    if faults:
        raise InstantiationError(
            f"the class {content.__qualname__} does not implement its interfaces: "
            + "; ".join(faults),
            component=name,
            cure="Fix these in the class, or give the component another type",
        )


@lru_cache(maxsize=4096)
def _content_faults(
    content_class: Hashable, interfaces: tuple[InterfaceType, ...]
) -> tuple[str, ...]:
    content = cast(type[Any], content_class)
    faults = [
        f"interface '{declared.name}': {mismatch}"
        for declared in interfaces
        if declared.is_server
        for mismatch in content_mismatches(
            content, declared.signature, gathercast=declared.is_gathercast
        )
    ]
    faults += [
        f"interface '{declared.name}': a primitive cannot have a multicast server interface"
        for declared in interfaces
        if declared.is_server and declared.is_multicast
    ]
    return tuple(faults)
