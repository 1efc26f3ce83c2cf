"""The scene to draw of an assembly: of a plan, or of live components."""

from __future__ import annotations

from collections.abc import Iterable

from gcm.adl.plan import AssemblyPlan, ComponentPlan, End, MembraneKind
from gcm.adl.writing import THIS, Homes, parts_of, wires_of
from gcm.components.clustering import ClusteringContent
from gcm.components.composite import Composite
from gcm.components.control_interface import controller_name
from gcm.components.model import Component
from gcm.components.wrapper import Wrapper
from gcm.drawing import Box, Link, Port, Scene
from gcm.interfaces.types import ComponentType, InterfaceType

Links = Iterable[tuple[End, End]]


def scene_of_plan(plan: AssemblyPlan) -> Scene:
    """Return the picture of an assembly that was planned but not made."""
    by_path: dict[str, ComponentPlan] = {}
    pending = [plan.root]
    while pending:
        one = pending.pop()
        by_path[one.path] = one
        pending += one.components
    shared = {one.target for each in by_path.values() for one in each.shared}
    return Scene(_Planned(by_path, frozenset(shared)).box(plan.root, frozenset()))


def scene_of(component: Component) -> Scene:
    """Return the picture of a live assembly as it is now."""
    return Scene(_live(component, Homes(component), frozenset()))


class _Planned:
    """Boxes of planned components; `shared` holds the paths of those with several homes."""

    def __init__(self, by_path: dict[str, ComponentPlan], shared: frozenset[str]) -> None:
        self._by_path = by_path
        self._shared = shared

    def box(self, plan: ComponentPlan, controls: frozenset[str]) -> Box:
        links = [
            (binding.client, binding.server)
            for binding in plan.bindings
            if not isinstance(binding.server, str)
        ]
        inside = [self.box(one, _controls(one.name, links)) for one in plan.components]
        for one in plan.shared:
            target = self._by_path[one.target]
            controlled = _controls(one.name, links)
            inside.append(
                Box(
                    one.name,
                    _ports(target.component_type, controlled),
                    kind=_kind(target),
                    note=_note(target),
                    shared=True,
                )
            )
        return Box(
            plan.name,
            _ports(plan.component_type, controls | _controls(THIS, links)),
            tuple(inside),
            _links(links),
            _kind(plan),
            _note(plan),
            plan.path in self._shared,
        )


def _live(component: Component, homes: Homes, controls: frozenset[str]) -> Box:
    links: list[tuple[End, End]] = []
    inside = []
    if isinstance(component, Composite):
        links = [
            (wire.client_end, wire.server_end)
            for wire in wires_of(component)
            if wire.server_end is not None
        ]
        for child in component.children:
            controlled = _controls(child.name, links)
            if homes.is_home(component, child):
                inside.append(_live(child, homes, controlled))
            else:
                inside.append(_live_box(child, controlled))
    return _live_box(component, controls | _controls(THIS, links), tuple(inside), _links(links))


def _live_box(
    component: Component,
    controls: frozenset[str],
    inside: tuple[Box, ...] = (),
    links: tuple[Link, ...] = (),
) -> Box:
    content = component.content
    node = component.notes.virtual_node
    return Box(
        component.name,
        _ports(component.type, controls),
        inside,
        links,
        _live_kind(component),
        _noted(
            "" if content is None else type(content).__name__,
            node.name if node else "",
            [part.name for part in parts_of(component)],
        ),
        len(component.parents) > 1,
    )


def _ports(component_type: ComponentType, controls: Iterable[str]) -> tuple[Port, ...]:
    return (
        *map(_port, component_type.interfaces),
        *(
            Port(name, "server", control=True)
            for name in sorted(controls)
            if component_type.find(name) is None
        ),
    )


def _port(declared: InterfaceType) -> Port:
    return Port(declared.name, declared.role, declared.cardinality, not declared.is_mandatory)


def _controls(component: str, links: Links) -> frozenset[str]:
    """Return the control interfaces of a component that a binding leads to."""
    return frozenset(
        name for _, (owner, name) in links if owner == component and controller_name(name)
    )


def _links(links: Links) -> tuple[Link, ...]:
    return tuple(Link(client, server) for client, server in links)


def _kind(plan: ComponentPlan) -> str:
    if plan.membrane.kind is MembraneKind.PARAMETRIC:
        return MembraneKind.PRIMITIVE.value
    return plan.membrane.kind.value


def _live_kind(component: Component) -> str:
    if isinstance(component, Composite):
        return "composite"
    if isinstance(component.content, ClusteringContent):
        return "clustering"
    if isinstance(component, Wrapper):
        return "wrapper"
    return "active" if component.membrane.queues_calls else "primitive"


def _note(plan: ComponentPlan) -> str:
    return _noted(
        plan.content.__name__ if plan.content else "",
        plan.virtual_node.name if plan.virtual_node else "",
        [one.name for one in plan.membrane.components],
    )


def _noted(content: str, node: str, parts: Iterable[str]) -> str:
    """Return the small second line of a box: what is inside, where it wants to be, who watches."""
    words = [content, f"@ {node}" if node else ""]
    listed = ", ".join(parts)
    words.append(f"[{listed}]" if listed else "")
    return " ".join(filter(None, words))
