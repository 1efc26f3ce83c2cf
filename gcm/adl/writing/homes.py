"""Where a shared component is described: once at home, and by a path everywhere else."""

from __future__ import annotations

from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.membranes.membrane_controller import MembraneController


class Homes:
    """Finds the home of each component below a root: the first composite there that took it in."""

    def __init__(self, root: Component) -> None:
        self._root = root
        self._inside = _tree(root)

    def is_home(self, parent: Component, child: Component) -> bool:
        """Return whether `child` is described in `parent`."""
        return self._home(child) is parent

    def path(self, component: Component) -> str:
        """Return the path from the root, without it; nothing where the root is not above."""
        names: list[str] = []
        here: Component | None = component
        while here is not None and here is not self._root:
            names.append(here.name)
            here = self._home(here)
        return "/".join(reversed(names)) if here is self._root else ""

    def _home(self, component: Component) -> Composite | None:
        return next((one for one in component.parents if one in self._inside), None)


def parts_of(component: Component) -> list[Component]:
    """Return the non-functional components in the membrane of `component`."""
    if MembraneController.name not in component.membrane:
        return []
    holder = component.controller(MembraneController)
    return [holder.part(name) for name in holder.names()]


def _tree(root: Component) -> frozenset[Component]:
    found: set[Component] = set()
    pending = [root]
    while pending:
        here = pending.pop()
        if here not in found:
            found.add(here)
            pending += here.children
            pending += parts_of(here)
    return frozenset(found)
