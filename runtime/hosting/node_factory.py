"""Makes the components of a plan: some here, some in node processes with a mirror here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Any

from gcm.adl.assembling import describe_membrane, make_component
from gcm.adl.definitions.model import NOWHERE
from gcm.adl.plan import ComponentPlan, MembraneKind, MembranePlan
from gcm.components import NO_NOTES
from gcm.components.membrane import MembraneDescription
from gcm.components.model import NAME_RULE, Component, is_component_name
from gcm.errors import InstantiationError
from gcm.factory import described
from gcm.interfaces.types import ComponentType
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import DESCRIPTIONS
from runtime.hosting.host import Host
from runtime.hosting.mirror import Mirror, MirroredComposite, PassedComposite
from runtime.hosting.mirrored_content import Announce, MirroredContent, Placements, to_nobody
from runtime.hosting.other_node import NodeProcess

MADE = "/made"
"""Where components are that no document names."""

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
        self._numbers = count(1)

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

    def new(
        self,
        node: NodeProcess,
        name: str,
        type: ComponentType,
        controllers: MembraneDescription | str,
        content: Any = None,
    ) -> Component:
        """Make a component on a node while the assembly runs, in no composite yet.

        Raises:
            InstantiationError: it cannot be made in its node process.
        """
        if not is_component_name(name):
            raise InstantiationError(f"'{name}' cannot name a component", cure=NAME_RULE)
        membrane = _membrane_of(described(controllers, name))
        if not _can_be_mirrored(membrane) or (content is None) is not membrane.kind.is_composite:
            raise InstantiationError(
                "on a node a component is a primitive with a content, or a composite without one",
                component=name,
            )
        # Elsewhere it keeps the path under which it was made, wherever it is added or renamed here.
        plan = ComponentPlan(
            name=name,
            path=f"{MADE}/{next(self._numbers)}/{name}",
            component_type=type,
            membrane=membrane,
            content=content,
            attributes=(),
            interceptors=(),
            rounds=(),
            components=(),
            shared=(),
            bindings=(),
            notes=NO_NOTES,
            location=NOWHERE,
        )
        mirror = self._mirror(plan, node)
        self._host.exports.publish(plan.path, mirror)
        return mirror

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


def _membrane_of(description: MembraneDescription) -> MembranePlan:
    for kind in MembraneKind:
        if DESCRIPTIONS[kind.value] is description:
            return MembranePlan(kind)
    is_composite = ContentController in description.controllers
    kind = MembraneKind.COMPOSITE if is_composite else MembraneKind.PRIMITIVE
    return MembranePlan(kind, description)


def _can_be_mirrored(membrane: MembranePlan) -> bool:
    return not membrane.is_template and membrane.kind is not MembraneKind.PARAMETRIC_COMPOSITE
