"""The `super` controller: the composites that contain a component."""

from __future__ import annotations

from gcm.components.controller import Controller
from gcm.components.model import Component


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
