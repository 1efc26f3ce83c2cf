"""The `migration` controller: moves the content of a component; references stay valid."""

from __future__ import annotations

from typing import Any, Protocol

from gcm.components.controller import Controller, Port
from gcm.components.model import Component
from gcm.components.primitive import Primitive
from gcm.errors import CopyError, IllegalContentError
from gcm.interfaces.value import by_value
from gcm.invocation import Caller, RemotePort
from gcm.membranes.attribute import AttributeController
from gcm.membranes.content_hooks import ContentHooksController


class Destination(Protocol):
    """A place that can host a component.

    One with an attribute `takes_bindings` that is true binds the copy to what the component is
    bound to.
    """

    def adopt(self, component: Component, content: Any) -> Caller:
        """Host a copy of `component` around `content`, started; return the caller for it.

        Calls of its control interfaces come that way too, such as `attribute-controller`.
        """


class MigrationController(Controller):
    """Moves the content elsewhere; what stays behind forwards every call.

    References to it stay valid. Requests that come in during the move wait and are served
    at the destination.
    """

    __slots__ = ("_caller",)
    name = "migration"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._caller: Caller | None = None

    def migrate(self, destination: Destination | str) -> None:
        """Stop, hand a copy of the content to `destination`, and forward from then on.

        A component that a deployment has put on a node takes the name of another node as its
        `destination`. A started component is started again at the end. If the destination refuses,
        the component continues here unchanged.

        Raises:
            IllegalContentError: the component is no primitive, has moved already, or calls others
                and the destination does not take bindings.
            IllegalLifeCycleError: calls inside do not end in time.
            CopyError: the content cannot be copied.
        """
        component = self.component
        if isinstance(destination, str):
            raise IllegalContentError(
                f"the component lives in this process, and '{destination}' cannot take it in",
                component=component.path,
                cure="Only a component on a node moves to a node by its name; give it a virtual "
                "node, or pass a Destination",
            )
        if self._caller is not None:
            raise IllegalContentError(
                "the content has moved already, and what is here only forwards calls",
                component=component.path,
                cure="Move it on from where it is now",
            )
        takes_bindings = getattr(destination, "takes_bindings", False)
        bound = [one.name for one in component.clients if one.is_bound and not takes_bindings]
        if not isinstance(component, Primitive) or bound:
            raise IllegalContentError(
                f"cannot migrate while {', '.join(bound)} is bound" if bound else "no primitive",
                component=component.path,
                cure="Only primitives without bound client interfaces can move",
            )
        was_started = component.state == "started"
        component.stop()
        try:
            self._caller = destination.adopt(component, self._copied())
            if ContentHooksController.name in component.membrane:
                component.membrane.remove(ContentHooksController.name)  # they act over there now
            if AttributeController.name in component.membrane:
                component.membrane.get(AttributeController).follow(self._caller)
            component.rewire()
        finally:
            if was_started:
                component.start()

    def _copied(self) -> Any:
        try:
            return by_value(self.component.content)
        except Exception as error:  # classes define their own copying
            kind = type(self.component.content).__qualname__
            raise CopyError(
                f"the content of {self.component.path} cannot be copied: "
                f"{type(error).__name__}: {error}",
                component=self.component.path,
                cure=f"Let {kind} leave out what cannot move in __getstate__, and make it anew in "
                "__setstate__",
            ) from error

    def has_moved(self) -> bool:
        """Return whether the content is elsewhere."""
        return self._caller is not None

    def wrap(self, interface: Any, operation: str, proceed: Port) -> Port:
        """Forward the calls of a component that has moved."""
        if self._caller is None or interface.type.is_client:
            return proceed
        return RemotePort(self._caller, self.component.path, interface.name, operation)
