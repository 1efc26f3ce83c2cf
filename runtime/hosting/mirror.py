"""Mirrors: components of this process's tree whose content lives in a node process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

from gcm.adl.assemble import describe_membrane, make_component
from gcm.adl.plan import ComponentPlan
from gcm.components.model import Component
from gcm.components.wrapper import Wrapper
from gcm.errors import InstantiationError
from gcm.interfaces.future import Future
from gcm.interfaces.interface import ClientInterface, ServerEnd, ServerInterface
from gcm.interfaces.stub import Stub
from gcm.interfaces.types import InterfaceType
from gcm.invocation import Invocation
from gcm.membranes.attribute import AttributeController
from gcm.membranes.descriptions import PRIMITIVE
from gcm.records import dataclass
from runtime.hosting.host import Host
from runtime.hosting.neighbours import clients_of, servers_of
from runtime.hosting.node import NODE, PrimitivePlan
from runtime.hosting.remote import RemoteInterface
from runtime.transport.channel import Channel


@dataclass(frozen=True, slots=True)
class NodeProcess:
    """A node process as the launcher knows it.

    `home` is the path of its agent, `address` where it listens for other processes of the run, or
    empty if nobody can connect to it.
    """

    home: str
    channel: Channel
    address: str = ""


NodeOf = Callable[[ComponentPlan], NodeProcess | None]
"""Tells in which node process a component is to live; None: in this one."""

Announce = Callable[[str, NodeProcess], None]
"""Is called with the path of each component before it is made in a node process.

Whoever stands between this process and that one has to know the way to it by then.
"""


def _to_nobody(_path: str, _node: NodeProcess) -> None:
    """Announce nothing: there is nobody in between."""


class MirroredContent:
    """What a mirror wraps: everything it is asked goes to the component in the node process.

    Bindings are taken there when the mirror starts, since that is when they are complete. Among
    the mirrors that start together a server starts before its clients, which may call it at once;
    among those that stop together a client stops first, while its server still answers it.
    """

    def __init__(self, host: Host, nodes: NodeFactory, path: str, node: NodeProcess) -> None:
        self._host = host
        self._nodes = nodes
        self._bound: dict[str, tuple[ServerEnd, ...]] = {}
        self._runs = False
        self.path = path
        self.node = node
        self.mirror: Mirror | None = None

    def call(self, invocation: Invocation) -> Future[Any]:
        """Send a call to the component."""
        return self._host.call(replace(invocation, component=self.path))

    def control(self, controller: str, operation: str, *args: Any) -> Any:
        """Call a controller of the component and wait for the result."""
        call = Invocation(self.path, f"{controller}-controller", operation, args)
        return self._host.call(call).result()

    def remote(self, declared: InterfaceType) -> RemoteInterface:
        """Return a server interface of the component, without the mirror before it."""
        return RemoteInterface(self._host, self.path, declared.name, declared)

    def on_start(self) -> None:
        """Bind and start the component, after the servers that start with it."""
        if self._runs:
            return
        self._runs = True  # already, because bindings can go round in a circle
        begun: list[MirroredContent] = []
        try:
            for server in self._neighbours(servers_of):
                if not server._runs and server._is_started:
                    server.on_start()
                    begun.append(server)
            self._bind()
            self.control("lifecycle", "start")
        except BaseException:
            self._runs = False
            for server in reversed(begun):
                server.on_stop()
            raise

    def on_stop(self) -> None:
        """Stop the component, after the clients that stop with it."""
        if not self._runs:
            return
        self._runs = False
        for client in self._neighbours(clients_of):
            if not client._is_started:
                client.on_stop()
        self.control("lifecycle", "stop")

    def on_terminate(self) -> None:
        """End the component and let the node process forget it."""
        self.control("lifecycle", "terminate")
        self._host.call(Invocation(self.node.home, NODE, "drop", (self.path,))).result()
        self._host.routes.drop(self.path)

    @property
    def _is_started(self) -> bool:
        return self.mirror is not None and self.mirror.membrane.lifecycle.is_started()

    def _neighbours(self, who: Callable[[Component], Iterator[Component]]) -> list[MirroredContent]:
        assert self.mirror is not None
        return [one.mirrored for one in who(self.mirror) if isinstance(one, Mirror)]

    def _bind(self) -> None:
        """Let the component's bindings be those of the mirror."""
        assert self.mirror is not None
        for client in self.mirror.clients:
            known = self._bound.get(client.name, ())
            if client.servers == known:
                continue
            if known:
                self.control("binding", "unbind", client.name)
            self._bound[client.name] = ()
            for server in client.servers:
                self._nodes.shorten(self.node, server)
                self.control("binding", "bind", client.name, server)
            self._bound[client.name] = client.servers


