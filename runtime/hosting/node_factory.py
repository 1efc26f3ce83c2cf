"""Makes the components of a plan: some here, some in node processes with a mirror here."""

from __future__ import annotations

import builtins
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
from gcm.components.model import Component
from gcm.factory import ComponentPlace, made_content, new_template, placed
from gcm.interfaces.types import ComponentType
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import DESCRIPTIONS
from gcm.membranes.membrane_controller import MembraneController
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
        if node is None:
            return self._here(plan)
        if plan.membrane.is_template:  # it runs nothing, so it is here, and its instances are there
            membrane = describe_membrane(plan.membrane)
            there = _On(self, node)
            return new_template(plan.name, plan.component_type, membrane, plan.content, node=there)
        return self._mirror(plan, node)

    def make_on(
        self,
        node: NodeProcess | None,
        name: str,
        type: ComponentType,
        description: MembraneDescription,
        content: Callable[[], Any] | None = None,
    ) -> Component:
        """Make a component on a node while the assembly runs, in no composite yet.

        Without a node it is a composite of this process, whose calls between nodes may pass it.

        Raises:
            InstantiationError: it cannot be made in its node process.
        """
        # Elsewhere it keeps the path under which it was made, wherever it is added or renamed here.
        path = f"{MADE}/{next(self._numbers)}/{name}"
        content_class: Any = content
        made_here: object = None
        if node is not None and content is not None and not isinstance(content, builtins.type):
            made_here = made_content(name, content)  # what is no class cannot be imported
            content_class = builtins.type(made_here)
        plan = ComponentPlan(
            name=name,
            path=path,
            component_type=type,
            membrane=_membrane_of(description),
            content=content_class,
            attributes=(),
            interceptors=(),
            rounds=(),
            components=(),
            shared=(),
            bindings=(),
            notes=NO_NOTES,
            location=NOWHERE,
        )
        if node is None:
            made = self._here(plan)
            self._host.publish(path, made, alone=True)  # nodes call what is at its inner side
        else:
            made = self._mirror(plan, node, made_here)
            self._host.exports.publish(path, made)
        return made

    def making_all_on(self, node: NodeProcess) -> Callable[[ComponentPlan], Component]:
        """Return what makes all components of another plan on one node, for `assemble`."""
        above = f"{MADE}/{next(self._numbers)}"  # elsewhere its paths are nobody else's

        def make(plan: ComponentPlan) -> Component:
            made = self._mirror(replace(plan, path=f"{above}{plan.path}"), node)
            self._host.exports.publish(f"{above}{plan.path}", made)
            return made

        return make

    def lost(self, node: NodeProcess) -> list[str]:
        """Let the components of a node process that is lost have ended; return their paths."""
        return self._placements.lost(node)

    def _here(self, plan: ComponentPlan) -> Component:
        membrane = plan.membrane
        is_plain = membrane.kind is MembraneKind.COMPOSITE and not membrane.is_template
        if not is_plain or membrane.description:
            with placed(None):
                return make_component(plan)
        made = PassedComposite(
            plan.name,
            plan.component_type,
            describe_membrane(membrane),
            self._placements.composite_changed,
        )
        made.attach()
        return made

    def _mirror(self, plan: ComponentPlan, node: NodeProcess, content: object = None) -> Component:
        self._placements.load(plan, node)
        there = replace(plan, components=(), shared=(), bindings=(), attributes=())
        mirrored = MirroredContent(self._host, self._placements, there, node)
        description = describe_membrane(plan.membrane)
        kind = MirroredComposite if plan.membrane.kind.is_composite else Mirror
        mirror = kind(plan.name, plan.component_type, description, mirrored)
        mirrored.mirror = mirror
        self._placements.place(mirrored, content)
        mirror.attach()
        for declared in plan.membrane.component_type.interfaces:
            if declared.is_server and not declared.is_internal:
                membrane: Any = mirror.controller(MembraneController)
                membrane.offer(declared)
        return mirror


def _membrane_of(description: MembraneDescription) -> MembranePlan:
    for kind in MembraneKind:
        if DESCRIPTIONS[kind.value] is description:
            return MembranePlan(kind)
    is_composite = ContentController in description.controllers
    kind = MembraneKind.COMPOSITE if is_composite else MembraneKind.PRIMITIVE
    return MembranePlan(kind, description)


class _On(ComponentPlace):
    """A node process on which the instances of a template are made."""

    def __init__(self, factory: NodeFactory, node: NodeProcess) -> None:
        self._factory = factory
        self._node = node

    def make(
        self,
        name: str,
        type: ComponentType,
        controllers: MembraneDescription,
        content: Callable[[], Any] | None,
    ) -> Component:
        """Make an instance there."""
        return self._factory.make_on(self._node, name, type, controllers, content)
