"""Merges bodies of definitions: where two say the same thing, the later one wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from gcm.adl.definitions.model import (
    EMPTY_BODY,
    LOCAL,
    AttributesNode,
    BindingNode,
    Body,
    ComponentNode,
    ControllerNode,
    ExportedVirtualNode,
    InterfaceNode,
)
from gcm.adl.definitions.references import is_path

T = TypeVar("T")


def merge_all(bodies: Iterable[Body]) -> Body:
    """Merge from left to right; a single body is returned as it is."""
    merged = EMPTY_BODY
    for body in bodies:
        merged = merge(merged, body)
    return merged


def merge(earlier: Body, later: Body) -> Body:
    """Merge two bodies.

    Components and interfaces are matched by name, attributes by name, bindings by client end; what
    is in both is merged at the position of the earlier one, what is new is appended.
    """
    if earlier is EMPTY_BODY:
        return later
    if later is EMPTY_BODY:
        return earlier
    return Body(
        comments=earlier.comments + later.comments,
        interfaces=_by_key(earlier.interfaces, later.interfaces, _name, _interface),
        exported_virtual_nodes=_by_key(
            earlier.exported_virtual_nodes, later.exported_virtual_nodes, _exported, _replaced
        ),
        components=_by_key(earlier.components, later.components, _name, _component),
        bindings=_bindings(earlier.bindings, later.bindings),
        content=later.content or earlier.content,
        attributes=_optional(earlier.attributes, later.attributes, _attributes),
        controller=_optional(earlier.controller, later.controller, _controller),
        template_controller=later.template_controller or earlier.template_controller,
        logger=later.logger or earlier.logger,
        virtual_node=later.virtual_node or earlier.virtual_node,
        coordinates=later.coordinates or earlier.coordinates,
    )


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def _name(node: _Named) -> str:
    return node.name


def _exported(node: ExportedVirtualNode) -> str:
    """Return the key of an exported virtual node: several may stand for the local process."""
    if node.name != LOCAL:
        return node.name
    return " ".join((LOCAL, *(f"{part.component}.{part.name}" for part in node.composed_from)))


def _replaced(_earlier: T, later: T) -> T:
    return later


def _by_key(
    earlier: Sequence[T],
    later: Sequence[T],
    key: Callable[[T], str],
    combine: Callable[[T, T], T],
) -> tuple[T, ...]:
    merged = {key(one): one for one in earlier}
    for one in later:
        name = key(one)
        merged[name] = combine(merged[name], one) if name in merged else one
    return tuple(merged.values())


def _optional(earlier: T | None, later: T | None, combine: Callable[[T, T], T]) -> T | None:
    if earlier is None or later is None:
        return later or earlier
    return combine(earlier, later)


def _interface(earlier: InterfaceNode, later: InterfaceNode) -> InterfaceNode:
    return replace(
        later,
        role=later.role or earlier.role,
        signature=later.signature or earlier.signature,
        contingency=later.contingency or earlier.contingency,
        cardinality=later.cardinality or earlier.cardinality,
        interceptors=later.interceptors or earlier.interceptors,
        wait_for_all=later.wait_for_all or earlier.wait_for_all,
        timeout=later.timeout or earlier.timeout,
        when_left=later.when_left or earlier.when_left,
    )


def _component(earlier: ComponentNode, later: ComponentNode) -> ComponentNode:
    if is_path(later.definition):
        return later  # a component that exists elsewhere replaces this one
    # The location goes with the reference, because definitions are searched from there.
    origin = later if later.definition else earlier
    return replace(origin, body=merge(earlier.body, later.body))


def _bindings(
    earlier: Sequence[BindingNode], later: Sequence[BindingNode]
) -> tuple[BindingNode, ...]:
    # A multicast client has several bindings: the later ones replace them all.
    taken = {binding.client for binding in later}
    kept = (binding for binding in earlier if binding.client not in taken)
    return (*kept, *later)


def _attributes(earlier: AttributesNode, later: AttributesNode) -> AttributesNode:
    return replace(
        later,
        signature=later.signature or earlier.signature,
        attributes=_by_key(earlier.attributes, later.attributes, _name, _replaced),
    )


def _controller(earlier: ControllerNode, later: ControllerNode) -> ControllerNode:
    return replace(
        later,
        desc=later.desc or earlier.desc,
        interfaces=_by_key(earlier.interfaces, later.interfaces, _name, _interface),
        components=_by_key(earlier.components, later.components, _name, _component),
        bindings=_bindings(earlier.bindings, later.bindings),
    )
