"""Paths to components: how a shared component is referred to."""

from __future__ import annotations

from dataclasses import replace

from gcm.adl.definitions.model import Body, ComponentNode


def is_path(definition: str) -> bool:
    """Return whether a reference is a path to a component rather than names of definitions."""
    return "/" in definition.partition("(")[0]


def relative_to_parents(body: Body, depth: int = 0) -> Body:
    """Make the paths of a definition independent of where the definition is used.

    As written, a path starts at the definition's own component (`a/c`, `./a/c`), or with `/` at
    the root of the assembly. In the result it starts at the component that holds the reference.
    """
    if not body.components:
        return body
    return replace(body, components=tuple([_component(one, depth) for one in body.components]))


def _component(component: ComponentNode, depth: int) -> ComponentNode:
    body = relative_to_parents(component.body, depth + 1)
    definition = component.definition
    if is_path(definition) and not definition.startswith("/"):
        steps = [step for step in definition.split("/") if step not in ("", ".")]
        definition = "/".join([".", *[".."] * depth, *steps])
    if definition is component.definition and body is component.body:
        return component
    return replace(component, definition=definition, body=body)


def absolute(reference: str, parent: str) -> str:
    """Return the path that a reference inside the component `parent` leads to.

    >>> absolute("./../a/c", "/app/b")
    '/app/a/c'
    """
    if reference.startswith("/"):
        return "/" + "/".join(step for step in reference.split("/") if step)
    steps = [step for step in parent.split("/") if step]
    for step in reference.split("/"):
        if step == "..":
            steps = steps[:-1]
        elif step not in ("", "."):
            steps.append(step)
    return "/" + "/".join(steps)