class MirroredAttributes(AttributeController):
    """Reads and sets the attributes of the component where it lives."""

    __slots__ = ()

    def names(self) -> list[str]:
        """Return the names of the attributes."""
        return cast(list[str], self._content.control(self.name, "names"))

    def get(self, name: str) -> Any:
        """Return the value of an attribute; raises NoSuchAttributeError."""
        return self._content.control(self.name, "get", name)

    def set(self, name: str, value: Any) -> None:
        """Set an attribute; raises NoSuchAttributeError."""
        self._content.control(self.name, "set", name, value)

    @property
    def _content(self) -> MirroredContent:
        return cast(MirroredContent, self.component.content)


MIRROR = PRIMITIVE.including(MirroredAttributes, name="mirror")
"""The membrane of a mirror."""


class Mirror(Wrapper):
    """A wrapper around a primitive in a node process: found, bound, started like any other."""

    __slots__ = ()

    @property
    def mirrored(self) -> MirroredContent:
        """What is wrapped."""
        return cast(MirroredContent, self._wrapped)

    def _add_interface(self, declared: InterfaceType) -> ClientInterface | ServerInterface:
        if not (declared.is_server and declared.is_gathercast):
            return super()._add_interface(declared)
        made = self._interfaces[declared.name] = _GatheredThere(self, declared)
        return made


class _GatheredThere(ServerInterface):
    """A gathercast interface of a mirror: the rounds are those of the component itself.

    A client that is a mirror too calls from its own node; any other is admitted from here.
    """

    __slots__ = ()
    owner: Mirror

    def __init__(self, owner: Mirror, type: InterfaceType) -> None:
        super().__init__(owner, type)
        self._gathering = None

    def connect(self, client: ClientInterface) -> Stub:
        """Admit `client` at the component and return the stub through which it calls."""
        if isinstance(client.owner, Mirror):
            return super().connect(client)
        stub = self._stubs[client] = self.owner.mirrored.remote(self.type).connect(client)
        return stub

    def disconnect(self, client: ClientInterface) -> None:
        """Forget `client`."""
        super().disconnect(client)
        if not isinstance(client.owner, Mirror):
            self.owner.mirrored.remote(self.type).disconnect(client)


class NodeFactory:
    """Makes the components of a plan: some here, some in node processes with a mirror here.

    >>> factory = NodeFactory(host, node_of)               # doctest: +SKIP
    >>> root = assemble(plan, make=factory.make)           # doctest: +SKIP
    >>> host.publish(root.path, root)                      # doctest: +SKIP
    """

    def __init__(self, host: Host, node_of: NodeOf, announce: Announce = _to_nobody) -> None:
        self._host = host
        self._node_of = node_of
        self._announce = announce
        self._placed: dict[str, NodeProcess] = {}
        self._loaded: set[tuple[str, str]] = set()

    def make(self, plan: ComponentPlan) -> Component:
        """Make one component; what `assemble` calls.

        Raises:
            InstantiationError: it cannot be made in its node process.
        """
        node = self._node_of(plan)
        if node is None or plan.membrane.kind.is_composite:
            return make_component(plan)
        if plan.interceptors or plan.membrane.components:
            raise InstantiationError(
                "the membrane of a component on a node cannot have components or interceptors",
                component=plan.path,
                cure="Leave the component without a virtual node, or give it a controller class",
            )
        return self._mirror(plan, node)

    def shorten(self, client: NodeProcess, server: ServerEnd) -> None:
        """Let `client` reach `server` without a detour over this process, if that can be."""
        path = server.path.removesuffix(f".{server.type.name}")
        placed = self._placed.get(path)
        if placed is not None and placed is not client and placed.address:
            reach = Invocation(client.home, NODE, "reach", (placed.address, [path]))
            self._host.call(reach).result()

    def _mirror(self, plan: ComponentPlan, node: NodeProcess) -> Mirror:
        assert plan.content is not None
        remote = PrimitivePlan(
            plan.path,
            f"{plan.content.__module__}:{plan.content.__qualname__}",
            plan.component_type,
            describe_membrane(plan.membrane),
        )
        if (node.home, remote.content) not in self._loaded:
            load = Invocation(node.home, NODE, "load", (remote.content, plan.path))
            self._host.call(load).result()
            self._loaded.add((node.home, remote.content))
        self._announce(plan.path, node)
        self._host.call(Invocation(node.home, NODE, "make", (remote,))).result()
        self._host.routes.add(plan.path, node.channel)
        self._placed[plan.path] = node
        content = MirroredContent(self._host, self, plan.path, node)
        mirror = content.mirror = Mirror(plan.name, plan.component_type, MIRROR, content)
        mirror.attach()
        return mirror
