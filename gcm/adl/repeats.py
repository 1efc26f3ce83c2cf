"""Names that a document uses twice where the merge could keep only one of them."""

from __future__ import annotations

from gcm.documents import Diagnostics, Node

# What may not be repeated among the children of one element: the tag, and what identifies it.
_UNIQUE = (
    ("component", "name"),
    ("interface", "name"),
    ("attribute", "name"),
    ("exportedVirtualNode", "name"),
)


def report_repeats(node: Node, diagnostics: Diagnostics) -> None:
    """Report every child that has the name of an earlier one; bindings are checked later."""
    for tag, key in _UNIQUE:
        first: dict[str, Node] = {}
        for child in node.children:
            if child.tag != tag:
                continue
            name = child.attributes[key]
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
