"""The `component` controller: introspection, as an interface like any other."""

from __future__ import annotations

from gcm.components.controller import Controller
from gcm.interfaces.types import ComponentType


class ComponentController(Controller):
    """Describes what the component is made of."""

    __slots__ = ()
    name = "component"

    def path(self) -> str:
        """Return the path of the component."""
        return self.component.path

    def type(self) -> ComponentType:
        """Return the type of the component."""
        return self.component.type

    def interfaces(self) -> list[str]:
        """Return the names of the external interfaces that exist now, the functional ones first."""
        return list(self.component.interfaces)

    def controllers(self) -> list[str]:
        """Return the names of the controllers."""
        return list(self.component.membrane)
