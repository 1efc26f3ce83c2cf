"""Writes the reference part of docs/descriptor.md; `python -m` prints it."""

from __future__ import annotations

from gcm.documents import Attribute, ChildRule, ElementType, Grammar
from runtime.deployment.language.kinds import NUMBER
from runtime.deployment.language.table import LANGUAGE


def render_reference(grammar: Grammar) -> str:
    """Return the description of every element and attribute, in Markdown."""
    return "\n".join(_element(element) for element in grammar.elements.values())


def _element(element: ElementType) -> str:
    lines = [f"### `<{element.name}>`", "", element.meaning]
    if element.children:
        lines.append(f"Holds {', '.join(_child(child) for child in element.children)}.")
    lines += ["", *map(_attribute, element.attributes)] if element.attributes else []
    return "\n".join([*lines, ""])


def _child(child: ChildRule) -> str:
    """Return a child with the sign of how often it may stand there."""
    once, often = ("", "+") if child.least else ("?", "*")
    least = f" ({child.least} or more)" if child.least > 1 else often
    return f"`<{child.name}>`{once if child.most == 1 else least}"


def _attribute(attribute: Attribute) -> str:
    default = f", `{attribute.default}`" if attribute.default else ""
    if attribute.required:
        default = ", required"
    return f"- `{attribute.name}` ({_value(attribute)}{default}): {attribute.meaning}"


def _value(attribute: Attribute) -> str:
    if attribute.choices:
        return "/".join(f"`{choice}`" for choice in attribute.choices)
    if attribute.kind is NUMBER:
        upper = f" to {attribute.most}" if attribute.most is not None else " or more"
        return f"{attribute.least}{upper}"
    return attribute.kind.word


if __name__ == "__main__":
    print(render_reference(LANGUAGE), end="")
