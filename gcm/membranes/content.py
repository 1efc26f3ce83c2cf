"""The `content` controller: which sub-components a composite holds."""

from __future__ import annotations

from collections.abc import Iterator

from gcm.components.composite import Composite
from gcm.components.controller import Controller
from gcm.components.model import Component
from gcm.errors import IllegalContentError, IllegalLifeCycleError, NoSuchInterfaceError
from gcm.interfaces.interface import ClientInterface, Interface, ServerEnd
from gcm.membranes.binding import homes, is_local, may_become_local


class ContentController(Controller):
    """Adds and removes the sub-components of a composite, while it is stopped."""

    __slots__ = ()
    name = "content"

    def names(self) -> list[str]:
        """Return the names of the sub-components, in the order they were added."""
        return [child.name for child in self.component.children]

    def sub_components(self) -> tuple[Component, ...]:
        """Return the sub-components, in the order they were added."""
        return self.component.children

    def internal_interfaces(self) -> dict[str, Interface]:
        """Return the inner faces of the interfaces that exist now, by name."""
        component = self.component
        return dict(component.inner_interfaces) if isinstance(component, Composite) else {}

    def internal_interface(self, name: str) -> Interface:
        """Return the inner face of that name; the member of a collection is made on first use.

        Raises:
            NoSuchInterfaceError: there is none.
        """
        component = self.component
        if isinstance(component, Composite):
            return component.inner(name)
        raise NoSuchInterfaceError(
            f"there is no inner face '{name}'",
            component=component.path,
            cure="Only a composite has inner faces",
        )

    def add(self, child: Component) -> None:
        """Add `child`. It may be part of other composites already: then they share it.

        Raises:
            IllegalContentError: it is the composite itself, a child already, contains the
                composite, has a sibling's name, or is bound to parts of other composites only. Or a
                binding of it that is in use would leave the composite.
            IllegalLifeCycleError: the composite is not stopped, or the child has ended.
        """
        composite = self._composite("add")
        fault = self._fault(composite, child)
        if fault:
            raise IllegalContentError(
                fault,
                component=composite.path,
                state=composite.state,
                cure="Add another component, or give it another name",
            )
        if child.state == "terminated":
            raise IllegalLifeCycleError(
                f"'{child.name}' has ended and cannot be added",
                component=composite.path,
                cure="Make a new component",
            )
        composite.put_child(child)
        crossing = [
            f"{client.path} -> {server.path}"
            for client, server in _bindings(child)
            if not may_become_local(client, server)
            or (client.owner.state == "started" and not is_local(client, server))
        ]
        if crossing:
            composite.drop_child(child)
            raise IllegalContentError(
                f"'{child.name}' is bound to parts that are not in the same composite: "
                + "; ".join(crossing),
                component=composite.path,
                state=composite.state,
                cure="Unbind these, and bind through interfaces of the composites",
            )

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
                f"cannot {action} sub-components: this is not a composite",
                component=composite.path,
                cure="Make it with composite(...)",
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
        if _is_template(child) is not _is_template(composite):
            return (
                f"'{child.name}' is a template, and only a template can hold it"
                if _is_template(child)
                else f"'{child.name}' is not a template, and a template holds nothing else"
            )
        if any(part is composite for part in _inside(child)):
            return f"'{child.name}' contains this composite, so adding it would make a cycle"
        if composite.child(child.name) is not None:
            return f"there is another sub-component named '{child.name}'"
        return ""


def _is_template(component: Component) -> bool:
    return "factory" in component.membrane


def _inside(component: Component) -> Iterator[Component]:
    for child in component.children:
        yield child
        yield from _inside(child)


def _bindings(child: Component) -> Iterator[tuple[ClientInterface, ServerEnd]]:
    """Yield the bindings that begin or end at the outer face of `child`, each once."""
    for client in child.clients:
        for server in client.servers:
            yield client, server
    for own in child.servers:
        for caller in own.clients:
            if caller.owner is not child or caller.internal:
                yield caller, own


def _bindings_within(composite: Composite, child: Component) -> Iterator[str]:
    """Yield the bindings of `child`, but for those that lie in another composite that shares it."""
    elsewhere = set(child.parents) - {composite}
    for client, server in _bindings(child):
        other = server if client.owner is child and not client.internal else client
        if not (isinstance(other, Interface) and homes(other) & elsewhere):
            yield f"{client.path} -> {server.path}"
