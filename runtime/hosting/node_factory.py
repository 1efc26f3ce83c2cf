"""Makes the components of a plan: some here, some in node processes with a mirror here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

from gcm.adl.assembling import describe_membrane, make_component
from gcm.adl.plan import ComponentPlan, MembraneKind, MembranePlan
from gcm.components.model import Component
from gcm.errors import InstantiationError
from runtime.hosting.host import Host
from runtime.hosting.mirror import Mirror, MirroredComposite, PassedComposite
from runtime.hosting.mirrored_content import Announce, MirroredContent, Placements, to_nobody
from runtime.hosting.other_node import NodeProcess

NodeOf = Callable[[ComponentPlan], NodeProcess | None]
"""Tells in which node process a component is to live; None: in this one."""


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
        announce: Announce = to_nobody,
        nodes: Mapping[str, NodeProcess] = MappingProxyType({}),
        idle: Collection[str] = (),
    ) -> None:
        self._host = host
        self._node_of = node_of
        self._placements = Placements(host, announce, nodes, idle)

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
            plan.name,
            plan.component_type,
            describe_membrane(plan.membrane),
            self._placements.composite_changed,
        )
        made.attach()
        return made

    def _mirror(self, plan: ComponentPlan, node: NodeProcess) -> Component:
        self._placements.load(plan, node)
        there = replace(plan, components=(), shared=(), bindings=(), attributes=())
        content = MirroredContent(self._host, self._placements, there, node)
        description = describe_membrane(plan.membrane)
        mirror: Mirror | MirroredComposite
        if plan.membrane.kind is MembraneKind.COMPOSITE:
            mirror = MirroredComposite(plan.name, plan.component_type, description, content)
        else:
            mirror = Mirror(plan.name, plan.component_type, description, content)
        content.mirror = mirror
        self._placements.place(content)
        mirror.attach()
        return mirror


def _can_be_mirrored(membrane: MembranePlan) -> bool:
    return not membrane.is_template and membrane.kind is not MembraneKind.PARAMETRIC_COMPOSITE
