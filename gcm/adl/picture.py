"""The scene to draw for an assembly: from a plan, or from live components."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from gcm.adl.plan import AssemblyPlan, ComponentPlan, End, MembraneKind
from gcm.adl.writing import THIS, Homes, parts_of, wires_of
from gcm.components import Notes
from gcm.components.clustering import ClusteringContent
from gcm.components.composite import Composite
from gcm.components.membrane import controller_name
from gcm.components.model import Component
from gcm.components.wrapper import Wrapper
from gcm.drawing import Box, Scene, SceneLink, ScenePort
from gcm.interfaces.interface import ServerInterface
from gcm.interfaces.types import ComponentType, InterfaceType, Role
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.membrane_controller import MembraneController

Ends = tuple[End, End]
Links = Iterable[Ends]

CONTROLLERS = "controllers"
"""The box in a membrane that represents the controllers of the component itself."""


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
                    (*_ports(target.component_type, controlled - _own(target)), *_offered(target)),
                    kind=_kind(target),
                    note=_note(target),
                    shared=True,
                )
            )
        acting: dict[str, list[str]] = {}
        for each in plan.interceptors:
            name = each.component or getattr(each.factory, "__name__", str(each.factory))
            acting.setdefault(each.interface, []).append(name)
        return Box(
            plan.name,
            _ports(plan.component_type, (controls | _controls(THIS, links)) - _own(plan), acting),
            tuple(inside),
            _links(links),
            _kind(plan),
            _note(plan),
            plan.path in self._shared,
            self._membrane(plan),
        )

    def _membrane(self, plan: ComponentPlan) -> Box | None:
        inside = plan.membrane
        links = [
            (binding.client, binding.server)
            for binding in inside.bindings
            if not isinstance(binding.server, str)
        ]
        parts = [self.box(one, _controls(one.name, links)) for one in inside.components]
        return _membrane(_offered(plan), parts, links)


def _offered(plan: ComponentPlan) -> tuple[ScenePort, ...]:
    """Return the ports of the membrane of a planned component."""
    return _ports(plan.membrane.component_type, ())


def _own(plan: ComponentPlan) -> frozenset[str]:
    return frozenset(port.name for port in _offered(plan))


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
                shared = _live_box(child, controlled)
                inside.append(replace(shared, ports=(*shared.ports, *_exported(child))))
    return replace(
        _live_box(component, controls | _controls(THIS, links)),
        children=tuple(inside),
        links=_links(links),
        membrane=_live_membrane(component, homes),
    )


def _live_box(component: Component, controls: frozenset[str]) -> Box:
    content = component.content
    controls -= {port.name for port in _exported(component)}
    acting = {
        declared.name: [_acting(component, one) for one in _interceptors(component, declared)]
        for declared in component.type.interfaces
    }
    return Box(
        component.name,
        _ports(component.type, controls, acting),
        kind=_live_kind(component),
        note=_noted("" if content is None else type(content).__name__, component.notes),
        shared=len(component.parents) > 1,
    )


def _interceptors(component: Component, declared: InterfaceType) -> Sequence[object]:
    if InterceptorController.name not in component.membrane or declared.is_internal:
        return ()
    return component.controller(InterceptorController).acting_on(declared)


def _live_membrane(component: Component, homes: Homes) -> Box | None:
    if MembraneController.name not in component.membrane:
        return None
    parts = parts_of(component)
    exports = component.controller(MembraneController).exports
    links = [((THIS, name), _end(component, server)) for name, server in exports.items()]
    links += [
        ((part.name, client.name), _end(component, server))
        for part in parts
        for client in part.clients
        for server in client.servers
        if isinstance(server, ServerInterface)
    ]
    boxes = [_live(part, homes, _controls(part.name, links)) for part in parts]
    return _membrane(_exported(component), boxes, links)


def _exported(component: Component) -> tuple[ScenePort, ...]:
    """Return the ports of the membrane of a live component."""
    if MembraneController.name not in component.membrane:
        return ()
    exports = component.controller(MembraneController).exports
    return tuple(_port(server.type.with_name(name), ()) for name, server in exports.items())


def _end(host: Component, server: ServerInterface) -> End:
    return (THIS if server.owner is host else server.owner.name, server.name)


def _acting(component: Component, interceptor: object) -> str:
    """Return the name of the part of the membrane that an interceptor is, or that of its class."""
    parts = parts_of(component)
    names = [
        part.name for part in parts if any(server.stub is interceptor for server in part.servers)
    ]
    return names[0] if names else type(interceptor).__name__


def _membrane(
    ports: Iterable[ScenePort], parts: Sequence[Box], links: Sequence[Ends]
) -> Box | None:
    """Return what is inside a membrane: its parts, and the controllers that they are bound to.

    The controllers of the component itself become one box, those of a sub-component another.
    """
    if not parts and not links:
        return None
    ports = tuple(ports)
    known = {part.name for part in parts}
    offered = {port.name for port in ports}
    controllers: dict[str, dict[str, ScenePort]] = {}

    def drawn(end: End, role: str) -> End:
        owner, interface = end
        if owner in known or (owner == THIS and interface in offered):
            return end
        name = CONTROLLERS if owner == THIS else owner
        controllers.setdefault(name, {})[interface] = ScenePort(interface, role)
        return name, interface

    bound = tuple(
        SceneLink(drawn(client, Role.CLIENT), drawn(server, Role.SERVER))
        for client, server in links
    )
    boxes = [
        Box(name, tuple(used.values()), kind="controller") for name, used in controllers.items()
    ]
    return Box("membrane", ports, (*parts, *boxes), bound, "composite")


def _ports(
    component_type: ComponentType,
    controls: Iterable[str],
    acting: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[ScenePort, ...]:
    return (
        *(_port(declared, acting.get(declared.name, ())) for declared in component_type.interfaces),
        *(
            ScenePort(name, "server", control=True)
            for name in sorted(controls)
            if component_type.find(name) is None
        ),
    )


def _port(declared: InterfaceType, acting: Iterable[str]) -> ScenePort:
    return ScenePort(
        declared.name,
        declared.role,
        declared.cardinality,
        not declared.is_mandatory,
        interceptors=tuple(acting),
    )


def _controls(component: str, links: Links) -> frozenset[str]:
    """Return the control interfaces of a component that a binding leads to."""
    return frozenset(
        name for _, (owner, name) in links if owner == component and controller_name(name)
    )


def _links(links: Links) -> tuple[SceneLink, ...]:
    return tuple(SceneLink(client, server) for client, server in links)


def _kind(plan: ComponentPlan) -> str:
    if plan.membrane.kind is MembraneKind.PARAMETRIC:
        return MembraneKind.PRIMITIVE.value
    if plan.membrane.kind.is_composite:
        return MembraneKind.COMPOSITE.value
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
    return _noted(plan.content.__name__ if plan.content else "", plan.notes)


def _noted(content: str, notes: Notes) -> str:
    """Return the second line of a box: what is inside, and the virtual node."""
    node = notes.virtual_node
    return " ".join(filter(None, (content, f"@ {node.name}" if node else "")))
