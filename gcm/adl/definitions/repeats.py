"""Detects duplicate names where only one of the two could be kept."""

from __future__ import annotations

from gcm.adl.definitions.model import LOCAL, ComponentNode
from gcm.documents import Diagnostics, XmlNode

# What may not be repeated among the children of one element: the tag, and what identifies it.
_UNIQUE = (
    ("component", "name"),
    ("interface", "name"),
    ("attribute", "name"),
    ("exportedVirtualNode", "name"),
)


def report_repeats(node: XmlNode, diagnostics: Diagnostics) -> None:
    """Report every child that has the name of an earlier one; bindings are checked later."""
    for tag, key in _UNIQUE:
        first: dict[str, XmlNode] = {}
        for child in node.children:
            if child.tag != tag:
                continue
            name = child.attributes[key]
            if tag == "exportedVirtualNode" and name == LOCAL:
                continue  # each says of other parts that they stay in the process
            if name in first:
                diagnostics.report(
                    "duplicate-name",
                    f"<{node.tag}> has two {tag}s named '{name}'",
                    child.location,
                    hint=f"the first one is in line {first[name].location.line}; rename one",
                )
            first.setdefault(name, child)
    for child in node.children:
        if child.children:
            report_repeats(child, diagnostics)


def report_repeated_components(
    node: ComponentNode, diagnostics: Diagnostics, path: str = ""
) -> None:
    """Report every component that has the name of an earlier one beside it."""
    path = f"{path}/{node.name}"
    first: dict[str, ComponentNode] = {}
    for child in node.body.components:
        if child.name in first:
            diagnostics.report(
                "duplicate-name",
                f"two components are named '{child.name}'",
                child.location,
                path=path,
                hint=f"the first one is in {first[child.name].location}; rename one",
            )
        first.setdefault(child.name, child)
        report_repeated_components(child, diagnostics, path)
