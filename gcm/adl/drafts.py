"""Components during the checks: what is known of each so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from gcm.adl.definitions import Body, ComponentNode, ControllerNode, is_path
from gcm.adl.plan import (
    NO_INTERFACES,
    BindingPlan,
    InterceptorPlan,
    MembraneKind,
    RoundsPlan,
)
from gcm.components import VirtualNodeNote
from gcm.documents import Location
from gcm.interfaces import ComponentType, InterfaceType
from gcm.records import dataclass


@dataclass(slots=True)
class Traits:
    """What follows from a component's body alone, so that equal components share it.

    `broken` holds the names of interfaces that were reported already; `incomplete` means that some
    interfaces may not have been readable. Both keep one error from being reported twice. An
    abstract component has neither content nor sub-components yet.
    """

    component_type: ComponentType = NO_INTERFACES
    kind: MembraneKind = MembraneKind.COMPOSITE
    description: object = None
    content: type | None = None
    attributes: tuple[tuple[str, object], ...] = ()
    interceptors: tuple[InterceptorPlan, ...] = ()
    rounds: tuple[RoundsPlan, ...] = ()
    virtual_node: VirtualNodeNote | None = None
    broken: frozenset[str] = frozenset()
    broken_collections: tuple[str, ...] = ()
    incomplete: bool = False
    is_abstract: bool = False
    is_template: bool = False

    _by_name: dict[str, InterfaceType] = field(init=False)
    _collections: tuple[InterfaceType, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Index the interfaces, because a composite may have thousands."""
        interfaces = self.component_type.interfaces
        self._by_name = {one.name: one for one in interfaces}
        self._collections = tuple([one for one in interfaces if one.is_collection])

    def find(self, name: str) -> InterfaceType | None:
        """Return the type of an interface, of a collection, or of a collection's member."""
        if name in self._by_name:
            return self._by_name[name]
        return self.component_type.find(name) if self._collections else None

    def is_broken(self, name: str) -> bool:
        """Return whether an interface, or the collection that it would be in, was reported."""
        return name in self.broken or name.startswith(self.broken_collections)


@dataclass(slots=True, eq=False)
class Draft:
    """One component, or one reference to a shared component, in the tree.

    `bound` and `linked` are the client interfaces bound so far, outside and inside.
    """

    name: str
    path: str
    node: ComponentNode
    traits: Traits
    parent: Draft | None = None
    children: dict[str, Draft] = field(default_factory=dict)
    membrane: Draft | None = None
    target: Draft | None = None
    bindings: list[BindingPlan] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)
    linked: set[str] = field(default_factory=set)

    @property
    def is_reference(self) -> bool:
        """Whether the component is made elsewhere and only shared here."""
        return is_path(self.node.definition)

    @property
    def is_composite(self) -> bool:
        """Whether the content is sub-components."""
        return self.traits.kind.is_composite

    @property
    def is_membrane(self) -> bool:
        """Whether it is the inside of its parent's membrane."""
        return self.parent is not None and self.parent.membrane is self

    def location_of(self, interface: str) -> Location:
        """Return where an interface is declared, or else where the component is."""
        for declared in self.node.body.interfaces:
            if declared.name == interface:
                return declared.location
        return self.node.location

    def walk(self) -> Iterator[Draft]:
        """Yield this component and all below it, membranes included, parents first."""
        pending = [self]
        while pending:
            draft = pending.pop()
            yield draft
            inside = [draft.membrane] if draft.membrane else []
            pending += reversed([*inside, *draft.children.values()])


def membrane_node(controller: ControllerNode) -> ComponentNode:
    """Return the assembly inside a membrane as if it were a composite."""
    body = Body(
        interfaces=controller.interfaces,
        components=controller.components,
        bindings=controller.bindings,
    )
    return ComponentNode("controller", "", body, controller.location)
