"""The contract of controllers: one concern of a component, with hooks around its calls and life."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from gcm.interfaces.signature import signature_of

if TYPE_CHECKING:
    from gcm.components.model import Component
    from gcm.errors import GcmError
    from gcm.interfaces.interface import (
        ClientInterface,
        Interface,
        ServerEnd,
        ServerInterface,
    )
    from gcm.interfaces.stub import Stub

Port = Callable[..., Any]

_HOOKS = (
    "attached",
    "wrap",
    "wrap_control",
    "faults_before_start",
    "started",
    "stopped",
    "terminated",
)


class Controller:
    """One concern of one component. Subclass it, give it a `name`, override the hooks you need.

    Every public method that is not a hook is an operation of the control interface
    `<name>-controller`, so non-functional components and other processes can call it too.

    >>> class CallCounter(Controller):
    ...     name = "counter"
    ...
    ...     def __init__(self, component):
    ...         super().__init__(component)
    ...         self.calls = 0
    ...
    ...     def wrap(self, interface, operation, proceed):
    ...         def counted(*args, **kwargs):
    ...             self.calls += 1
    ...             return proceed(*args, **kwargs)
    ...
    ...         return counted
    """

    __slots__ = ("component",)
    name: ClassVar[str] = ""
    hooks: ClassVar[frozenset[str]] = frozenset()
    __not_operations__: ClassVar[frozenset[str]] = frozenset((*_HOOKS, "operations", "offered"))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Record which hooks the class overrides; the others are never called."""
        super().__init_subclass__(**kwargs)
        cls.hooks = frozenset(
            hook for hook in _HOOKS if getattr(cls, hook) is not getattr(Controller, hook)
        )

    def __init__(self, component: Component) -> None:
        self.component = component

    @property
    def offered(self) -> Mapping[str, ClientInterface | ServerInterface]:
        """The interfaces that the component has because of this controller, by name."""
        return MappingProxyType({})

    def operations(self) -> list[str]:
        """Return the names of the operations of the control interface."""
        return list(signature_of(type(self)).operations)

    def attached(self) -> None:
        """Prepare, now that all controllers and interfaces of the component exist."""

    def wrap(self, interface: Interface, operation: str, proceed: Port) -> Port:
        """Return what a call of `operation` runs into: `proceed`, or something around it."""
        del interface, operation
        return proceed

    def wrap_control(self, controller: Controller, operation: str, proceed: Port) -> Port:
        """Return what a call of an operation of another controller runs into."""
        del controller, operation
        return proceed

    def faults_before_start(self) -> Iterable[str]:
        """Return a sentence for each reason why the component cannot start."""
        return ()

    def started(self) -> None:
        """Act on the start of the component; an exception makes the start fail as a whole."""

    def stopped(self) -> None:
        """Act on the stop of the component."""

    def terminated(self) -> None:
        """Release everything; the component never comes back."""


LIFE_CYCLE, BINDING = "lifecycle", "binding"
"""The names of the two controllers that every component has, because it relies on them."""


class LifeCycle(Protocol):
    """What components and their other controllers rely on in the `lifecycle` controller."""

    hold_timeout: float
    """Seconds for which a call waits for the start of a stopped component."""
    stop_timeout: float
    """Seconds for which a stop waits for the calls that are inside."""
    closed_since: float
    """The time of the last stop, by the monotonic clock."""

    def state(self) -> StrEnum:
        """Return the state of the component."""

    def start(self) -> None:
        """Start the component with everything inside it."""

    def stop(self) -> None:
        """Stop it; calls in flight finish first."""

    def terminate(self) -> None:
        """End it for good."""

    def holding_port(self, interface: ServerInterface, stub: Stub, operation: str) -> Port:
        """Return what a call runs into while the component takes none."""

    def wait_until_open(self, interface: str, operation: str) -> None:
        """Hold a call until the component runs, or refuse it."""

    def is_started(self) -> bool:
        """Return whether the component serves calls."""

    def has_ended(self) -> bool:
        """Return whether the component was terminated."""

    def bring_up(self) -> bool:
        """Return whether the thread of the caller starts the component; start it then."""

    def refuse_if_hopeless(self, interface: str, operation: str) -> None:
        """Refuse a call that the component can never take."""

    def not_started_again(self, interface: str, operation: str) -> GcmError:
        """Return the error of a call that was held for too long."""


def is_life_cycle(controller: type[Controller]) -> bool:
    """Return whether a class has every operation of `LifeCycle`."""
    operations = (name for name in vars(LifeCycle) if not name.startswith("_"))
    return all(hasattr(controller, name) for name in operations)


class Binding(Protocol):
    """What a component relies on in its `binding` controller."""

    def bind(self, client: str, server: ServerEnd) -> None:
        """Bind the client interface of that name."""

    def unbind(self, client: str, server: ServerEnd | None = None) -> None:
        """Unbind it, from one server where it is bound to several."""
