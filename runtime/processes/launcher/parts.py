"""The membranes of the parts of a machine: they tell how the run is, and refuse to be changed.

The assembly in the launcher stands for components in other processes. What was changed here would
change nothing there, so every such operation is refused, with what to do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from gcm.components.composite import Composite
from gcm.components.controller import Controller, Port
from gcm.components.model import Component
from gcm.errors import GcmError, IllegalBindingError, IllegalContentError, IllegalLifeCycleError
from gcm.membranes.content import ContentController
from gcm.membranes.lifecycle import LifeCycleController, State
from runtime.machine.paths import CLUSTERING
from runtime.processes.part_controllers import PART, HealthController

if TYPE_CHECKING:
    from gcm.interfaces.interface import ServerInterface
    from gcm.interfaces.stub import Stub

_DEPLOY_AGAIN = "Change the descriptor, and deploy it again"
_STEER = (
    "Machine.stop() ends the run; machine.code(name).control starts and stops the ranks of a code"
)

_CHANGES: Mapping[str, tuple[tuple[str, ...], str]] = MappingProxyType(
    {
        "lifecycle": (("start", "stop", "terminate"), _STEER),
        "binding": (("bind", "unbind"), _DEPLOY_AGAIN),
        "content": (("add", "remove"), _DEPLOY_AGAIN),
        "interceptor": (
            ("add", "remove"),
            'Name its class in the descriptor: <interceptor class="module.Class"/>',
        ),
        "name": (("set",), _DEPLOY_AGAIN),
        "multicast": (("draw_from",), _DEPLOY_AGAIN),
        "gathercast": (("configure",), _DEPLOY_AGAIN),
        "membrane": (
            ("add", "remove", "declare", "bind", "export", "start", "stop"),
            'Name its class in the descriptor: <controller role="..." class="module.Class"/>',
        ),
        "attribute": (("set",), _DEPLOY_AGAIN),
        "migration": (("migrate",), _DEPLOY_AGAIN),
        "health": (("hear",), "Only failure detectors call it"),
    }
)
"""The operations of each controller that change something, and what to do instead."""

_ERRORS: Mapping[str, type[GcmError]] = MappingProxyType(
    {"lifecycle": IllegalLifeCycleError, "binding": IllegalBindingError}
)


class RemotePart(Protocol):
    """What stands for a component of the machine in another process."""

    def state(self) -> State:
        """Return the state of the component, as the run knows it."""

    def ask(self, controller: str, operation: str) -> Any:
        """Ask a controller of the component, and wait for the answer."""


class PartLife(LifeCycleController):
    """Tells the state of a part, which follows that of the run, and lets no call pass.

    A composite lives as long as the clustering component in it.
    """

    __slots__ = ()

    def state(self) -> State:
        """Return the state of the component in its process."""
        return _part_of(self.component).state()

    def is_started(self) -> bool:
        """Return whether the component works."""
        return self.state() is State.STARTED

    def has_ended(self) -> bool:
        """Return whether it is gone for good."""
        return self.state() is State.TERMINATED

    def holding_port(self, interface: ServerInterface, stub: Stub, operation: str) -> Port:
        """Return what refuses a call: only processes of the machine make them."""
        del stub

        def refuse(*_: Any, **__: Any) -> Any:
            raise IllegalLifeCycleError(
                f"'{operation}' is called by the processes of the machine only",
                component=self.component.path,
                interface=interface.name,
                state=self.state(),
                cure="Ask the controllers of the component, such as `monitor`; "
                "the ranks of a code are reached with machine.code(name)",
            )

        return refuse


class PartHealth(HealthController):
    """Asks whom the front-end of a cluster suspects."""

    __slots__ = ()

    def suspects(self) -> list[str]:
        """Return whom it suspects now; raises if the front-end does not answer."""
        found: list[str] = _part_of(self.component).ask(f"{self.name}-controller", "suspects")
        return found


CLUSTER_PART = PART.including(PartHealth)
"""The membrane of what stands for the clustering component of a cluster."""


def settle(root: Component, more: Sequence[Component] = ()) -> None:
    """Let a part and all in it be looked at only; `more` is added to it before, and stays free."""
    for child in root.children:
        settle(child)
    for one in more:
        root.controller(ContentController).add(one)
    for kind in root.membrane.description.controllers:
        if kind.name in _CHANGES:
            made = PartLife if kind is LifeCycleController else kind
            root.membrane.add(_fixed(made)(root))


def _part_of(component: Component) -> RemotePart:
    leaf = component.child(CLUSTERING) if isinstance(component, Composite) else component
    assert leaf is not None
    found: RemotePart = leaf.content
    return found


_FIXED: dict[type[Controller], type[Controller]] = {}


def _fixed(kind: type[Controller]) -> type[Controller]:
    """Return a controller class like `kind` that refuses to change anything."""
    if kind not in _FIXED:
        operations, cure = _CHANGES[kind.name]
        members: dict[str, Any] = {
            name: _refused(kind, name, getattr(kind, name), cure) for name in operations
        }
        members |= {"__slots__": (), "__module__": kind.__module__}
        _FIXED[kind] = type(kind.__name__, (kind,), members)
    return _FIXED[kind]


def _refused(
    kind: type[Controller], operation: str, original: Callable[..., Any], cure: str
) -> Callable[..., Any]:
    @wraps(original)
    def refuse(self: Controller, *_: Any, **__: Any) -> Any:
        raise _ERRORS.get(kind.name, IllegalContentError)(
            f"'{operation}' of its {kind.name} controller would change nothing in the process of"
            " a part of the machine",
            component=self.component.path,
            state=self.component.state,
            cure=cure,
        )

    return refuse
