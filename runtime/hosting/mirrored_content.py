"""Components in node processes: where each lives, and how it follows the mirror that is here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from gcm.adl.plan import ComponentPlan, MembraneKind
from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.errors import IllegalContentError, InstantiationError
from gcm.interfaces.call_chain import LinkElsewhere, as_header, current, new_number, work_on
from gcm.interfaces.collective.gathering import AS_USUAL, RoundSettings
from gcm.interfaces.future import Future
from gcm.interfaces.interface import ClientInterface, Referenced, ServerEnd, ServerInterface
from gcm.interfaces.types import InterfaceType
from gcm.invocation import Invocation
from gcm.membranes.lifecycle.starting import StartTurn, raise_failures
from gcm.suggestion import did_you_mean
from runtime.hosting.content_there import ContentThere
from runtime.hosting.exports import INNER
from runtime.hosting.host import Host
from runtime.hosting.neighbours import behind_composites, clients_of, servers_of
from runtime.hosting.node import name_of_class
from runtime.hosting.other_node import NODE, NodeProcess, ask_node
from runtime.hosting.remote import BINDING, TYPE_OF, RemoteInterface
from runtime.hosting.routes import only
from runtime.transport.errors import ChannelClosed, TransportError, Unreachable

Announce = Callable[[str, NodeProcess], None]
"""Is called with the path of each component before it is made in a node process or moves there.

