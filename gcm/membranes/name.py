"""The `name` controller: the name of a component within its composite."""

from __future__ import annotations

from gcm.components.controller import Controller
from gcm.components.model import NAME_RULE, is_component_name
from gcm.errors import IllegalContentError


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
