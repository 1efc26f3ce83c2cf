"""A planned component as plain values, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gcm.adl.plan import BindingPlan, ComponentPlan, parts_of_exported
from gcm.adl.writing import text_of
from gcm.interfaces.types import InterfaceType

_PLAIN = (str, int, float, bool)


def component_as_dict(plan: ComponentPlan) -> dict[str, Any]:
    """Return a component with everything inside it; what it does not have is left out."""
    notes = plan.notes
    node = notes.virtual_node
    inside = plan.membrane
    known = {
        "name": plan.name,
        "path": plan.path,
        "kind": inside.kind.value,
        "membrane": getattr(inside.description, "name", None),
        "content": _class(plan.content) if plan.content else None,
        "file": plan.location.file,
        "line": plan.location.line,
        "interfaces": [_interface(plan, one) for one in plan.component_type.interfaces],
        "attributes": {name: _value(value) for name, value in plan.attributes},
        "virtual_node": {"name": node.name, "cardinality": node.cardinality} if node else None,
        "exported_virtual_nodes": {
            one.name: parts_of_exported(one) for one in notes.exported_nodes
        },
        "logger": notes.logger,
        "comments": [one.text for one in notes.comments],
        "components": [component_as_dict(one) for one in plan.components],
        "shared": {one.name: one.target for one in plan.shared},
        "bindings": _bindings(plan.bindings),
        "controller": {
            "interfaces": [_declared(one) for one in inside.component_type.interfaces],
            "components": [component_as_dict(one) for one in inside.components],
            "bindings": _bindings(inside.bindings),
        }
        if inside.has_assembly
        else None,
    }
    return {name: value for name, value in known.items() if value not in (None, "", [], {})}


def _interface(plan: ComponentPlan, declared: InterfaceType) -> dict[str, Any]:
    interceptors = [
        one.end or getattr(one.factory, "__qualname__", "?")
        for one in plan.interceptors
        if one.interface == declared.name
    ]
    return _declared(declared) | ({"interceptors": interceptors} if interceptors else {})


def _declared(declared: InterfaceType) -> dict[str, Any]:
    return {
        "name": declared.name,
        "role": declared.role.value,
        "signature": _class(declared.signature),
        "contingency": declared.contingency.value,
        "cardinality": declared.cardinality.value,
    }


def _bindings(bindings: Iterable[BindingPlan]) -> list[dict[str, str]]:
    return [
        {
            "client": ".".join(one.client),
            "server": one.server if isinstance(one.server, str) else ".".join(one.server),
        }
        for one in bindings
    ]


def _class(known: type[Any]) -> str:
    return f"{known.__module__}:{known.__qualname__}".removeprefix(":")


def _value(value: object) -> object:
    if value is None or isinstance(value, _PLAIN):
        return value
    return list(map(_value, value)) if isinstance(value, list | tuple) else text_of(value)