The processes between this one and that one have to know the way to it by then.
"""


def to_nobody(_path: str, _node: NodeProcess) -> None:
    """Announce nothing: there is nobody in between."""


class MirroredContent:
    """Everything the mirror is asked goes to the component in the node process.

    The bindings of an assembly are taken there when the mirror starts, since that is when they are
    complete; later ones at once. Among the mirrors that start together a server starts before its
    clients, which may call it at once; among those that stop together a client stops first, while
    its server still answers it.

    A binding through composites of this process that do nothing to its calls leads past them for
    as long as that is so.
    """

    def __init__(
        self, host: Host, placements: Placements, plan: ComponentPlan, node: NodeProcess
    ) -> None:
        self._host = host
        self._made_on = node
        self._left: NodeProcess | None = None
        self._placements = placements
        self._led: dict[str, tuple[ServerEnd, ...]] = {}
        self._passed: dict[str, list[Component]] = {}
        self._runs = False
        self._is_up = False
        self._is_rising = False
        self._part_of = ""
        """The number of its last start."""
        self.plan = plan
        self.path = plan.path
        self.node = node
        self.mirror: Component | None = None
        self.has_ended = False
        self.object = ContentThere(self.touch)
        """The object of the component, which is the same one whenever somebody asks for it."""

    def call(self, invocation: Invocation) -> Future[Any]:
        """Send a call to the component."""
        return self._host.call(invocation._replace(component=self.path))

    def control(self, controller: str, operation: str, *args: Any, **kwargs: Any) -> Any:
        """Call a controller of the component and wait for the result."""
        where = self.path, f"{controller}-controller", operation
        call = Invocation(*where, args, kwargs, chain=as_header())
        return self._host.call(call).result()

    def touch(
        self, names: tuple[str, ...], act: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Do something to the object of the component, as `content_there` says."""
        touch = self.path, names, act, args, kwargs
        return self._host.call(Invocation(self.node.home, NODE, "touch", touch)).result()

    def remote(self, declared: InterfaceType, *, internal: bool = False) -> RemoteInterface:
        """Return a server interface of the component, without the mirror before it."""
        name = f"{INNER if internal else ''}{declared.name}"
        return RemoteInterface(self._host, self.path, name, declared)

    def type_of(self, interface: str) -> InterfaceType:
        """Return the type of a server interface that the component has by now."""
        call = Invocation(self.path, BINDING, TYPE_OF, (interface,))
        found: InterfaceType = self._host.call(call).result()
        return found.with_name(interface)

    def take_in(self, part: MirroredContent) -> None:
        """Let the membrane of the component hold another component of its node."""
        ask_node(self._host, self.node.home, "take_in", self.path, part.path)

    def on_start(self) -> None:
        """Bind and start the component, after the servers that start with it."""
        turn = getattr(self.mirror.membrane.lifecycle, "turn", None) if self.mirror else None
        number = turn.number if isinstance(turn, StartTurn) else new_number()
        before = work_on(LinkElsewhere(number, f"{self.path}.start", current()))
        try:
            self._start(number)
        except BaseException:  # whatever it is, the nodes keep nothing of this start
            self._placements.let_fall(number)
            raise
        finally:
            work_on(before)

    def _start(self, number: str) -> None:
        if self._runs:
            return
        self._runs = True
        self._part_of = number
        begun: list[MirroredContent] = []
        try:
            for server in self._neighbours(servers_of):
                if server._rises and not server._runs:
                    server._start(number)
                    begun.append(server)
                elif server._starts_later:  # bindings go round in a circle
                    server._rise(number)
            if self._is_rising:
                self._is_rising = False
                ask_node(self._host, self.node.home, "start", self.path)
            else:
                self._lead_all()
                self.control("lifecycle", "start")
            self._is_up = True
        except BaseException:
            self._runs = False
            for server in reversed(begun):
                server.on_stop()
            raise

    def _rise(self, number: str) -> None:
        """Let calls in the start of that number tell the component, and its servers, of it."""
        if self._is_rising:
            return
        self._lead_all()
        ask_node(self._host, self.node.home, "rise", self.path, number)
        self._part_of = number
        self._is_rising = True
        for server in self._neighbours(servers_of):
            if server._starts_later:
                server._rise(number)

    @property
    def _starts_later(self) -> bool:
        """Whether the mirror is starting, and the component is not started yet."""
        return self.mirror is not None and self.mirror.state == "starting" and not self._is_up

    def fall(self, number: str) -> None:
        """Let the component rise no more if it is part of that start, which has failed."""
        if self._is_rising and self._part_of == number:
            self._is_rising = False
            with suppress(TransportError):  # its node is lost
                ask_node(self._host, self.node.home, "fall", self.path)

    def _lead_all(self) -> None:
        for client in self._bindables:
            self._lead(client)

    def on_stop(self) -> None:
        """Stop the component, after the clients that stop with it."""
        if not self._runs:
            return
        self._runs = self._is_up = False
        self._placements.let_fall(self._part_of)  # those of a start that fails in this process
        before = [one for one in self._neighbours(clients_of) if not one._is_started]
        stops = [one.on_stop for one in before]
        if not self.has_ended:
            stops.append(partial(self.control, "lifecycle", "stop"))
        failures: list[Exception] = []
        for stop in stops:
            try:
                stop()
            except Exception as error:  # all others must still be stopped
                failures.append(error)
        raise_failures(failures, "stopped")

    def on_terminate(self) -> None:
        """End the component and let the node process forget it."""
        if self.has_ended:  # its node is lost
            return
        self._leave()
        self.control("lifecycle", "terminate")
        self.forget()

    def forget(self) -> None:
        """Let the node process forget the component, which has ended there."""
        if not self.has_ended:
            self.has_ended = True
            self._placements.drop(self)

    def composite_changed(self, composite: Component) -> None:
        """Lead the calls that pass `composite` their new way, if they come meanwhile."""
        if not self._is_started or self.mirror is None:
            return  # its bindings are looked at when it starts
        for client in self.mirror.bindables:
            if composite in self._passed.get(client.name, ()):
                try:
                    self._lead(client)
                except (ChannelClosed, Unreachable):
                    continue  # a node is gone: no calls to lead

    def bound(self, client: ClientInterface) -> None:
        """Bind the component too, unless the assembly is still being made: then at its start."""
        assert self.mirror is not None
        if self._host.exports.name_of(self.mirror):
            self._lead(client)

    def unbound(self, client: ClientInterface) -> None:
        """Unbind the component too from what its mirror is bound to no more."""
        if client.name not in self._led:
            return  # it was never told of the binding
        try:
            self._lead(client)
        except (ChannelClosed, Unreachable):  # its node is gone, and so is its binding
            del self._led[client.name]

    @property
    def has_moved(self) -> bool:
        """Whether the component lives elsewhere than where it was made."""
        return self.node is not self._made_on

    def migrate(self, destination: object) -> None:
        """Let the component live on another node; see `MirroredMigration`."""
        node = self._placements.node(destination, self.path)
        if node.home == self.node.home:
            return
        self._leave()
        self._placements.load(self.plan, node)
        for server in (end for ends in self._led.values() for end in ends):
            self._placements.shorten(node, server)
        rounds = self._rounds()
        ask_node(self._host, self.node.home, "move", self.plan, node.home, node.address)
        self._left, self.node = self.node, node
        self._placements.announce_move(self)
        for interface, settings in rounds.items():
            self.control(
                "gathercast", "configure", interface, wait_for_all=settings.wait_for_all,
                timeout=settings.timeout, when_left=settings.when_left.value,
            )  # fmt: skip

    def _rounds(self) -> dict[str, RoundSettings]:
        """Return when rounds are over there, where that was configured."""
        assert self.mirror is not None
        names = [one.name for one in self.mirror.servers if one.type.is_gathercast]
        found = {name: self.control("gathercast", "settings", name) for name in names}
        return {name: settings for name, settings in found.items() if settings != AS_USUAL}

    def _leave(self) -> None:
        """End what passes on the calls that came to where the component lived before."""
        left, self._left = self._left, None
        if left is not None:
            ask_node(self._host, left.home, "leave", self.path)

    def lead_again(self, path: str) -> None:
        """Lead what calls the component at `path` to where that is now."""
        for client in self._bindables:
            led = self._led.get(client.name, ())
            if any(_path_of(end) == path for end in led):
                del self._led[client.name]
                self._lead(client)

    @property
    def _bindables(self) -> Iterable[ClientInterface]:
        assert self.mirror is not None
        return self.mirror.bindables

    @property
    def _is_started(self) -> bool:
        return self.mirror is not None and self.mirror.membrane.lifecycle.is_started()

    @property
    def _rises(self) -> bool:
        """Whether the mirror is started, or a composite that is told of its start later."""
        if self.mirror is None or not self.mirror.children:
            return self._is_started
        return self.mirror.state in ("starting", "started")

    def _neighbours(self, who: Callable[[Component], Iterator[Component]]) -> list[MirroredContent]:
        assert self.mirror is not None
        found = (getattr(one, "mirrored", None) for one in who(self.mirror))
        return [one for one in found if isinstance(one, MirroredContent)]

    def _lead(self, client: ClientInterface) -> None:
        """Let a client interface of the component lead to where that of the mirror does."""
        ways: list[ServerEnd] = []
        passed: list[Component] = []
        for server in client.servers:
            there = server.server if isinstance(server, Referenced) else server
            way, between = behind_composites(there)
            passed += between
            if isinstance(way, ServerInterface):
                passed.append(way.owner)  # it may let calls pass later
            ways.append(way)
        self._passed[client.name] = passed
        if self._led.get(client.name, ()) == tuple(ways):
            return
        for way in ways:
            self._placements.shorten(self.node, way)
        ask_node(self._host, self.node.home, "lead", self.path, client.name, ways)
        self._led[client.name] = tuple(ways)


