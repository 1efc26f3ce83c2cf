"""Control interfaces: every controller can be called through an interface, like the content."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gcm.components.controller import Controller
from gcm.interfaces.interface import ClientInterface, ServerInterface
from gcm.interfaces.stub import Stub
from gcm.interfaces.types import InterfaceType

if TYPE_CHECKING:
    from gcm.components.model import Component

Port = Callable[..., Any]
CONTROL_SUFFIX = "-controller"


class ControlInterface(ServerInterface):
    """The server interface of one controller.

    It is open in every state of the component. What controllers put around control calls, such as
    the queue of an active object, lies between.
    """

    __slots__ = ("controller",)
    is_functional = False

    def __init__(self, owner: Component, controller: Controller) -> None:
        self.controller = controller
        super().__init__(owner, InterfaceType(controller.name + CONTROL_SUFFIX, type(controller)))

    def wire_one(self, client: ClientInterface | None, stub: Stub) -> None:  # noqa: ARG002 - all clients are served alike
        """Fill the ports of `stub`; nothing ever holds a control call back."""
        for name in stub._operations:
            stub._set_port(name, self._port(name))

    def _port(self, operation: str) -> Port:
        target: Port = getattr(self.controller, operation)
        return self.owner.membrane.compose_control(self.controller, operation, target)
