"""Nodes of a running machine, on which the program that holds it makes components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.factory import ComponentPlace
from gcm.interfaces.types import ComponentType
from gcm.membranes.content import ContentController

Content = Callable[[], Any]
MakeOn = Callable[[str, str, ComponentType, MembraneDescription, "Content | None"], Component]
"""Makes a component on the node of that name, of what `gcm.new_component` is given.

Where no node is named, it is made in the present process.
"""


class MachineNode(ComponentPlace):
    """A node of the machine that has a process for components, by its `site/cluster/node`.

    What is made on it is used from here like any other component: added to composites, bound,
    started, found. It is stopped at first, and lives until it is terminated or the machine ends.

    >>> node = machine.nodes()["lab/rack/blade1"]                       # doctest: +SKIP
    >>> worker = gcm.primitive(Worker, node=node)                       # doctest: +SKIP
    >>> worker.start(); worker.stub("work", Work).work(1)               # doctest: +SKIP
    """

    def __init__(self, name: str, host: str, make_on: MakeOn) -> None:
        self.name = name
        self.host = host
        self._make_on = make_on

    def __repr__(self) -> str:
        """Return the name, and the host that the node is on."""
        return f"<{type(self).__name__} {self.name} on {self.host}>"

    def make(
        self,
        name: str,
        type: ComponentType,
        controllers: MembraneDescription,
        content: Content | None,
    ) -> Component:
        """Make a component here; `gcm.new_component` and its like do that.

        Raises:
            InstantiationError: it cannot be made, or its module cannot be imported on the node.
            GridError: the machine has ended.
        """
        return self._make_on(self.name, name, type, controllers, content)


class NodesInTurn(ComponentPlace):
    """Nodes on which primitives take turns; composites live in the present process."""

    def __init__(self, nodes: Sequence[MachineNode], make_on: MakeOn) -> None:
        self._turns = cycle(nodes)
        self._make_on = make_on

    def make(
        self,
        name: str,
        type: ComponentType,
        controllers: MembraneDescription,
        content: Content | None,
    ) -> Component:
        """Make a primitive on the next node, or a composite."""
        if ContentController in controllers.controllers:
            return self._make_on("", name, type, controllers, content)
        return next(self._turns).make(name, type, controllers, content)
