"""The whole machine as one assembly in the launcher: to look at, to search, to export.

Its leaves stand for components of other processes: a call of theirs goes there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gcm.adl.writing import describe, write_definition
from gcm.components.clustering import DOWN, SRV, UP
from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.factory import composite, wrapper
from gcm.interfaces.future import Future
from gcm.interfaces.types import ComponentType, Contingency, InterfaceType, Role
from gcm.invocation import Invocation
from gcm.membranes.content import ContentController
from runtime.deployment.assembly import Level, Part
from runtime.deployment.plan import DeploymentPlan
from runtime.engine.hierarchy import (
    CLUSTERING,
    Services,
    clustering_component_type,
    clustering_path,
    wrapper_type,
)
from runtime.engine.outcome import Connections
from runtime.engine.route_monitor import PART, RouteMonitor
from runtime.errors import GridError

Send = Callable[[Invocation], Future[Any]]


class Elsewhere:
    """What a leaf of the tree wraps: a component in another process, under the path it has there.

    Starting and stopping a leaf changes nothing there: the components of the machine live as long
    as the run does. One that a document makes belongs to no run, and refuses every call.
    """

    def __init__(self, path: str = "", send: Send | None = None) -> None:
        self._path = path
        self._send = send or _nowhere

    def call(self, invocation: Invocation) -> Future[Any]:
        """Send a call to where the component lives."""
        return self._send(replace(invocation, component=self._path))

    def connections(self) -> Connections:
        """Ask the component for how ranks found those of other clusters."""
        asked = self.call(Invocation("", f"{RouteMonitor.name}-controller", "connections"))
        found = asked.result()
        assert isinstance(found, Connections)
        return found

    def on_start(self) -> None:
        """Do nothing."""

    def on_stop(self) -> None:
        """Do nothing."""

    def on_terminate(self) -> None:
        """Do nothing."""


class ClusteringElsewhere(Elsewhere):
    """A clustering component in a front-end."""

    def ready(self, report: list[Any]) -> list[Any]:
        """Pass the reports on; see `Services.ready`."""
        answers: list[Any] = self.call(Invocation("", SRV, "ready", (report,))).result()
        return answers


class RankElsewhere(Elsewhere):
    """The wrapper of a rank in a front-end."""

    def ready(self, report: Any) -> Any:
        """Pass the report on; see `Services.ready`."""
        return self.call(Invocation("", SRV, "ready", (report,))).result()


def machine_tree(root: Part, send: Send) -> Composite:
    """Return the assembly of a machine: `/grid/site0/cluster1/wrapper2` and all between."""
    made = _made(root, send)
    assert isinstance(made, Composite)
    return made


def machine_document(plan: DeploymentPlan, name: str) -> str:
    """Return the ADL document of the machine that a plan makes; `name` is that of its file.

    It needs no running machine, since what runs is what was planned.
    """
    tree = machine_tree(plan.components(), _nowhere)
    return write_definition(replace(describe(tree), name=name))


def _nowhere(invocation: Invocation) -> Future[Any]:
    raise GridError(
        f"the machine does not run, so nothing serves {invocation}",
        cure="Deploy its descriptor with gcm-deploy",
    )


def _made(part: Part, send: Send) -> Component:
    if part.level is Level.WRAPPER:
        behind = RankElsewhere(part.path, send)
        return wrapper(part.name, wrapper_type(), behind, controllers=PART)
    whole = composite(part.name, _open_type() if part.level is not Level.GRID else None)
    content = whole.controller(ContentController)
    path = clustering_path(part.identifier)
    clustering = wrapper(
        CLUSTERING, clustering_component_type(), ClusteringElsewhere(path, send), controllers=PART
    )
    content.add(clustering)
    for child in part.children:
        below = _made(child, send)
        content.add(below)
        below.bind(UP, clustering.server(SRV))
        clustering.bind(DOWN, below.server(SRV))
    if part.level is not Level.GRID:
        whole.bind(SRV, clustering.server(SRV))
        clustering.bind(UP, whole.inner_server(UP))
    return whole


def _open_type() -> ComponentType:
    """Return the type of a cluster or a site as the level above sees it."""
    return ComponentType(
        (
            InterfaceType(SRV, Services, Role.SERVER),
            InterfaceType(UP, Services, Role.CLIENT, Contingency.OPTIONAL),
        )
    )
