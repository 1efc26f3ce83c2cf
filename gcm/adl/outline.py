"""The outline of an assembly: which components it has, where they belong, and what binds them.

It is all that is known without the classes, whose modules need not be imported for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gcm.adl.definitions import ComponentNode, is_path
from gcm.adl.plan import BindingPlan, ComponentPlan
from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class Outline:
    """A component, those inside, and the bindings between them, as `/path/of/component.interface`.

    What is shared stands only where it is made.
    """

    path: str
    virtual_node: str
    """The name of the virtual node that it wants to be deployed on, if any."""
    components: tuple[Outline, ...] = ()
    bindings: tuple[tuple[str, str], ...] = ()

    def every(self) -> Iterator[Outline]:
        """Yield this component and all inside."""
        yield self
        for one in self.components:
            yield from one.every()

    def virtual_nodes(self) -> tuple[str, ...]:
        """Return the names of all virtual nodes, in order."""
        return tuple(dict.fromkeys(one.virtual_node for one in self.every() if one.virtual_node))


def outline_of_node(node: ComponentNode, above: str = "") -> Outline:
    """Return the outline of a component as documents describe it."""
    path, body = f"{above}/{node.name}", node.body
    return Outline(
        path,
        "" if body.virtual_node is None else body.virtual_node.name,
        tuple(outline_of_node(one, path) for one in body.components if not is_path(one.definition)),
        tuple((_end(path, one.client), _end(path, one.server)) for one in body.bindings),
    )


def outline_of_plan(plan: ComponentPlan) -> Outline:
    """Return the outline of a component that was planned."""
    wanted = plan.notes.virtual_node
    return Outline(
        plan.path,
        "" if wanted is None else wanted.name,
        tuple(map(outline_of_plan, plan.components)),
        tuple(_planned(plan.path, one) for one in plan.bindings),
    )


def _planned(path: str, binding: BindingPlan) -> tuple[str, str]:
    server = binding.server
    return (
        _end(path, ".".join(binding.client)),
        server if isinstance(server, str) else _end(path, ".".join(server)),
    )


def _end(path: str, written: str) -> str:
    """Return an end with the path of its component; a remote reference stays as it is."""
    component, _, interface = written.partition(".")
    if ":" in component:
        return written
    return f"{path}.{interface}" if component == "this" else f"{path}/{written}"
