"""The interfaces of a live component: servers receive calls, clients make them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from gcm.errors import IllegalBindingError
from gcm.interfaces.collective.gathercast import Gathering
from gcm.interfaces.collective.multicast import dispatcher
from gcm.interfaces.distribution import redistributes
from gcm.interfaces.signature import Operation, signature_of
from gcm.interfaces.stub import Stub, stub_class
from gcm.interfaces.types import InterfaceType

if TYPE_CHECKING:
    from gcm.components.model import Component

Port = Callable[..., Any]

_one_at_a_time = threading.Lock()
"""Threads that bind to an interface for the first time at once get the same stub."""


class ServerEnd(Protocol):
    """Anything a client interface can be bound to, here or in another process."""

    @property
    def type(self) -> InterfaceType:
        """The type of the interface at the other end."""

    @property
    def path(self) -> str:
        """Where the interface is, for messages."""

    def connect(self, client: ClientInterface) -> Stub:
        """Admit `client` and return the stub through which it calls."""

    def disconnect(self, client: ClientInterface) -> None:
        """Forget `client`."""


class Interface:
    """One interface of one component; `internal` is the face towards a composite's content."""

    __slots__ = ("internal", "owner", "type")
    is_functional: ClassVar[bool] = True
    """Whether the interface is one of the component's type, and not of a controller."""

    def __init__(self, owner: Component, type: InterfaceType, *, internal: bool = False) -> None:
        self.owner = owner
        self.type = type
        self.internal = internal

    @property
    def name(self) -> str:
        """The name of the interface."""
        return self.type.name

    @property
    def path(self) -> str:
        """The path of the component and the name of the interface."""
        return f"{self.owner.path}.{self.type.name}"

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations of the signature, by name."""
        return dict(signature_of(self.type.signature).operations)

    def __copy__(self) -> Interface:
        """Return this very interface: a reference has no copies."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Interface:
        """Return this very interface: a reference has no copies."""
        return self

    def __repr__(self) -> str:
        return f"<{self.type.role} {self.type.cardinality} interface {self.path}>"

    def __str__(self) -> str:
        return self.path


class ServerInterface(Interface):
    """An interface that receives calls and passes each to the membrane of its component."""

    __slots__ = ("_gathering", "_is_wired", "_stub", "_stubs")

    def __init__(self, owner: Component, type: InterfaceType, *, internal: bool = False) -> None:
        super().__init__(owner, type, internal=internal)
        self._stub: Stub | None = None
        self._is_wired = False
        self._stubs: dict[ClientInterface, Stub] = {}
        self._gathering = _gathering_of(self)

    @property
    def gathering(self) -> Gathering | None:
        """The rounds of a gathercast interface."""
        return self._gathering

    @property
    def gathers(self) -> bool:
        """Whether calls of several clients become one here, or where the component is."""
        return _gathers(self)

    @property
    def clients(self) -> tuple[ClientInterface, ...]:
        """The client interfaces bound to this one, in binding order."""
        return tuple(self._stubs)

    @property
    def stub(self) -> Stub:
        """The stub for callers without a binding."""
        if self._stub is None or not self._is_wired:
            made = stub_class(self.type.signature)(self)
            with _one_at_a_time:
                if self._stub is None:
                    self._stub = made
            self.wire_one(None, self._stub)  # also where another thread has only begun to
            self._is_wired = True
        return self._stub

    def connect(self, client: ClientInterface) -> Stub:
        """Admit `client` and return the stub through which it calls.

        A gathercast interface must know its callers, so each client has a stub of its own there;
        otherwise all share one. A client that stands for one in another process calls from there,
        and is admitted under its name.
        """
        if self._gathering is None or _only_stands_for_another(client):
            stub = self._stubs[client] = self.stub
            return stub
        stub = stub_class(self.type.signature)(self)
        self._gathering.admit(client)
        self._stubs[client] = stub  # first, so that a start in another thread wires it too
        self.wire_one(client, stub)
        return stub

    def disconnect(self, client: ClientInterface) -> None:
        """Forget `client`."""
        known = self._stubs.pop(client, None) is not None
        if known and self._gathering is not None and not _only_stands_for_another(client):
            self._gathering.forget(client)

    def wire(self) -> None:
        """Recompose the ports, after a controller, a binding or the life cycle changed."""
        if self._stub is not None:
            self.wire_one(None, self._stub)
        if self._gathering is not None:
            for client, stub in tuple(self._stubs.items()):  # other threads may bind meanwhile
                self.wire_one(client, stub)

    def abandon(self, why: str) -> None:
        """Refuse the calls that wait for other clients."""
        if self._gathering is not None:
            self._gathering.abandon(why)

    def open_port(self, stub: Stub, operation: str) -> Port:
        """Return the port of `operation` as it is while the component runs."""
        client = next((c for c, held in tuple(self._stubs.items()) if held is stub), None)
        return self._open_port(client, operation)

    def wire_one(self, client: ClientInterface | None, stub: Stub) -> None:
        """Fill the ports of `stub`, which `client` calls."""
        is_open = not self._is_open
        while is_open is not self._is_open:  # another thread may start or stop it meanwhile
            is_open = self._is_open
            self._fill(client, stub, is_open)

    @property
    def _is_open(self) -> bool:
        return self.owner.membrane.admits_calls or self.internal

    def _fill(self, client: ClientInterface | None, stub: Stub, is_open: bool) -> None:
        membrane = self.owner.membrane
        for name in stub._operations:
            queued = membrane.queues_calls and not self.owner.serves_at_once(name)
            stub._set_port(
                name,
                self._open_port(client, name)
                if is_open or queued
                else membrane.holding_port(self, stub, name),
            )

    def _open_port(self, client: ClientInterface | None, name: str) -> Port:
        membrane = self.owner.membrane
        port = membrane.compose(self, name, self.owner.target_of(self, name))
        if self._gathering is not None:
            return self._gathering.port(client, name, port)
        return port


