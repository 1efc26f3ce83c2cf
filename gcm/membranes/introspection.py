"""The controllers `name`, `super` and `component`, through which a component tells about itself."""

from __future__ import annotations

from gcm.components.controller import Controller
from gcm.components.model import NAME_RULE, Component, is_component_name
from gcm.errors import IllegalContentError
from gcm.interfaces.types import ComponentType


class NameController(Controller):
    """Reads and changes the name of the component."""

    __slots__ = ()
    name = "name"

    def get(self) -> str:
        """Return the name of the component."""
        return self.component.name

    def set(self, name: str) -> None:
        """Rename the component.

        Raises:
            IllegalContentError: the name is invalid, or a sibling has it.
        """
        if not is_component_name(name):
            raise IllegalContentError(
                f"'{name}' cannot name a component",
                component=self.component.path,
                cure=NAME_RULE,
            )
        for parent in self.component.parents:
            if any(c.name == name and c is not self.component for c in parent.children):
                raise IllegalContentError(
                    f"{parent.path} already has a sub-component '{name}'",
                    component=self.component.path,
                    cure="Choose a name that no sibling has",
                )
        parents = self.component.parents
        for parent in parents:
            parent.rename_child(self.component, name)
        self.component.name = name


class SuperController(Controller):
    """Lists the parents; a shared component has several."""

    __slots__ = ()
    name = "super"

    def parents(self) -> list[str]:
        """Return the paths of the composites that contain the component."""
        return [parent.path for parent in self.component.parents]

    def super_components(self) -> tuple[Component, ...]:
        """Return the composites that contain the component, in the order it was added to them."""
        return self.component.parents


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
