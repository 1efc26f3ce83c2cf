"""Nodes of a running machine, on which the program that holds it makes components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gcm.components.declarations import declared_type
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.interfaces.types import ComponentType
from gcm.membranes.descriptions import ACTIVE, PRIMITIVE

NewOn = Callable[[str, str, ComponentType, "MembraneDescription | str", Any], Component]
"""Makes a component on a node: the node's name, then what `gcm.new_component` is given."""


class MachineNode:
    """A node of the machine that has a process for components, by its `site/cluster/node`.

    What is made on it is used from here like any other component: added to composites, bound,
    started, found. It is stopped at first, and lives until it is terminated or the machine ends.

    >>> node = machine.nodes()["lab/rack/blade1"]                       # doctest: +SKIP
    >>> worker = node.primitive(Worker)                                 # doctest: +SKIP
    >>> worker.start(); worker.stub("work", Work).work(1)               # doctest: +SKIP
    """

    def __init__(self, name: str, host: str, new_on: NewOn) -> None:
        self.name = name
        self.host = host
        self._new_on = new_on

    def __repr__(self) -> str:
        """Return the name, and the host that the node is on."""
        return f"<node {self.name} on {self.host}>"

    def new(
        self,
        name: str,
        type: ComponentType,
        controllers: MembraneDescription | str,
        content: type[Any] | None = None,
    ) -> Component:
        """Make a component here, as `gcm.new_component` does in this process.

        Raises:
            InstantiationError: as there, or the content's module cannot be imported on the node.
            GridError: the machine has ended.
        """
        return self._new_on(self.name, name, type, controllers, content)

    def primitive(
        self,
        content: type[Any],
        name: str = "",
        *,
        type: ComponentType | None = None,
        controllers: MembraneDescription | str = PRIMITIVE,
    ) -> Component:
        """Make a primitive of a class here, as `gcm.primitive` does in this process."""
        called = name or content.__name__.lower()
        return self.new(called, type or declared_type(content), controllers, content)

    def active(
        self, content: type[Any], name: str = "", *, type: ComponentType | None = None
    ) -> Component:
        """Make an active object here: a primitive with a queue and a thread of its own."""
        return self.primitive(content, name, type=type, controllers=ACTIVE)
