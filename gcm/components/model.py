"""The base of every component: a name and a place, a type, interfaces, a membrane, and notes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, TypeVar

from gcm.components.membrane import (
    C,
    Membrane,
    MembraneDescription,
    control_name,
    controller_name,
)
from gcm.components.notes import NO_NOTES, Notes
from gcm.errors import GcmError, IllegalTypeError, NoSuchComponentError, NoSuchInterfaceError
from gcm.interfaces.interface import ClientInterface, Interface, ServerEnd, ServerInterface
from gcm.interfaces.types import ComponentType, InterfaceType
from gcm.suggestion import did_you_mean

if TYPE_CHECKING:
    from gcm.components.composite import Composite


T = TypeVar("T")

NAME_RULE = "A name is not empty, has no '.', '/' or ':', and is not 'this'"


def is_component_name(text: str) -> bool:
    """Return whether the text is a valid component name: paths and bindings have to contain it."""
    return bool(text.strip()) and not set(text) & set("./:") and text != "this"


class Component(ABC):
    """A component: content within a membrane, reached only through its interfaces.

    Components are made by `gcm.factory`; this class holds what primitives, composites
    and wrappers have in common.
    """

    __slots__ = (
        "__weakref__",
        "_interfaces",
        "host",
        "membrane",
        "name",
        "notes",
        "parents",
        "type",
    )

    is_elsewhere: ClassVar[bool] = False
    """Whether this only stands for a component of another process, which has its membrane too."""
    kind: ClassVar[str] = ""
    """What it is called where it is shown; by default the name of its class."""

    def __init__(self, name: str, type: ComponentType, description: MembraneDescription) -> None:
        self.name = name
        self.type = type
        self.notes: Notes = NO_NOTES
        self.parents: tuple[Composite, ...] = ()
        self.host: Component | None = None  # the component whose membrane holds this one
        self._interfaces: dict[str, ClientInterface | ServerInterface] = {}
        self.membrane = Membrane(self, description)
        for declared in type.interfaces:
            if not declared.is_collection:
                self._add_interface(declared)

    def attach(self) -> None:
        """Prepare the controllers; called once, when the component is complete."""
        for controller in self.membrane.having("attached"):
            controller.attached()

    # -- identity -------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The names from the root down to this component; a shared one is named in one place."""
        names: list[str] = []
        here: Component | None = self
        while here is not None:
            names.append(here.name)
            here = here.parents[0] if here.parents else None
        return "/" + "/".join(reversed(names))

    def __repr__(self) -> str:
        return f"<{self.kind or type(self).__name__.lower()} {self.path}>"

    def __copy__(self) -> Component:
        """Return this very component: a reference has no copies."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Component:
        """Return this very component: a reference has no copies."""
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Refuse to be pickled: only its interfaces can be referred to from another process."""
        raise GcmError(
            "a component cannot leave its process",
            component=self.path,
            cure="Pass one of its interfaces; the transport carries the reference",
        )

    @property
    def children(self) -> tuple[Component, ...]:
        """The sub-components; only a composite has any."""
        return ()

    @property
    def content(self) -> Any:
        """The object of a primitive or of a parametric composite; None where there is none."""
        return None

    @property
    def content_class(self) -> type[Any]:
        """The class of the content, also where that is in another process."""
        return type(self.content)

    def serves_at_once(self, operation: str) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether calls of `operation` bypass the queue of an active object."""
        return False

    # -- interfaces -----------------------------------------------------------------------------

    @property
    def interfaces(self) -> Mapping[str, Interface]:
        """The external interfaces that exist now, by name: the functional ones come first.

        After them come those of components in the membrane, and the control interfaces.
        """
        found: dict[str, Interface] = dict(self._interfaces)
        for name, offered in self.membrane.offered.items():
            found.setdefault(name, offered)
        for controller in self.membrane:
            found.setdefault(control_name(controller), self.membrane.control_interface(controller))
        return found

    @property
    def servers(self) -> list[ServerInterface]:
        """The external server interfaces."""
        return [known for known in self._made() if isinstance(known, ServerInterface)]

    @property
    def clients(self) -> list[ClientInterface]:
        """The external client interfaces."""
        return [known for known in self._made() if isinstance(known, ClientInterface)]

    def _made(self) -> tuple[ClientInterface | ServerInterface, ...]:
        """A snapshot of the interfaces: a call in another thread may make one more."""
        return tuple(self._interfaces.values())

    def interface(self, name: str) -> Interface:
        """Return the interface of that name; the member of a collection is made on first use.

        `<controller>-controller` names the control interface of a controller, and `component` that
        of introspection.

        Raises:
            NoSuchInterfaceError: there is none; the message lists those that exist.
        """
        found = self._interfaces.get(name)
        if found is not None:
            return found
        declared = self.type.find(name)
        if declared is not None:
            return self._add_interface(declared.with_name(name))
        if controller_name(name) in self.membrane:
            return self.membrane.control_interface(controller_name(name))
        offered = self.membrane.offered.get(name)
        if offered is not None:
            return offered
        raise self._no_such_interface(name)

    def server(self, name: str) -> ServerInterface:
        """Return the server interface of that name.

        Raises:
            NoSuchInterfaceError: there is none, or it is a client interface.
        """
        found = self.interface(name)
        if not isinstance(found, ServerInterface):
            raise self._no_such_interface(name, "server")
        return found

    def client(self, name: str) -> ClientInterface:
        """Return the client interface of that name.

        Raises:
            NoSuchInterfaceError: there is none, or it is a server interface.
        """
        found = self.interface(name)
        if not isinstance(found, ClientInterface):
            raise self._no_such_interface(name, "client")
        return found

    def stub(self, name: str, signature: Callable[..., T]) -> T:
        """Return the stub of a server interface, typed by its signature for editor and checker.

        >>> component.stub("greeter", Greeter).greet("world")    # doctest: +SKIP
        """
        found: Any = self.server(name).stub
        expected: Any = signature
        actual = self.interface(name).type.signature
        if not (actual is expected or expected in actual.__mro__):
            raise IllegalTypeError(
                f"the signature is {actual.__qualname__}, not {expected.__qualname__}",
                component=self.path,
                interface=name,
                cure=f"Ask for {actual.__qualname__}, or name another interface",
            )
        return found  # type: ignore[no-any-return]  # stubs are made at run time

    def controller(self, kind: type[C]) -> C:
        """Return the controller of that class.

        Raises:
            NoSuchControllerError: the membrane has none.
        """
        return self.membrane.get(kind)

    def _add_interface(self, declared: InterfaceType) -> ClientInterface | ServerInterface:
        kind = ClientInterface if declared.is_client else ServerInterface
        made = self._interfaces[declared.name] = kind(self, declared)
        return made

    def _no_such_interface(self, name: str, role: str = "") -> NoSuchInterfaceError:
        known = [
            known.name for known in self.type.interfaces if not role or known.role.value == role
        ]
        control = () if role == "client" else map(control_name, self.membrane)
        return NoSuchInterfaceError(
            f"there is no {role + ' ' if role else ''}interface '{name}'",
            component=self.path,
            cure=did_you_mean(name, (*known, *control))
            or f"There is: {', '.join(known) or 'none'}",
        )

    @property
    def bindables(self) -> list[ClientInterface]:
        """Everything here that can be bound: the clients, and the inner faces of a composite."""
        return self.clients

    def bindable(self, name: str) -> ClientInterface:
        """Return the interface that a binding of `name` starts from.

        Raises:
            NoSuchInterfaceError: there is none.
        """
        return self.client(name)

    # -- what the membrane needs of its component ------------------------------------------------

    @abstractmethod
    def target_of(self, interface: ServerInterface, operation: str) -> Callable[..., Any]:
        """Return what serves `operation` once the call has passed the membrane."""

    def other_face(self, interface: Interface) -> Interface | None:  # noqa: ARG002 - for composites
        """Return the face at the other side of a composite's membrane."""
        return None

    @abstractmethod
    def client_changed(self, interface: ClientInterface) -> None:
        """Take note that `interface` leads somewhere else now."""

    def wire_servers(self) -> None:
        """Compose the ports of all server interfaces anew."""
        for server in self.servers:
            server.wire()

    def rewire(self) -> None:
        """Compose all chains anew, after the membrane changed."""
        for client in self.clients:
            client.wire()
        self.wire_servers()

    # -- shortcuts to common controllers ---------------------------------------------------------

    @property
    def state(self) -> str:
        """The state of the life-cycle."""
        return self.membrane.lifecycle.state().value

    def start(self) -> None:
        """Start the component; see `LifeCycleController.start`."""
        self.membrane.lifecycle.start()

    def stop(self) -> None:
        """Stop the component; see `LifeCycleController.stop`."""
        self.membrane.lifecycle.stop()

    def terminate(self) -> None:
        """End the component for good; see `LifeCycleController.terminate`."""
        self.membrane.lifecycle.terminate()

    def bind(self, client: str, server: ServerEnd) -> None:
        """Bind the client interface of that name; see `BindingController.bind`."""
        self.membrane.binding.bind(client, server)

    def unbind(self, client: str, server: ServerEnd | None = None) -> None:
        """Unbind the client interface of that name; see `BindingController.unbind`."""
        self.membrane.binding.unbind(client, server)

    def find(self, path: str) -> Component:
        """Return the component that a relative path such as `farm/worker1` leads to.

        Raises:
            NoSuchComponentError: there is no sub-component of one of these names.
        """
        here: Component = self
        for name in filter(None, path.split("/")):
            known = {child.name: child for child in here.children}
            if name not in known:
                raise NoSuchComponentError(
                    f"there is no sub-component '{name}'",
                    component=here.path,
                    cure=did_you_mean(name, known) or f"There is: {', '.join(known) or 'none'}",
                )
            here = known[name]
        return here
