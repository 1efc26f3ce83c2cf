"""The `membrane` controller: non-functional components that live inside the membrane."""

from __future__ import annotations

from gcm.components.controller import Controller
from gcm.components.model import Component
from gcm.errors import IllegalBindingError, IllegalContentError, NoSuchComponentError
from gcm.interfaces.interface import ServerInterface
from gcm.suggestion import did_you_mean


class MembraneController(Controller):
    """Holds non-functional components and connects them with each other and with controllers.

    They have a life of their own: they work while the component itself is stopped.
    """

    __slots__ = ("_parts", "exports")
    name = "membrane"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._parts: dict[str, Component] = {}
        self.exports: dict[str, ServerInterface] = {}

    def names(self) -> list[str]:
        """Return the names of the non-functional components."""
        return list(self._parts)

    def add(self, part: Component) -> None:
        """Take a component into the membrane.

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
        """Take a component out of the membrane.

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

    def bind(self, client: str, server: str) -> None:
        """Bind `component.interface` to `component.interface` inside the membrane.

        `this` as the server names the component's own control interfaces:
        `bind("watchdog.target", "this.lifecycle-controller")`.

        Raises:
            IllegalBindingError: the binding breaks a rule, with every reason listed.
            IllegalLifeCycleError: the non-functional component is not stopped.
            NoSuchComponentError: there is no such non-functional component.
            NoSuchInterfaceError: there is no such interface.
        """
        name, _, interface = client.partition(".")
        self.part(name).bind(interface, self._server(server))

    def export(self, name: str, server: str) -> None:
        """Offer `component.interface` of the membrane as the interface `name` of the component.

        Raises:
            IllegalBindingError: the component has an interface of that name.
            NoSuchComponentError: there is no such non-functional component.
            NoSuchInterfaceError: there is no such interface.
        """
        declared = self.component.type.find(name)
        if declared is not None and not declared.is_internal:
            raise IllegalBindingError(
                "is a functional interface, which the content serves",
                component=self.component.path,
                interface=name,
                cure="Export under another name",
            )
        self.exports[name] = self._server(server)

    def start(self) -> None:
        """Start the non-functional components."""
        for part in self._parts.values():
            part.start()

    def stop(self) -> None:
        """Stop the non-functional components, the last one first."""
        for part in reversed(self._parts.values()):
            part.stop()

    def terminated(self) -> None:
        """End them with their component."""
        for part in reversed(self._parts.values()):
            if part.state != "terminated":
                part.stop()
                part.terminate()

    def _server(self, end: str) -> ServerInterface:
        name, _, interface = end.partition(".")
        owner = self.component if name == "this" else self.part(name)
        return owner.server(interface)
