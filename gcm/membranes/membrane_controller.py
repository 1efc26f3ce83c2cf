"""The `membrane` controller: non-functional components that live inside the membrane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gcm.components.boundary import Boundary
from gcm.components.controller import Controller
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.errors import (
    IllegalBindingError,
    IllegalContentError,
    NoSuchComponentError,
    NoSuchInterfaceError,
)
from gcm.interfaces.interface import ClientInterface, ServerInterface
from gcm.interfaces.types import InterfaceType
from gcm.membranes.binding import BindingController
from gcm.membranes.lifecycle import LifeCycleController
from gcm.suggestion import did_you_mean

_THIS = "this"


class _BoundaryBindings(BindingController):
    """Binds the client interfaces of a membrane; a call through an unbound one raises."""

    __slots__ = ()

    def faults_before_start(self) -> Iterable[str]:
        """Name the bindings that leave a composite."""
        return self._not_local()


_BOUNDARY = MembraneDescription("membrane", (LifeCycleController, _BoundaryBindings))


class MembraneController(Controller):
    """Holds non-functional components and connects them with each other and with controllers.

    They have a life cycle of their own: they work while the component itself is stopped.
    """

    __slots__ = ("_boundary", "_parts", "exports", "internal_exports")
    name = "membrane"
    __not_operations__ = Controller.__not_operations__ | {"clients", "leads_inside"}

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._parts: dict[str, Component] = {}
        self._boundary: Boundary | None = None  # most membranes have no client interfaces
        self.exports: dict[str, ServerInterface] = {}
        self.internal_exports: dict[str, ServerInterface] = {}

    @property
    def offered(self) -> Mapping[str, ClientInterface | ServerInterface]:
        """The non-functional interfaces that the component has besides those of controllers."""
        return {
            **self.exports,
            **{one.name: one for one in self.clients if not self.leads_inside(one.name)},
        }

    @property
    def clients(self) -> Sequence[ClientInterface]:
        """The non-functional client interfaces of the component."""
        return self._boundary.clients if self._boundary else ()

    def leads_inside(self, client: str) -> bool:
        """Return whether a non-functional client interface is an `internal-client`."""
        return self._boundary is not None and self._boundary.leads_inside(client)

    def names(self) -> list[str]:
        """Return the names of the non-functional components."""
        return list(self._parts)

    def add(self, part: Component) -> None:
        """Add a component to the membrane.

        Raises:
            IllegalContentError: there is one of that name, or it is the membrane's own component.
        """
        if part.name in self._parts or part is self.component:
            raise IllegalContentError(
                f"the membrane cannot take in another '{part.name}'",
                component=self.component.path,
                cure="Give the non-functional component a name of its own",
            )
        self._parts[part.name] = part
        part.host = self.component

    def remove(self, name: str) -> None:
        """Remove a component from the membrane.

        Raises:
            NoSuchComponentError: there is none of that name.
            IllegalContentError: it is started, or something is bound to it.
        """
        part = self.part(name)
        callers = [caller.path for server in part.servers for caller in server.clients]
        if callers or part.state == "started":
            raise IllegalContentError(
                f"'{name}' cannot be removed from the membrane: "
                + (f"{', '.join(callers)} is bound to it" if callers else "it is started"),
                component=self.component.path,
                cure="Unbind and stop it first",
            )
        del self._parts[name]
        part.host = None

    def part(self, name: str) -> Component:
        """Return the non-functional component of that name.

        Raises:
            NoSuchComponentError: there is none.
        """
        if name not in self._parts:
            raise NoSuchComponentError(
                f"the membrane has no component '{name}'",
                component=self.component.path,
                cure=did_you_mean(name, self._parts)
                or f"It has: {', '.join(self._parts) or 'none'}",
            )
        return self._parts[name]

    def declare(self, declared: InterfaceType) -> None:
        """Give the component a non-functional client interface.

        Components in the membrane are bound to it with `this.name` as their server. With the role
        `client` it is then a client interface of the component, to be bound beside it; with
        `internal-client` it is bound to the controllers of a sub-component.

        Raises:
            IllegalBindingError: the component has an interface of that name.
        """
        self._require_free(declared.name)
        if self._boundary is None:
            self._boundary = Boundary(self.component, _BOUNDARY)
        self._boundary.declare(declared)

    def bind(self, client: str, server: str) -> None:
        """Bind `component.interface` to `component.interface`, both non-functional.

        A component is one in the membrane, or else a sub-component of the content. `this` as the
        server names a control interface, `bind("watchdog.target", "this.lifecycle-controller")`, or
        a declared client interface; as the client it names an `internal-client` interface.

        Raises:
            IllegalBindingError: the binding breaks a rule, with every reason listed.
            IllegalLifeCycleError: the non-functional component is not stopped.
            NoSuchComponentError: there is no such component.
            NoSuchInterfaceError: there is no such interface.
        """
        name, _, interface = client.partition(".")
        if name == _THIS:
            self._own_client(interface).bind(interface, self._server(server))
        elif name in self._parts or name not in self._content():
            self.part(name).bind(interface, self._server(server))
        else:
            self._content()[name].bind(interface, self._server(server, for_content=True))

    def export(self, name: str, server: str, *, internal: bool = False) -> None:
        """Offer `component.interface` of the membrane as the interface `name` of the component.

        With `internal` it is offered to the sub-components instead: their non-functional clients
        are bound to it with `this.name` as the server.

        Raises:
            IllegalBindingError: the component has an interface of that name.
            NoSuchComponentError: there is no such non-functional component.
            NoSuchInterfaceError: there is no such interface.
        """
        self._require_free(name)
        exports = self.internal_exports if internal else self.exports
        exports[name] = self._server(server)

    def _require_free(self, name: str) -> None:
        declared = self.component.type.find(name)
        if declared is not None and not declared.is_internal:
            raise IllegalBindingError(
                "is a functional interface, which the content serves",
                component=self.component.path,
                interface=name,
                cure="Export under another name",
            )

    def start(self) -> None:
        """Start the non-functional components."""
        for part in self._everything():
            part.start()

    def stop(self) -> None:
        """Stop the non-functional components, the last one first."""
        for part in reversed(self._everything()):
            part.stop()

    def terminated(self) -> None:
        """Terminate them with their component."""
        for part in reversed(self._everything()):
            if part.state != "terminated":
                part.stop()
                part.terminate()

    def _server(self, end: str, *, for_content: bool = False) -> ServerInterface:
        name, _, interface = end.partition(".")
        if name == _THIS:
            return self._own_server(interface, for_content=for_content)
        if name in self._parts or name not in self._content():
            return self.part(name).server(interface)
        return self._content()[name].server(interface)

    def _own_server(self, name: str, *, for_content: bool) -> ServerInterface:
        if for_content and name in self.internal_exports:
            return self.internal_exports[name]
        if not for_content and self._boundary is not None and self._boundary.type.find(name):
            return self._boundary.inner_server(name)
        return self.component.server(name)

    def _own_client(self, name: str) -> Boundary:
        if self._boundary is None or not self.leads_inside(name):
            raise NoSuchInterfaceError(
                f"the membrane has no internal client interface '{name}'",
                component=self.component.path,
                cure="Declare it first, with the role internal-client; what serves outside is "
                'given a server by export("name", "component.interface")',
            )
        return self._boundary

    def _everything(self) -> Sequence[Component]:
        boundary = () if self._boundary is None else (self._boundary,)
        return (*boundary, *self._parts.values())

    def _content(self) -> Mapping[str, Component]:
        return {child.name: child for child in self.component.children}
