"""Makes the components of a plan: some here, some in node processes with a mirror here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from gcm.adl.assembling import describe_membrane, make_component
from gcm.adl.plan import ComponentPlan, MembraneKind, MembranePlan
from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.errors import IllegalContentError, InstantiationError
from gcm.interfaces.interface import ServerEnd
from gcm.invocation import Invocation
from gcm.suggestion import did_you_mean
from runtime.hosting.host import Host
from runtime.hosting.mirror import Mirror, MirroredComposite, PassedComposite
from runtime.hosting.mirrored_content import MirroredContent
from runtime.hosting.node import name_of_class
from runtime.hosting.other_node import NODE, NodeProcess
from runtime.hosting.routes import only

NodeOf = Callable[[ComponentPlan], NodeProcess | None]
"""Tells in which node process a component is to live; None: in this one."""

Announce = Callable[[str, NodeProcess], None]
"""Is called with the path of each component before it is made in a node process or moves there.

The processes between this one and that one have to know the way to it by then.
"""


def _to_nobody(_path: str, _node: NodeProcess) -> None:
    """Announce nothing: there is nobody in between."""


class NodeFactory:
    """Makes the components of a plan: some here, some in node processes with a mirror here.

    Components can move to any of `nodes`, by name. Of `idle` ones it is known that they have no
    process.

    >>> factory = NodeFactory(host, node_of)               # doctest: +SKIP
    >>> root = assemble(plan, make=factory.make)           # doctest: +SKIP
    >>> host.publish(root.path, root)                      # doctest: +SKIP
    """

    def __init__(
        self,
        host: Host,
        node_of: NodeOf,
        announce: Announce = _to_nobody,
        nodes: Mapping[str, NodeProcess] = MappingProxyType({}),
        idle: Collection[str] = (),
    ) -> None:
        self._host = host
        self._nodes = nodes
        self._idle = idle
        self._node_of = node_of
        self._announce = announce
        self._placed: dict[str, MirroredContent] = {}
        self._loaded: set[tuple[str, str]] = set()

    def make(self, plan: ComponentPlan) -> Component:
        """Make one component; what `assemble` calls.

        Raises:
            InstantiationError: it cannot be made in its node process.
        """
        node = self._node_of(plan)
        membrane = plan.membrane
        if node is not None and not _can_be_mirrored(membrane):
            raise InstantiationError(
                "neither a template nor a composite with attributes can be on a node",
                component=plan.path,
                cure="Leave it without a virtual node; what is inside it may have one",
            )
        if node is not None:
            return self._mirror(plan, node)
        is_plain = membrane.kind is MembraneKind.COMPOSITE and not membrane.is_template
        if not is_plain or membrane.description:
            return make_component(plan)
        made = PassedComposite(
            plan.name, plan.component_type, describe_membrane(plan.membrane), self._changed
        )
        made.attach()
        return made

    def shorten(self, client: NodeProcess, server: ServerEnd) -> None:
        """Let `client` reach `server` without a detour over this process, if that can be."""
        path = server.path.removesuffix(f".{server.type.name}")
        placed = self._placed.get(path)
        if placed is not None and placed.node is not client and placed.node.address:
            there = placed.node.address, placed.node.home, [self._prefix(placed)]
            reach = Invocation(client.home, NODE, "reach", there)
            self._host.call(reach).result()

    def drop(self, content: MirroredContent) -> None:
        """Let the node process forget a component that was terminated."""
        self._host.call(Invocation(content.node.home, NODE, "drop", (content.path,))).result()
        self._host.routes.drop(self._prefix(content))
        self._placed.pop(content.path, None)

    def load(self, plan: ComponentPlan, node: NodeProcess) -> None:
        """Import in a node process what a component consists of; raises InstantiationError."""
        for name in map(name_of_class, _classes_of(plan)):
            if (node.home, name) not in self._loaded:
                load = Invocation(node.home, NODE, "load", (name, plan.path))
                self._host.call(load).result()
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

    def moved(self, content: MirroredContent) -> None:
        """Let everybody know where a component lives now."""
        prefix = self._prefix(content)
        self._announce(prefix, content.node)
        self._host.routes.add(prefix, content.node.channel)
        for other in tuple(self._placed.values()):
            other.lead_again(content.path)

    def _changed(self, composite: Component) -> None:
        for content in tuple(self._placed.values()):
            content.composite_changed(composite)

    def _mirror(self, plan: ComponentPlan, node: NodeProcess) -> Component:
        self.load(plan, node)
        there = replace(plan, components=(), shared=(), bindings=(), attributes=())
        content = MirroredContent(self._host, self, there, node)
        description = describe_membrane(plan.membrane)
        mirror: Mirror | MirroredComposite
        if plan.membrane.kind is MembraneKind.COMPOSITE:
            mirror = MirroredComposite(plan.name, plan.component_type, description, content)
        else:
            mirror = Mirror(plan.name, plan.component_type, description, content)
        content.mirror = mirror
        self._announce(self._prefix(content), node)
        self._host.call(Invocation(node.home, NODE, "make", (there,))).result()
        self._host.routes.add(self._prefix(content), node.channel)
        self._placed[plan.path] = content
        mirror.attach()
        return mirror

    @staticmethod
    def _prefix(content: MirroredContent) -> str:
        """Return what leads to a component: what is inside a composite may be elsewhere."""
        return only(content.path) if isinstance(content.mirror, Composite) else content.path


def _can_be_mirrored(membrane: MembranePlan) -> bool:
    return not membrane.is_template and membrane.kind is not MembraneKind.PARAMETRIC_COMPOSITE


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
