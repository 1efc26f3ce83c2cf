"""The `attribute` controller: the settings of a component, read and set by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gcm.components.declarations import declared_attributes
from gcm.errors import NoSuchAttributeError
from gcm.membranes.controller import Controller
from gcm.suggestion import did_you_mean


class AttributeController(Controller):
    """Reads and sets the attributes that the content declares with `attribute()`."""

    __slots__ = ()
    name = "attribute"

    def names(self) -> list[str]:
        """Return the names of the attributes."""
        return list(self._declared())

    def get(self, name: str) -> Any:
        """Return the value of an attribute.

        Raises:
            NoSuchAttributeError: there is none of that name, or it has no value yet.
        """
        self._require(name)
        try:
            return getattr(self.component.content, name)
        except AttributeError as error:
            raise NoSuchAttributeError(
                f"attribute '{name}' has no value yet",
                component=self.component.path,
                cure="Set it, or give it a default in the content class",
            ) from error

    def set(self, name: str, value: Any) -> None:
        """Set an attribute.

        Raises:
            NoSuchAttributeError: there is none of that name.
        """
        self._require(name)
        setattr(self.component.content, name, value)

    def _declared(self) -> Mapping[str, Any]:
        return declared_attributes(type(self.component.content))

    def _require(self, name: str) -> None:
        declared = self._declared()
        if name not in declared:
            raise NoSuchAttributeError(
                f"there is no attribute '{name}'",
                component=self.component.path,
                cure=did_you_mean(name, declared) or f"There is: {', '.join(declared) or 'none'}",
            )