class Placements:
    """What lives in node processes, and what has to be done there so that it can.

    Components can move to any of `nodes`, by name. Of `idle` ones it is known that they have no
    process.
    """

    def __init__(
        self,
        host: Host,
        announce: Announce,
        nodes: Mapping[str, NodeProcess],
        idle: Collection[str],
    ) -> None:
        self._host = host
        self._announce = announce
        self._nodes = nodes
        self._idle = idle
        self._placed: dict[str, MirroredContent] = {}
        self._loaded: set[tuple[str, str]] = set()

    def place(self, content: MirroredContent, copied: object = None) -> None:
        """Make a component in its node process, what it consists of having been loaded there.

        Where its content is not made there, it is `copied` there.
        """
        prefix, node = self._prefix(content), content.node
        self._announce(prefix, node)
        ask_node(self._host, node.home, "make", content.plan, copied)
        self._host.routes.add(prefix, node.channel)
        self._placed[content.path] = content

    def shorten(self, client: NodeProcess, server: ServerEnd) -> None:
        """Let `client` reach `server` without a detour over this process, if that can be."""
        placed = self._placed.get(_path_of(server))
        if placed is not None and placed.node is not client and placed.node.address:
            there = placed.node.address, placed.node.home, [self._prefix(placed)]
            ask_node(self._host, client.home, "reach", *there)

    def let_fall(self, number: str) -> None:
        """Let no component rise that is part of the start of that number, which has failed."""
        for content in tuple(self._placed.values()):
            content.fall(number)

    def lost(self, node: NodeProcess) -> list[str]:
        """Let the components of a node process that is lost have ended; return their paths."""
        gone = [one for one in tuple(self._placed.values()) if one.node is node]
        for content in gone:
            content.has_ended = True
            self._placed.pop(content.path, None)
        return [content.path for content in gone]

    def drop(self, content: MirroredContent) -> None:
        """Let the node process forget a component that was terminated."""
        ask_node(self._host, content.node.home, "drop", content.path)
        self._host.routes.drop(self._prefix(content))
        self._host.exports.withdraw(content.path)
        self._placed.pop(content.path, None)

    def load(self, plan: ComponentPlan, node: NodeProcess) -> None:
        """Import in a node process what a component consists of; raises InstantiationError."""
        for name in map(name_of_class, _classes_of(plan)):
            if name.startswith("__main__:"):
                raise InstantiationError(
                    f"the content '{name}' is of the program itself, which no node imports",
                    component=plan.path,
                    cure="Put the class into a module beside the program, and import it from there",
                )
            if (node.home, name) not in self._loaded:
                ask_node(self._host, node.home, "load", name, plan.path)
                self._loaded.add((node.home, name))

    def node(self, name: object, component: str) -> NodeProcess:
        """Return the node process of that name, to which a component wants to move.

        Raises:
            IllegalContentError: there is none.
        """
        known = self._nodes.get(name) if isinstance(name, str) else None
        if known is None and name in self._idle:
            raise IllegalContentError(
                f"the node '{name}' has no process that components can move to, since no virtual"
                " node is mapped to it",
                component=component,
                cure=f'Map one to it in the descriptor: <virtual-node name="spare" nodes="{name}"/>'
                ", which no component has to use",
            )
        if known is None:
            raise IllegalContentError(
                f"there is no node '{name}' that components can move to",
                component=component,
                cure=did_you_mean(str(name), self._nodes)
                or f"There is: {', '.join(self._nodes) or 'none'}",
            )
        return known

    def announce_move(self, content: MirroredContent) -> None:
        """Let everybody know where a component lives now."""
        prefix = self._prefix(content)
        self._announce(prefix, content.node)
        self._host.routes.add(prefix, content.node.channel)
        for other in tuple(self._placed.values()):
            other.lead_again(content.path)

    def composite_changed(self, composite: Component) -> None:
        """Lead the calls that pass a composite of this process their new way."""
        for content in tuple(self._placed.values()):
            content.composite_changed(composite)

    @staticmethod
    def _prefix(content: MirroredContent) -> str:
        """Return what leads to a component: what is inside a composite may be elsewhere."""
        return only(content.path) if isinstance(content.mirror, Composite) else content.path


def _path_of(server: ServerEnd) -> str:
    """Return the path of a component where it lives; here it may have another name by now."""
    there = getattr(getattr(server, "owner", None), "mirrored", None)
    if isinstance(there, MirroredContent):
        return there.path
    return server.path.removesuffix(f".{server.type.name}")


def _classes_of(plan: ComponentPlan) -> Iterator[Any]:
    """Yield what has to be imported where the component is made."""
    if plan.content is not None and plan.membrane.kind is not MembraneKind.COMPOSITE:
        yield plan.content
    for interceptor in plan.interceptors:
        if interceptor.factory is not None:
            yield interceptor.factory
    for part in plan.membrane.components:
        yield from _classes_of(part)
        for inside in part.components:
            yield from _classes_of(inside)
