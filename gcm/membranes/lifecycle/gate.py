"""The gate of a component: where calls wait while the component is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gcm.interfaces.interface import ServerInterface
    from gcm.interfaces.stub import Stub
    from gcm.membranes.lifecycle import LifeCycleController


class HeldPort:
    """The port of one operation of a component that does not run: it holds calls."""

    __slots__ = ("_interface", "_life", "_operation", "_stub")

    def __init__(
        self, life: LifeCycleController, interface: ServerInterface, stub: Stub, operation: str
    ) -> None:
        self._life = life
        self._interface = interface
        self._stub = stub
        self._operation = operation

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Wait until the component runs, then call the present port of the operation."""
        self._life.wait_until_open(self._interface.name, self._operation)
        return self.when_open()(*args, **kwargs)

    def when_open(self) -> Callable[..., Any]:
        """Return the port that would be here if the component ran, recomposed."""
        return self._interface.open_port(self._stub, self._operation)
