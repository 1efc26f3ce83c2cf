"""The client interfaces of a membrane: connect its components with the outside."""

from __future__ import annotations

from gcm.components.composite import Composite
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.interfaces.types import ComponentType, InterfaceType, Role


class Boundary(Composite):
    """The client interfaces of the membrane of one component, each with its two faces.

    Components in the membrane are bound to the inner face. The outer one is a client interface of
    the component, or, with the role `internal-client`, it is bound to the controllers of
    sub-components.
    """

    __slots__ = ("_internal",)

    def __init__(self, host: Component, description: MembraneDescription) -> None:
        self._internal: set[str] = set()
        super().__init__(host.name, ComponentType(), description)
        self.host: Component = host

    @property
    def path(self) -> str:
        """The path of the component that has the membrane."""
        return self.host.path

    def declare(self, declared: InterfaceType) -> None:
        """Add a client interface."""
        if declared.is_internal:
            self._internal.add(declared.name)
        seen = InterfaceType(
            declared.name,
            declared.signature,
            Role.CLIENT,
            declared.contingency,
            declared.cardinality,
        )
        self.type = ComponentType((*self.type.interfaces, seen))
        if not seen.is_collection:
            self._add_interface(seen)

    def leads_inside(self, name: str) -> bool:
        """Return whether the outer face of an interface leads to the content."""
        declared = self.type.find(name)
        return declared is not None and declared.name in self._internal
