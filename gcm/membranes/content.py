"""The `content` controller: which sub-components a composite holds."""

from __future__ import annotations

from collections.abc import Iterator

from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.errors import IllegalContentError, IllegalLifeCycleError
from gcm.membranes.controller import Controller


class ContentController(Controller):
    """Adds and removes the sub-components of a composite, while it is stopped."""

    __slots__ = ()
    name = "content"

    def names(self) -> list[str]:
        """Return the names of the sub-components, in the order they were added."""
        return [child.name for child in self.component.children]

    def add(self, child: Component) -> None:
        """Add `child`. It may be part of other composites already: then they share it.

        Raises:
            IllegalContentError: it is the composite itself, a child already, contains the
                composite, or has a sibling's name.
            IllegalLifeCycleError: the composite is not stopped, or the child has ended.
        """
        composite = self._composite("add")
        fault = self._fault(composite, child)
        if fault:
            raise IllegalContentError(fault, component=composite.path, state=composite.state)
        if child.state == "terminated":
            raise IllegalLifeCycleError(
                f"'{child.name}' has ended and cannot be added",
                component=composite.path,
                cure="Make a new component",
            )
        composite.put_child(child)

    def remove(self, child: Component) -> None:
        """Remove `child`.

        Raises:
            IllegalContentError: it is no child, or bindings within this composite reach it.
            IllegalLifeCycleError: the composite is not stopped.
        """
        composite = self._composite("remove")
        if composite.child(child.name) is not child:
            raise IllegalContentError(
                f"'{child.name}' is not a sub-component",
                component=composite.path,
                cure=f"There is: {', '.join(self.names()) or 'none'}",
            )
        bindings = list(_bindings_within(composite, child))
        if bindings:
            raise IllegalContentError(
                f"'{child.name}' cannot be removed while it is bound: {'; '.join(bindings)}",
                component=composite.path,
                cure="Unbind these first",
            )
        composite.drop_child(child)

    def _composite(self, action: str) -> Composite:
        composite = self.component
        if not isinstance(composite, Composite):
            raise IllegalContentError(
                f"cannot {action} sub-components: this is no composite", component=composite.path
            )
        if composite.state != "stopped":
            raise IllegalLifeCycleError(
                "content changes only while the composite is stopped",
                component=composite.path,
                state=composite.state,
                cure=f"Stop it, {action} the sub-component, and start it again",
            )
        return composite

    @staticmethod
    def _fault(composite: Composite, child: Component) -> str:
        if child is composite:
            return "a composite cannot contain itself"
        if composite.child(child.name) is child:
            return f"'{child.name}' is a sub-component already"
        if any(part is composite for part in _inside(child)):
            return f"'{child.name}' contains this composite, so adding it would make a cycle"
        if composite.child(child.name) is not None:
            return f"there is another sub-component named '{child.name}'"
        return ""


def _inside(component: Component) -> Iterator[Component]:
    for child in component.children:
        yield child
        yield from _inside(child)


def _bindings_within(composite: Composite, child: Component) -> Iterator[str]:
    """Yield the bindings of `child` to or from its siblings and the composite's inner faces."""
    members = {composite, *composite.children}
    for client in child.clients:
        for server in client.servers:
            if getattr(server, "owner", composite) in members:
                yield f"{client.path} -> {server.path}"
    for own in child.servers:
        for caller in own.clients:
            if caller.owner in members and caller.owner is not child:
                yield f"{caller.path} -> {own.path}"
