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
_NAMED_ALIKE = ("component", "factory")
"""The controllers whose interface has their own name, as in the Fractal specification."""


def control_name(controller: str) -> str:
    """Return the name of the control interface of a controller.

    >>> control_name("binding"), control_name("component")
    ('binding-controller', 'component')
    """
    return controller if controller in _NAMED_ALIKE else controller + CONTROL_SUFFIX


def controller_name(interface: str) -> str:
    """Return the name of the controller that an interface would be of, or nothing.

    >>> controller_name("binding-controller"), controller_name("component"), controller_name("run")
    ('binding', 'component', '')
    """
    if interface in _NAMED_ALIKE:
        return interface
    return interface.removesuffix(CONTROL_SUFFIX) if interface.endswith(CONTROL_SUFFIX) else ""


class ControlInterface(ServerInterface):
    """The server interface of one controller.

    It is open in every state of the component. What controllers put around control calls, such as
    the queue of an active object, lies between.
    """

    __slots__ = ("controller",)
    is_functional = False

    def __init__(self, owner: Component, controller: Controller) -> None:
        self.controller = controller
        super().__init__(owner, InterfaceType(control_name(controller.name), type(controller)))

    def wire_one(self, client: ClientInterface | None, stub: Stub) -> None:  # noqa: ARG002 - all clients are served alike
        """Fill the ports of `stub`; nothing ever holds a control call back."""
        for name in stub._operations:
            stub._set_port(name, self._port(name))

    def _port(self, operation: str) -> Port:
        target: Port = getattr(self.controller, operation)
        return self.owner.membrane.compose_control(self.controller, operation, target)
