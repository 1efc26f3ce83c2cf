"""The membrane: the controllers of one component and the chain they form around every call.

Every controller can be called through a control interface, like the content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from gcm.components.controller import (
    BINDING,
    LIFE_CYCLE,
    Binding,
    Controller,
    LifeCycle,
    is_life_cycle,
)
from gcm.errors import IllegalTypeError, NoSuchControllerError
from gcm.interfaces.interface import ClientInterface, Interface, ServerInterface
from gcm.interfaces.stub import Stub
from gcm.interfaces.types import InterfaceType
from gcm.records import dataclass
from gcm.suggestion import did_you_mean

if TYPE_CHECKING:
    from gcm.components.model import Component

C = TypeVar("C", bound=Controller)
Port = Callable[..., Any]
CONTROL_SUFFIX = "-controller"
_NAMED_ALIKE = ("component", "factory")
"""The controllers whose interface has their own name, as in the Fractal specification."""


@dataclass(frozen=True, slots=True)
class MembraneDescription:
    """Which controllers a membrane is made of, the outermost first.

    >>> COUNTED = PRIMITIVE.including(CallCounter)    # doctest: +SKIP
    """

    name: str
    controllers: tuple[type[Controller], ...]

    def __post_init__(self) -> None:
        """Refuse a controller without a usable name, and one that cannot do its work."""
        for controller in self.controllers:
            if Controller not in getattr(controller, "__mro__", ()):
                raise IllegalTypeError(
                    f"{controller!r} is not a controller class",
                    cure="Name a subclass of gcm.Controller, without calling it",
                )
            if not controller.name:
                raise IllegalTypeError(
                    f"the controller {controller.__qualname__} has no name",
                    cure='Give its class one: name = "counter"',
                )
            if controller.name == LIFE_CYCLE and not is_life_cycle(controller):
                raise IllegalTypeError(
                    f"the controller {controller.__qualname__} is named '{controller.name}' and "
                    "is not a LifeCycleController, so the component could not be started",
                    cure="Give its class another name, or make it a subclass of "
                    "LifeCycleController",
                )

    def including(self, *controllers: type[Controller], name: str = "") -> MembraneDescription:
        """Return a description with `controllers` added, innermost; same names replace."""
        fresh = {getattr(controller, "name", "") for controller in controllers}
        kept = tuple(known for known in self.controllers if known.name not in fresh)
        return MembraneDescription(name or self.name, kept + controllers)


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


class Membrane:
    """The controllers of one component.

    A controller without hooks is made on first use, so that ten thousand components do not carry
    thirteen unused objects each.
    """

    __slots__ = (
        "_control",
        "_controllers",
        "admits_calls",
        "component",
        "description",
        "lifecycle",
    )

    def __init__(self, component: Component, description: MembraneDescription) -> None:
        self.component = component
        self.description = description
        self.admits_calls = False
        self._control: dict[str, ControlInterface] = {}
        self._controllers: dict[str, Controller | type[Controller]] = {
            kind.name: kind(component) if kind.hooks else kind for kind in description.controllers
        }
        self.lifecycle: LifeCycle = self._find(LIFE_CYCLE)

    def __iter__(self) -> Iterator[str]:
        return iter(self._controllers)

    def __contains__(self, name: object) -> bool:
        return name in self._controllers

    def __getitem__(self, name: str) -> Controller:
        """Return the controller of that name.

        Raises:
            NoSuchControllerError: the membrane has none.
        """
        found: Controller = self._find(name)
        return found

    def get(self, kind: type[C]) -> C:
        """Return the controller that `kind` describes, typed.

        Raises:
            NoSuchControllerError: the membrane has none.
        """
        found: C = self._find(kind.name)
        return found

    def _find(self, name: str) -> Any:
        found = self._controllers.get(name)
        if found is None:
            raise NoSuchControllerError(
                f"the membrane has no controller '{name}'",
                component=self.component.path,
                cure=did_you_mean(name, self._controllers)
                or f"It has: {', '.join(sorted(self._controllers))}",
            )
        if isinstance(found, type):
            found = self._controllers[name] = found(self.component)
        return found

    @property
    def binding(self) -> Binding:
        """The controller that binds the client interfaces."""
        found: Binding = self._find(BINDING)
        return found

    @property
    def queues_calls(self) -> bool:
        """Whether calls of a stopped component wait in a queue instead of at the gate."""
        return "request-queue" in self._controllers

    def control_interface(self, name: str) -> ControlInterface:
        """Return the control interface of the controller of that name.

        Raises:
            NoSuchControllerError: the membrane has none.
        """
        if name not in self._control:
            self._control[name] = ControlInterface(self.component, self[name])
        return self._control[name]

    @property
    def offered(self) -> Mapping[str, ClientInterface | ServerInterface]:
        """The interfaces that non-functional components give to the component, by name."""
        holder = self._controllers.get("membrane")
        return holder.offered if isinstance(holder, Controller) else {}

    def add(self, controller: Controller) -> None:
        """Put `controller` innermost into the membrane, in place of one with the same name."""
        self._controllers.pop(controller.name, None)
        self._control.pop(controller.name, None)
        self._controllers[controller.name] = controller
        self.lifecycle = self._find(LIFE_CYCLE)
        controller.attached()
        self.component.rewire()

    def remove(self, name: str) -> None:
        """Take the controller of that name out of the membrane."""
        self._find(name)
        del self._controllers[name]
        self._control.pop(name, None)
        self.component.rewire()

    def having(self, hook: str) -> list[Controller]:
        """Return the controllers that override `hook`, the outermost first."""
        return [
            known
            for known in self._controllers.values()
            if isinstance(known, Controller) and hook in known.hooks
        ]

    def compose(self, interface: Interface, operation: str, target: Port) -> Port:
        """Return `target` inside what the controllers put around it."""
        for controller in reversed(self.having("wrap")):
            target = controller.wrap(interface, operation, target)
            if not callable(target):
                raise IllegalTypeError(
                    f"the controller '{controller.name}' returned {target!r} instead of what is to "
                    f"be called for {interface.name}.{operation}",
                    component=self.component.path,
                    cure="Return `proceed` from its `wrap` to leave the call as it is",
                )
        return target

    def compose_control(self, controller: Controller, operation: str, target: Port) -> Port:
        """Return `target`, an operation of `controller`, inside what the others put around it."""
        for other in reversed(self.having("wrap_control")):
            if other is not controller:
                target = other.wrap_control(controller, operation, target)
        return target

    def holding_port(self, interface: ServerInterface, stub: Stub, operation: str) -> Port:
        """Return the port of a component that does not take calls now."""
        return self.lifecycle.holding_port(interface, stub, operation)
