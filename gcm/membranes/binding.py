"""The `binding` controller: binds client interfaces to servers, and unbinds them."""

from __future__ import annotations

from collections.abc import Iterable

from gcm.components.boundary import Boundary
from gcm.components.controller import Controller
from gcm.components.model import Component
from gcm.errors import IllegalBindingError, IllegalLifeCycleError
from gcm.interfaces.compatibility import cure_for, mismatches
from gcm.interfaces.distribution import redistributes
from gcm.interfaces.interface import ClientInterface, Interface, ServerEnd, ServerInterface
from gcm.interfaces.types import Cardinality, InterfaceType


class BindingController(Controller):
    """Binds the client interfaces of one component, and the inner ones of a composite.

    Bindings change only while the component is stopped.
    """

    __slots__ = ()
    name = "binding"

    def names(self) -> list[str]:
        """Return the names of the interfaces that can be bound."""
        return [client.name for client in self.component.bindables]

    def lookup(self, client: str) -> tuple[ServerEnd, ...]:
        """Return what an interface is bound to, in binding order.

        Raises:
            NoSuchInterfaceError: there is no such interface to bind.
        """
        return self.component.bindable(client).servers

    def bind(self, client: str, server: ServerEnd) -> None:
        """Bind the interface named `client` to `server`.

        On a composite the name of a server interface means its inner face. The member of a
        collection is made on first use.

        Raises:
            IllegalLifeCycleError: the component is not stopped.
            IllegalBindingError: the binding breaks a rule, with every reason listed.
            NoSuchInterfaceError: there is no such interface to bind.
        """
        end = self.component.bindable(client)
        self._require_stopped(client)
        self._require_end(client, server)
        faults = list(binding_faults(end, server))
        if faults:
            raise IllegalBindingError(
                f"cannot be bound to {server.path}: " + "; ".join(faults),
                component=self.component.path,
                interface=client,
                state=self.component.state,
                cure=_cure(end, server, len(faults)),
            )
        end.bind(server)

    def unbind(self, client: str, server: ServerEnd | None = None) -> None:
        """Remove the binding to `server`, or all bindings of the interface named `client`.

        Raises:
            IllegalLifeCycleError: the component is not stopped.
            IllegalBindingError: there is no such binding.
            NoSuchInterfaceError: there is no such interface to bind.
        """
        end = self.component.bindable(client)
        self._require_stopped(client)
        if not end.is_bound or (server is not None and not end.is_bound_to(server)):
            raise IllegalBindingError(
                f"is not bound to {server.path}" if server else "is not bound",
                component=self.component.path,
                interface=client,
                cure=f"It is bound to: {', '.join(s.path for s in end.servers) or 'nothing'}",
            )
        end.unbind(server)

    def faults_before_start(self) -> Iterable[str]:
        """Name every mandatory interface that is not bound; inside a composite too.

        A collection may have no members at all. Bindings that leave a composite are named too.
        """
        for client in self.component.bindables:
            if client.type.is_mandatory and not client.is_bound and self._is_wanted(client):
                yield f"mandatory interface '{client.name}' is not bound"
        yield from self._not_local()

    def _not_local(self) -> Iterable[str]:
        """Name the bindings of added parts whose other end is in no composite."""
        for client in self.component.bindables:
            for server in client.servers:
                if not is_local(client, server):
                    yield (
                        f"{client.path} is bound to {server.path}, and the two are not in the same "
                        f"composite ({_places(client, server)})"
                    )

    def _is_wanted(self, client: ClientInterface) -> bool:
        if not client.type.is_collection:
            return True
        other = self.component.other_face(client)
        return isinstance(other, ServerInterface) and bool(other.clients)

    def _require_end(self, client: str, server: object) -> None:
        if not isinstance(getattr(server, "type", None), InterfaceType):
            raise IllegalBindingError(
                f"cannot be bound to {server!r}, which is not a server interface",
                component=self.component.path,
                interface=client,
                cure="Pass one of a component, such as component.server('name')",
            )

    def _require_stopped(self, client: str) -> None:
        if self.component.state != "stopped":
            raise IllegalLifeCycleError(
                "bindings change only while the component is stopped",
                component=self.component.path,
                interface=client,
                state=self.component.state,
                cure="A terminated component never comes back: make a new one"
                if self.component.state == "terminated"
                else "Stop it, bind, and start it again: no request is lost",
            )


