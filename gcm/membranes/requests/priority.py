"""The `priority` controller: which control calls overtake which requests in a queue."""

from __future__ import annotations

from gcm.components.controller import Controller
from gcm.components.model import Component
from gcm.errors import NoSuchInterfaceError
from gcm.membranes.requests.request_queue import Priority
from gcm.suggestion import did_you_mean

_DEFAULTS = {"lifecycle": Priority.NF2, "monitor": Priority.NF3, "component": Priority.NF3}


class PriorityController(Controller):
    """Gives every operation of every control interface its priority.

    Functional operations are always `FUNCTIONAL`. Unless set otherwise, the life-cycle has NF2,
    introspection and monitoring NF3, and everything else NF1.
    """

    __slots__ = ("_chosen",)
    name = "priority"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._chosen: dict[tuple[str, str], Priority] = {}

    def get(self, controller: str, operation: str) -> Priority:
        """Return the priority of an operation of a controller."""
        return self._chosen.get((controller, operation), _DEFAULTS.get(controller, Priority.NF1))

    def set(self, controller: str, operation: str, priority: Priority) -> None:
        """Give an operation of a controller another priority.

        Raises:
            NoSuchControllerError: there is no such controller.
            NoSuchInterfaceError: the controller has no such operation, or the priority is
                `FUNCTIONAL`, which no control call can have.
        """
        known = self.component.membrane[controller].operations()
        if operation not in known:
            raise NoSuchInterfaceError(
                f"the controller '{controller}' has no operation '{operation}'",
                component=self.component.path,
                cure=did_you_mean(operation, known) or f"It has: {', '.join(known)}",
            )
        if priority is Priority.FUNCTIONAL:
            raise NoSuchInterfaceError(
                f"'{controller}.{operation}' is not functional",
                component=self.component.path,
                cure="Choose NF1, which waits its turn like a functional request",
            )
        self._chosen[controller, operation] = priority
