"""Writes the reference part of docs/descriptor.md; `python -m` prints it."""

from __future__ import annotations

from gcm.documents import Attribute, ChildRule, ElementType, Grammar
from runtime.deployment.language.kinds import NUMBER
from runtime.deployment.language.table import LANGUAGE


def render_reference(grammar: Grammar) -> str:
    """Return the description of every element and attribute, in Markdown."""
    return "\n".join(_element(element, grammar) for element in grammar.elements.values())


def _element(element: ElementType, grammar: Grammar) -> str:
    parents = [
        f"`<{found.name}>`" for found in grammar.elements.values() if found.child(element.name)
    ]
    lines = [f"### `<{element.name}>`", "", element.meaning, ""]
    if parents:
        lines += [f"Stands in {', '.join(parents)}.", ""]
    if element.children:
        lines += [f"Holds {', '.join(_child(child) for child in element.children)}.", ""]
    if element.attributes:
        lines += ["| attribute | value | default | meaning |", "|---|---|---|---|"]
        lines += [_attribute(attribute) for attribute in element.attributes]
        lines.append("")
    return "\n".join(lines)


def _child(child: ChildRule) -> str:
    if child.most == 1:
        times = "one" if child.least else "at most one"
    else:
        times = f"{child.least} or more" if child.least else "any number of"
    return f"{times} `<{child.name}>`"


def _attribute(attribute: Attribute) -> str:
    default = f"`{attribute.default}`" if attribute.default else ""
    if attribute.required:
        default = "**required**"
    return f"| `{attribute.name}` | {_value(attribute)} | {default} | {attribute.meaning} |"


def _value(attribute: Attribute) -> str:
    if attribute.choices:
        return ", ".join(f"`{choice}`" for choice in attribute.choices)
    if attribute.kind is NUMBER:
        upper = f" to {attribute.most}" if attribute.most is not None else ""
        return f"number from {attribute.least}{upper}"
    return attribute.kind.word


if __name__ == "__main__":
    print(render_reference(LANGUAGE), end="")