def binding_faults(client: ClientInterface, server: ServerEnd) -> Iterable[str]:
    """Yield every rule that a binding of `client` to `server` would violate."""
    if not server.type.is_server:
        yield f"'{server.type.name}' is a client interface, so nothing can be bound to it"
        return
    if client.is_bound_to(server):
        yield "it is bound to it already"
    elif client.is_bound and not client.type.is_multicast:
        bound = client.servers[0].path
        yield f"a {client.type.cardinality} interface has one server, and {bound} is bound to it"
    if client.type.is_mandatory and not server.type.is_mandatory:
        yield "a mandatory client needs a mandatory server, and this one is optional"
    if not is_local(client, server):
        yield (
            f"the two are not in the same composite ({_places(client, server)}); a binding that "
            "leaves a composite goes through an interface of that composite"
        )
    for mismatch in mismatches(
        client.type.signature, server.type.signature, collective_cardinality(client)
    ):
        yield str(mismatch)


def _cure(client: ClientInterface, server: ServerEnd, faults: int) -> str:
    """Return what to do about a binding that violates some rules."""
    if faults == 1 and not is_local(client, server) and may_become_local(client, server):
        return "Add the other one to the composite first, or bind through the composite's interface"
    if faults == 1 and client.is_bound_to(server):
        return "Leave this out: the binding is there"
    if faults == 1 and client.is_bound and not client.type.is_multicast:
        return "Unbind it first"
    if client.type.is_multicast and client.type.signature is server.type.signature:
        cure = cure_for(
            client.type.signature,
            server.type.signature,
            client.type.cardinality,
            server.type.cardinality,
        )
        return cure[0].upper() + cure[1:]
    return "Fix this, or choose another server"


def collective_cardinality(client: ClientInterface) -> Cardinality:
    """Return how the arguments of the two ends correspond."""
    declared = client.owner.type.find(client.name)
    if declared is not None and redistributes(declared.signature):
        return Cardinality.SINGLETON  # every member sees its own block, at both ends
    if client.type.is_multicast:
        return Cardinality.MULTICAST
    # A composite that gathers outgoing calls with lists: behind its gathercast server, or before
    # its gathercast client.
    if declared and declared.is_gathercast and declared.is_server is client.internal:
        return Cardinality.GATHERCAST
    return Cardinality.SINGLETON


def is_local(client: ClientInterface, server: ServerEnd) -> bool:
    """Return whether the two ends see each other: siblings, or a composite and its content.

    Components that are in no composite see each other, and one in a membrane sees the component
    that it is part of. What a reference leads to is not in this assembly, and control interfaces
    are not functional: both are always in reach.
    """
    if not isinstance(server, ServerInterface) or not server.is_functional:
        return True
    if client.owner.host is server.owner:
        return True
    return any(
        one & other or not (one or other) for one in _seen_in(client) for other in _seen_in(server)
    )


def may_become_local(client: ClientInterface, server: ServerEnd) -> bool:
    """Return whether the two ends see each other once those in no composite are added to one."""
    if is_local(client, server) or not isinstance(server, ServerInterface):
        return True
    client_home, server_home = homes(client), homes(server)
    if client_home and server_home:
        return False
    return client.owner not in server_home and server.owner not in client_home


def homes(end: Interface) -> set[Component]:
    """Return the composites in whose content bindings of `end` lie; several where it is shared."""
    return set().union(*_seen_in(end))


def _seen_in(end: Interface) -> list[set[Component]]:
    """Return the composites in whose content an end is, and, apart, those where it is offered.

    An interface of a component in a membrane is seen from inside that membrane. The one that is
    offered is also seen from where the component is.
    """
    owner, host = end.owner, end.owner.host
    parents: set[Component] = set(owner.parents)
    if host is None:
        return [{owner} if end.internal else parents]
    is_outside = isinstance(owner, Boundary) and not (end.internal or owner.leads_inside(end.name))
    inside = {owner} if end.internal and not isinstance(owner, Boundary) else {*parents, host}
    outside: list[set[Component]] = (
        [set(host.parents)] if end in host.membrane.offered.values() else []
    )
    return outside if is_outside else [inside, *outside]


def _places(client: ClientInterface, server: ServerEnd) -> str:
    ends = [end for end in (client, server) if isinstance(end, Interface)]
    return "; ".join(
        f"{end.path} is in "
        + (", ".join(sorted(home.path for home in homes(end))) or "no composite")
        for end in ends
    )
