"""Composite components: sub-components within a membrane, seen from outside and from inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.errors import IllegalBindingError, NoSuchInterfaceError
from gcm.interfaces.interface import ClientInterface, Interface, ServerInterface
from gcm.interfaces.types import ComponentType, InterfaceType
from gcm.suggestion import did_you_mean


class Composite(Component):
    """A component whose content is other components.

    Every external interface has an inner face: a server interface is a client inside, to be bound
    to a sub-component; a client interface is a server inside, to which sub-components are bound.
    A parametric composite has an object besides, which holds its attributes.
    """

    __slots__ = ("_children", "_inner", "_parameters")

    def __init__(
        self,
        name: str,
        type: ComponentType,
        description: MembraneDescription,
        parameters: Any = None,
    ) -> None:
        self._parameters = parameters
        self._children: dict[str, Component] = {}
        self._inner: dict[str, ClientInterface | ServerInterface] = {}
        super().__init__(name, type, description)

    @property
    def children(self) -> tuple[Component, ...]:
        """The sub-components, in the order they were added."""
        return tuple(self._children.values())

    @property
    def content(self) -> Any:
        """The object that holds the attributes of a parametric composite; else None."""
        return self._parameters

    @property
    def inner_interfaces(self) -> Mapping[str, Interface]:
        """The inner faces of the interfaces that exist now, by name."""
        return dict(self._inner)

    def inner(self, name: str) -> ClientInterface | ServerInterface:
        """Return the inner face of the interface of that name.

        Raises:
            NoSuchInterfaceError: there is none.
        """
        if name not in self._inner and self.type.find(name):
            self.interface(name)
        if name not in self._inner:
            raise NoSuchInterfaceError(
                f"there is no inner face '{name}'",
                component=self.path,
                cure=did_you_mean(name, self._inner)
                or f"There is: {', '.join(self._inner) or 'none'}",
            )
        return self._inner[name]

    def inner_client(self, name: str) -> ClientInterface:
        """Return the inner face of a server interface, which calls the content.

        Raises:
            NoSuchInterfaceError: there is none, or the name is that of a client interface.
        """
        face = self.inner(name)
        if not isinstance(face, ClientInterface):
            raise NoSuchInterfaceError(
                f"'{name}' is a client interface: inside, sub-components are bound to it",
                component=self.path,
                interface=name,
            )
        return face

    def inner_server(self, name: str) -> ServerInterface:
        """Return the inner face of a client interface, which the content calls.

        Raises:
            NoSuchInterfaceError: there is none, or the name is that of a server interface.
        """
        face = self.inner(name)
        if not isinstance(face, ServerInterface):
            raise NoSuchInterfaceError(
                f"'{name}' is a server interface: inside, it is bound to a sub-component",
                component=self.path,
                interface=name,
            )
        return face

    @property
    def bindables(self) -> list[ClientInterface]:
        """The client interfaces, and the inner faces of the server interfaces."""
        inner = [face for face in tuple(self._inner.values()) if isinstance(face, ClientInterface)]
        return self.clients + inner

    def bindable(self, name: str) -> ClientInterface:
        """Return the client of that name, or the inner face of the server of that name.

        Raises:
            NoSuchInterfaceError: there is none.
        """
        found = self.interface(name)
        return found if isinstance(found, ClientInterface) else self.inner_client(name)

    def child(self, name: str) -> Component | None:
        """Return the sub-component of that name, or None."""
        return self._children.get(name)

    def put_child(self, child: Component) -> None:
        """Add `child`; the content controller has checked that it is legal."""
        self._children[child.name] = child
        child.parents += (self,)

    def rename_child(self, child: Component, name: str) -> None:
        """Keep `child` in its place under another name; the name controller has checked it."""
        self._children = {
            (name if known is child else key): known for key, known in self._children.items()
        }

    def drop_child(self, child: Component) -> None:
        """Remove `child`; the content controller has checked that it is legal."""
        del self._children[child.name]
        child.parents = tuple(parent for parent in child.parents if parent is not self)

    def target_of(self, interface: ServerInterface, operation: str) -> Callable[..., Any]:
        """Return the way on through the other face of the interface."""
        if interface.internal and interface.name not in self._interfaces:
            return self._served_by_membrane(interface, operation)
        if interface.internal:
            return self.client(interface.name).way_out(operation)
        return self.inner_client(interface.name).way_out(operation)

    def _served_by_membrane(self, interface: ServerInterface, operation: str) -> Callable[..., Any]:
        def serve(*args: Any, **kwargs: Any) -> Any:
            exported = self.membrane.offered.get(interface.name)
            if not isinstance(exported, ServerInterface):
                raise IllegalBindingError(
                    f"'{operation}' was called, but nothing in the membrane serves the interface",
                    component=self.path,
                    interface=interface.name,
                    cure="Let a non-functional component serve it: "
                    'controller(MembraneController).export("name", "component.interface")',
                )
            return getattr(exported.stub, operation)(*args, **kwargs)

        return serve

    def other_face(self, interface: Interface) -> Interface | None:
        """Return the outer face of an inner one, and the reverse."""
        faces = self._interfaces if interface.internal else self._inner
        return faces.get(interface.name)

    def client_changed(self, interface: ClientInterface) -> None:
        """Lead the calls that come in at the other face of `interface` its new way."""
        face = self.other_face(interface)
        if isinstance(face, ServerInterface):
            face.wire()

    def wire_servers(self) -> None:
        """Compose the ports of all server interfaces and of all inner faces anew."""
        super().wire_servers()
        for face in tuple(self._inner.values()):
            if isinstance(face, ServerInterface):
                face.wire()

    def _add_interface(self, declared: InterfaceType) -> ClientInterface | ServerInterface:
        if declared.is_internal:  # it has no outer face: the membrane is at its other end
            return self._add_face(declared)
        made = super()._add_interface(declared)
        self._add_face(declared.inner())
        return made

    def _add_face(self, inside: InterfaceType) -> ClientInterface | ServerInterface:
        if inside.name in self._inner:
            return self._inner[inside.name]
        kind = ClientInterface if inside.is_client else ServerInterface
        made = self._inner[inside.name] = kind(self, inside, internal=True)
        return made
