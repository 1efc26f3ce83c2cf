"""The agent of a node process: makes the components that are placed there, and binds them."""

from __future__ import annotations

import importlib
import os
import socket
import threading
from collections.abc import Sequence
from typing import Any, Protocol

from gcm.adl.assembling import describe_membrane, fill_membrane
from gcm.adl.plan import ComponentPlan
from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.components.primitive import Primitive
from gcm.errors import InstantiationError
from gcm.factory import primitive
from gcm.interfaces.interface import ClientInterface, Referenced, ServerEnd, ServerInterface
from gcm.interfaces.types import ComponentType, InterfaceType
from gcm.membranes.attribute import AttributeController
from gcm.membranes.lifecycle.life import life_of
from gcm.membranes.lifecycle.starting import StartTurn
from gcm.membranes.membrane_controller import MembraneController
from gcm.membranes.migration import MigrationController
from gcm.records import dataclass
from gcm.suggestion import did_you_mean
from runtime.hosting.content_there import touched
from runtime.hosting.host import Host
from runtime.hosting.other_node import NODE, OtherNode
from runtime.transport.credentials import Credentials


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node process tells about itself.

    `address` is where other processes of the run may dial it; empty if they cannot.
    """

    address: str
    host: str
    pid: int


class NodeControl(Protocol):
    """What a launcher asks of a node process.

    The rest is done through the control interfaces of the components themselves: to bind, start,
    stop and terminate one, call its `binding-controller` and its `lifecycle-controller`.
    """

    def facts(self) -> tuple[str, str, int]:
        """Tell who this is, as plain data of which `NodeFacts` are made."""

    def load(self, content: str, component: str) -> None:
        """Import a content class for a component; raises InstantiationError.

        What is sent to the node afterwards may mention whatever its module defines.
        """

    def make(self, plan: ComponentPlan, content: Any = None) -> None:
        """Make a component with its membrane and let others reach it; raises InstantiationError.

        Of a composite only the membrane lives here; its content has plans of its own. A primitive
        that comes from another process brings its `content`.
        """

    def move(self, plan: ComponentPlan, home: str, address: str) -> None:
        """Let a primitive that was made live at `home` from now on; raises as `migrate` does.

        What is left passes on the calls that waited, until it is told to `leave`.
        """

    def rise(self, path: str, number: str) -> None:
        """Let a component be told of its start by calls of the start of that `number`."""

    def start(self, path: str) -> None:
        """Start a component that has moved here, before calls come, or that rises."""

    def hold(self, path: str) -> None:
        """Hold the calls of a component that has moved here while it was stopped."""

    def fall(self, path: str) -> None:
        """Take back that a component rises."""

    def leave(self, path: str) -> None:
        """End what is left here of a component that has moved."""

    def lead(self, path: str, client: str, servers: Sequence[ServerEnd]) -> None:
        """Let a client interface of a component that lives here lead to `servers`, in this order.

        The caller has checked that the binding is legal; it may change while calls come in.
        """

    def take_in(self, path: str, part: str) -> None:
        """Let the membrane of a component that lives here hold another one that does."""

    def touch(
        self, path: str, names: tuple[str, ...], act: str, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """Do something to the object of a primitive, as `content_there` says."""

    def drop(self, path: str) -> None:
        """Forget a component that was made; it should be terminated."""

    def lost(self, paths: Sequence[str]) -> None:
        """Wait for no component at these paths: their processes are lost."""

    def reach(self, address: str, home: str, prefixes: Sequence[str]) -> bool:
        """Try to reach what is under `prefixes` without detours; tell whether that is possible."""

    def links(self) -> dict[str, tuple[int, int]]:
        """Return how many bytes were sent to each process it is connected with, and received."""

    def kept_blocks(self) -> int:
        """Return how many blocks of arrays wait to be taken by members elsewhere."""


class _Placed(Component):
    """A component whose composite is in another process, so it is told where it is."""

    __slots__ = ()
    _place: str

    def __init__(self, plan: ComponentPlan, content: Any) -> None:
        self._place = plan.path  # type: ignore[misc]  # the slot is in the subclasses
        super().__init__(  # type: ignore[call-arg]  # that of a primitive or of a composite
            plan.path.rpartition("/")[2],
            plan.component_type,
            describe_membrane(plan.membrane),
            content,
        )

    @property
    def path(self) -> str:
        """The path within the whole assembly."""
        return self._place


class _PlacedPrimitive(_Placed, Primitive):
    __slots__ = ("_place",)


class _PlacedComposite(_Placed, Composite):
    __slots__ = ("_place",)


class NodeAgent:
    """The content of the agent."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._moved: dict[str, Component] = {}
        self._rising: dict[str, StartTurn] = {}

    def facts(self) -> tuple[str, str, int]:
        """Tell who this is."""
        return self._host.address, socket.gethostname(), os.getpid()

    def load(self, content: str, component: str) -> None:
        """Import a content class."""
        load_content(content, component)

    def move(self, plan: ComponentPlan, home: str, address: str) -> None:
        """Let a primitive that was made live at `home` from now on."""
        here = self._host.exports.component(plan.path)
        there = OtherNode(self._host, plan, home, address, runs=here.state == "started")
        here.controller(MigrationController).migrate(there)
        self._moved[plan.path] = here

    def rise(self, path: str, number: str) -> None:
        """Let a component be told of its start by calls of the start of that `number`."""
        life: Any = self._host.exports.component(path).membrane.lifecycle
        self._rising[path] = life.rise(number)

    def start(self, path: str) -> None:
        """Start a component that has moved here, or that rises."""
        rising = self._rising.pop(path, None)
        if rising is None:
            self._host.exports.component(path).start()
        else:
            rising.run()

    def hold(self, path: str) -> None:
        """Hold the calls of a component that has moved here while it was stopped."""
        life_of(self._host.exports.component(path)).stopped_by = threading.Thread()  # none of ours

    def fall(self, path: str) -> None:
        """Take back that a component rises."""
        rising = self._rising.pop(path, None)
        if rising is not None:
            rising.call_off(InstantiationError("another one could not be started"))

    def leave(self, path: str) -> None:
        """End what is left here of a component that has moved."""
        left = self._moved.pop(path, None)
        if left is not None:
            left.stop()
            left.terminate()

    def make(self, plan: ComponentPlan, content: Any = None) -> None:
        """Make a component with its membrane and let others reach it."""
        made = _placed(plan, content)
        made.attach()
        for name, value in plan.attributes:
            made.controller(AttributeController).set(name, value)
        fill_membrane(made, plan)
        self._host.publish(plan.path, made, alone=isinstance(made, Composite))

    def lead(self, path: str, client: str, servers: Sequence[ServerEnd]) -> None:
        """Let a client interface of a component that lives here lead to `servers`."""
        ends = [Referenced(end) if isinstance(end, ServerInterface) else end for end in servers]
        lead(self._host.exports.component(path).bindable(client), ends)

    def take_in(self, path: str, part: str) -> None:
        """Let the membrane of a component that lives here hold another one that does."""
        find = self._host.exports.component
        find(path).controller(MembraneController).add(find(part))

    def touch(
        self, path: str, names: tuple[str, ...], act: str, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """Do something to the object of a primitive."""
        return touched(self._host.exports.component(path).content, names, act, args, kwargs)

    def drop(self, path: str) -> None:
        """Forget a component that was made, and hang up on what is outside of the assembly."""
        for client in self._host.exports.component(path).bindables:
            for server in client.servers:
                _hang_up(server)
        self._host.withdraw(path)

    def lost(self, paths: Sequence[str]) -> None:
        """Wait for no component at these paths."""
        self._host.exports.forget_clients(paths)

    def reach(self, address: str, home: str, prefixes: Sequence[str]) -> bool:
        """Try to reach what is under `prefixes` without detours."""
        return self._host.reach(address, home, prefixes)

    def links(self) -> dict[str, tuple[int, int]]:
        """Return what was sent to each process that this one is connected with, and received."""
        return self._host.links()

    def kept_blocks(self) -> int:
        """Return how many blocks of arrays wait here to be taken."""
        return len(self._host.blocks)


def node_agent(host: Host, credentials: Credentials | None = None, address: str = "") -> Primitive:
    """Make, publish and start the agent of this process, which others may dial at `address`.

    >>> agent = node_agent(Host("/node1", reactor))    # doctest: +SKIP
    """
    host.credentials, host.address = credentials, address
    agent = primitive(
        lambda: NodeAgent(host),
        host.home.rpartition("/")[2],
        type=ComponentType((InterfaceType(NODE, NodeControl),)),
    )
    host.publish(host.home, agent)
    agent.start()
    return agent


def lead(client: ClientInterface, servers: Sequence[ServerEnd]) -> None:
    """Let `client` lead to `servers` from the next call on; no call finds it unbound meanwhile."""
    if client.servers == tuple(servers):
        return
    if client.type.is_multicast:  # it is wired once, for all its servers, when it settles
        client.unbind()
        for server in servers:
            client.bind(server)
        client.settle()
        return
    old = client.servers
    for server in servers:
        if server not in old:
            client.bind(server)
    for server in old:
        if server not in servers:
            client.unbind(server)
            _hang_up(server)


def _hang_up(server: ServerEnd) -> None:
    """End the connections to an object outside of the assembly that came with one binding."""
    close = getattr(server, "close", None)
    if close is not None:
        close()


def _placed(plan: ComponentPlan, content: Any) -> Component:
    if content is None and plan.content is not None:
        content = _content_of(plan)
    kind = _PlacedComposite if plan.membrane.kind.is_composite else _PlacedPrimitive
    return kind(plan, content)


def _content_of(plan: ComponentPlan) -> object:
    assert plan.content is not None
    try:
        return plan.content()
    except Exception as error:  # the content's own; it is the cause
        raise InstantiationError(
            f"the content {name_of_class(plan.content)} could not be made: "
            f"{type(error).__name__}: {error}",
            component=plan.path,
            cure="Its own exception is the cause, above",
        ) from error


def name_of_class(known: Any) -> str:
    """Return `module:Class`, under which another process can import it."""
    return f"{known.__module__}:{known.__qualname__}"


def load_content(name: str, component: str) -> Any:
    """Return the class that `module:Class` names.

    Raises:
        InstantiationError: there is no such module or class in this process.
    """
    module_name, _, qualified = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # a module may raise anything while it is imported
        raise InstantiationError(
            f"the module of the content '{name}' cannot be imported there: "
            f"{type(error).__name__}: {error}",
            component=component,
            cure="Install it on the node, or list its file among those to bring there",
        ) from error
    for part in qualified.split("."):
        if not hasattr(found, part):
            raise InstantiationError(
                f"there is no '{qualified}' in the module '{module_name}'",
                component=component,
                cure=did_you_mean(part, vars(found)),
            )
        found = getattr(found, part)
    return found
