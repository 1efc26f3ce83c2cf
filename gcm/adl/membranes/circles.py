"""Finds circular bindings that only lead from membrane to membrane."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from gcm.adl.drafts import Draft
from gcm.adl.findings import Findings
from gcm.adl.plan import BindingPlan

_THIS = "this"
_Node = tuple[Draft, str]
"""A non-functional interface that calls pass through, without anything serving them there."""


def report_circles(root: Draft, findings: Findings) -> None:
    """Report each cycle of bindings in which a call would never arrive at any component."""
    origins: dict[tuple[_Node, _Node], tuple[Draft, BindingPlan]] = {}
    for draft in root.walk():
        for binding in draft.membrane.bindings if draft.membrane else ():
            ends = [_node(draft, end) for end in (binding.client, binding.server)]
            if ends[0] is not None and ends[1] is not None:
                origins[ends[0], ends[1]] = draft, binding
    while circle := _circle(origins):
        draft, binding = origins.pop((circle[0], circle[1]))
        chain = " → ".join(f"{one.path}.{name}" for one, name in circle)
        findings.report(
            "binding-circle",
            f"calls would go round in a circle: {chain}",
            binding.location,
            draft.path,
            hint="bind one of these interfaces to a component in a membrane",
        )


def _node(host: Draft, end: object) -> _Node | None:
    """Return the interface of a membrane that an end refers to, None for one of its components."""
    assert host.membrane is not None
    if not isinstance(end, tuple) or end[0] in host.membrane.children:
        return None
    name, interface = end
    owner = host if name == _THIS else host.children.get(name)
    return None if owner is None else (owner.target or owner, interface)


def _circle(edges: dict[tuple[_Node, _Node], tuple[Draft, BindingPlan]]) -> list[_Node]:
    following: dict[_Node, list[_Node]] = {}
    for client, server in edges:
        following.setdefault(server, []).append(client)
    try:
        TopologicalSorter(following).prepare()
    except CycleError as error:
        circle: list[_Node] = error.args[1]
        return circle
    return []
