"""Wrapper components: a component around something that runs elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.interfaces.interface import ClientInterface, ServerInterface
from gcm.interfaces.types import ComponentType
from gcm.invocation import Caller, RemotePort


class Wrapped(Caller, Protocol):
    """What a wrapper wraps: takes calls and follows the life cycle of its wrapper.

    The three hooks have the names that the content of a primitive may have too.
    """

    def on_start(self) -> None:
        """Start to run, before the first call comes."""

    def on_stop(self) -> None:
        """Pause: no call comes until the next start."""

    def on_terminate(self) -> None:
        """End for good, and free everything."""


class Wrapper(Component):
    """A component whose content is not an object here but runs somewhere else.

    Every call becomes an `Invocation` that the wrapped thing carries there. Its client interfaces
    stay here: the wrapped thing looks their stubs up with `client("name").reference`.
    """

    __slots__ = ("_wrapped",)

    def __init__(
        self, name: str, type: ComponentType, description: MembraneDescription, wrapped: Wrapped
    ) -> None:
        self._wrapped = wrapped
        super().__init__(name, type, description)

    @property
    def content(self) -> Wrapped:
        """The wrapped object."""
        return self._wrapped

    def target_of(self, interface: ServerInterface, operation: str) -> Callable[..., Any]:
        """Return the port that sends the call to where the wrapped thing runs."""
        return RemotePort(self._wrapped, self.path, interface.name, operation)

    def client_changed(self, interface: ClientInterface) -> None:
        """Do nothing: the wrapped object looks references up when it needs them."""