def _gathering_of(server: ServerInterface) -> Gathering | None:
    """Return what gathers the calls of several clients, or None.

    Besides gathercast interfaces it is the inner face through which the members of a parallel
    component send their blocks out.
    """
    return Gathering(server) if _gathers(server) else None


def _gathers(server: ServerInterface) -> bool:
    return server.type.is_gathercast or (server.internal and redistributes(server.type.signature))


def _only_stands_for_another(client: ClientInterface) -> bool:
    """Return whether the calls of `client` are made in another process, under its own name."""
    owner = getattr(client, "owner", None)  # a client of another process is no more than its name
    return owner is not None and owner.is_elsewhere


class Referenced:
    """A server interface that a reference led to: it may be bound from any composite.

    A binding by reference does not lie within one composite, like one to another process.
    """

    __slots__ = ("_server",)

    def __init__(self, server: ServerInterface) -> None:
        self._server = server

    @property
    def server(self) -> ServerInterface:
        """The interface itself."""
        return self._server

    @property
    def type(self) -> InterfaceType:
        """The type of the interface."""
        return self._server.type

    @property
    def path(self) -> str:
        """The path of the interface."""
        return self._server.path

    def connect(self, client: ClientInterface) -> Stub:
        """Admit `client` and return the stub through which it calls."""
        return self._server.connect(client)

    def disconnect(self, client: ClientInterface) -> None:
        """Forget `client`."""
        self._server.disconnect(client)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Referenced) and other._server is self._server

    def __hash__(self) -> int:
        return hash(self._server)


class ClientInterface(Interface):
    """An interface through which a component makes calls."""

    __slots__ = ("_bound", "_stale", "_stub", "rng")

    def __init__(self, owner: Component, type: InterfaceType, *, internal: bool = False) -> None:
        super().__init__(owner, type, internal=internal)
        self._bound: dict[ServerEnd, Stub] = {}
        self._stale = False
        self._stub: Stub | None = None
        self.rng: Random | None = None

    @property
    def servers(self) -> tuple[ServerEnd, ...]:
        """What this interface is bound to, in binding order."""
        return tuple(self._bound)

    def is_bound_to(self, server: ServerEnd) -> bool:
        """Whether `server` is one of the bound servers."""
        return server in self._bound

    @property
    def is_bound(self) -> bool:
        """Whether a call would be received anywhere."""
        return bool(self._bound)

    def bind(self, server: ServerEnd) -> None:
        """Bind to `server`; the binding controller has checked that it is legal."""
        self._bound[server] = server.connect(self)
        self.changed()

    def unbind(self, server: ServerEnd | None = None) -> None:
        """Remove the binding to `server`, or all bindings."""
        for bound in list(self._bound) if server is None else [server]:
            bound.disconnect(self)
            del self._bound[bound]
        self.changed()

    def changed(self) -> None:
        """Wire the interface: a multicast one later, once for all its servers."""
        self._stale = self.type.is_multicast
        if not self._stale:
            self.wire()

    def settle(self) -> None:
        """Wire the interface now if a change of its servers is still pending."""
        if self._stale:
            self.wire()

    def wire(self) -> None:
        """Recompose the outgoing ports and tell the component, which updates its content."""
        self._stale = False
        if self._stub is not None:
            self._fill(self._stub)
        self.owner.client_changed(self)

    @property
    def reference(self) -> Stub | None:
        """What the content calls: the server's stub itself where nothing is in between."""
        if not self._bound:
            return None
        if not self.type.is_multicast:
            direct = next(iter(self._bound.values()))
            if all(self.way_out(name) == getattr(direct, name) for name in direct._operations):
                return direct
        if self._stub is None:
            self._stub = stub_class(self.type.signature)(self)
            self._fill(self._stub)
        return self._stub

    def way_out(self, operation: str) -> Port:
        """Return the port of a call of `operation`: the membrane's chain, then the server."""
        return self.owner.membrane.compose(self, operation, self._send(operation))

    def _send(self, operation: str) -> Port:
        if not self._bound:
            return _unbound(self, operation)
        if self.type.is_multicast:
            return dispatcher(self, operation, self.members())
        port: Port = getattr(next(iter(self._bound.values())), operation)
        return port

    def members(self) -> Iterator[tuple[str, Stub]]:
        """Yield the path and the stub of every bound server, in binding order."""
        for server, stub in tuple(self._bound.items()):
            yield server.path, stub

    def _fill(self, stub: Stub) -> None:
        for name in stub._operations:
            stub._set_port(name, self.way_out(name))


def _unbound(client: ClientInterface, operation: str) -> Port:
    def refuse(*_: Any, **__: Any) -> Any:
        raise IllegalBindingError(
            f"'{operation}' was called, but nothing is bound to the interface",
            component=client.owner.path,
            interface=client.name,
            cure=f'Bind it first: component.bind("{client.name}", server_interface)',
        )

    return refuse
