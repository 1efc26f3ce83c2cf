"""The whole machine as one assembly in the launcher: to look at, to search, to export.

Its leaves stand for components of other processes: their controllers ask there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from gcm.adl.writing import describe, write_definition
from gcm.components import CommentNote, Notes
from gcm.components.composite import Composite
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.factory import composite, wrapper
from gcm.interfaces.future import Future
from gcm.interfaces.types import ComponentType
from gcm.invocation import Invocation
from gcm.membranes.content import ContentController
from gcm.membranes.lifecycle import State
from runtime.deployment.planning.assembly import ExportedComponent, Level
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.errors import GridError
from runtime.machine.clustering import (
    CLUSTER_TYPE,
    FROM_RANKS,
    RANK_TYPE,
    TO_RANKS,
    TYPE,
    UP,
    VIEWS,
    WRAPPER_TYPE,
    cluster_type,
    names_of,
    site_type,
)
from runtime.machine.contracts import (
    Control,
    Delivery,
    Health,
    Membership,
    References,
    Routes,
    Views,
)
from runtime.machine.delivery import DELIVERY, PEERS, at_site
from runtime.machine.paths import CLUSTERING, clustering_path, part_path
from runtime.part_names import cluster_of, is_rank
from runtime.processes.launcher.parts import CLUSTER_PART, settle
from runtime.processes.part_controllers import PART, Figures, RouteMonitor

Send = Callable[[Invocation], Future[Any]]

Life = Callable[[str], State]
"""Tells the state of a part of the machine, by its identifier."""


def _never_started(_identifier: str) -> State:
    return State.STOPPED


class RemoteContent:
    """What a leaf of the tree wraps: a component in another process, under the path it has there.

    Its life is that of the component, which `life` tells. One that a document makes belongs to no
    run, and never starts. `rank` is that of a wrapper; what it did to reach others is known by the
    component of its cluster.
    """

    def __init__(
        self, identifier: str = "", send: Send | None = None, life: Life | None = None
    ) -> None:
        self._rank = identifier if is_rank(identifier) else ""
        above = cluster_of(identifier)
        self.path = part_path(identifier) if self._rank else clustering_path(identifier)
        self._identifier = identifier
        self._clustering = clustering_path(above)
        self._send = send or _nowhere
        self._life = life or _never_started

    def state(self) -> State:
        """Return the state of the component, as the run knows it."""
        return self._life(self._identifier)

    def ask(self, controller: str, operation: str) -> Any:
        """Ask a controller of the component, and wait for the answer."""
        return self._send(Invocation(self.path, controller, operation)).result()

    def call(self, invocation: Invocation) -> Future[Any]:
        """Refuse a call; the membrane has done so before."""
        return _nowhere(invocation)

    def figures(self, rank: str = "") -> Figures:
        """Ask how ranks found those of other clusters."""
        args = (rank or self._rank,)
        asked = self._send(
            Invocation(self._clustering, f"{RouteMonitor.name}-controller", "figures", args)
        )
        found: Figures = asked.result()
        return found

    def on_start(self) -> None:
        """Do nothing."""

    def on_stop(self) -> None:
        """Do nothing."""

    def on_terminate(self) -> None:
        """Do nothing."""


class RemoteRank(RemoteContent, Views, Control, Routes, Delivery):
    """The wrapper of a rank, in the rank's process."""


class RemoteCluster(RemoteContent, Membership, Health, References, Views):
    """The clustering component of a cluster, in its front-end."""


class RemoteClustering(RemoteContent, Membership, Views):
    """The clustering component of a site or the grid, in the front-end that leads it."""


# A wrapper sends its calls away, so the operations of these classes only say what can be called.
_CONTENTS = cast(
    "dict[Level, Callable[[str, Send, Life], RemoteContent]]",
    {
        Level.WRAPPER: RemoteRank,
        Level.CLUSTER: RemoteCluster,
        Level.SITE: RemoteClustering,
        Level.GRID: RemoteClustering,
    },
)


def machine_tree(
    root: ExportedComponent,
    send: Send,
    life: Life = _never_started,
    more: Sequence[Component] = (),
    *,
    is_watched: bool = False,
) -> Composite:
    """Return the assembly of a machine: `/grid/north/alder/wrapper2` and all between.

    It can be looked at and asked only. `more` are components of this process beside its parts. The
    front-ends of a machine that `is_watched` can be asked whom they suspect.
    """
    made = _made(root, send, life, CLUSTER_PART if is_watched else PART)
    assert isinstance(made, Composite)
    settle(made, more)
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


def _made(
    part: ExportedComponent, send: Send, life: Life, of_clusters: MembraneDescription
) -> Component:
    if part.level is Level.WRAPPER:
        behind = _CONTENTS[part.level](part.identifier, send, life)
        type = RANK_TYPE if part.code else WRAPPER_TYPE
        return wrapper(part.name, type, behind, controllers=PART)
    is_grid, is_cluster = part.level is Level.GRID, part.level is Level.CLUSTER
    whole = composite(part.name, _type_of(part))
    whole.notes = Notes(comments=tuple([CommentNote(one) for one in part.comments]))
    content = whole.controller(ContentController)
    behind = _CONTENTS[part.level](part.identifier, send, life)
    type = CLUSTER_TYPE if is_cluster else TYPE
    membrane = of_clusters if is_cluster else PART
    clustering = wrapper(CLUSTERING, type, behind, controllers=membrane)
    content.add(clustering)
    for child in part.children:
        below = _made(child, send, life, of_clusters)
        content.add(below)
        for name in names_of(FROM_RANKS if is_cluster else (Membership,)):
            below.bind(f"{name}-up", clustering.server(name))
        for name in names_of(TO_RANKS if is_cluster else (Views,)):
            clustering.bind(f"{name}-down", below.server(name))
    _bind_peers(whole, part)
    if not is_grid:
        whole.bind(VIEWS, clustering.server(VIEWS))
        clustering.bind(UP, whole.inner_server(UP))
    return whole


def _type_of(part: ExportedComponent) -> ComponentType | None:
    if part.level is Level.GRID:
        return None
    return cluster_type(part.code) if part.level is Level.CLUSTER else site_type(_codes_of(part))


def _codes_of(part: ExportedComponent) -> list[str]:
    return list(dict.fromkeys(one.code for one in part.walk() if one.code))


def _bind_peers(whole: Composite, part: ExportedComponent) -> None:
    """Bind the ranks of each code to each other, but for those that share a native MPI."""
    inside = {child.name: child for child in whole.children}
    for code in _codes_of(part):
        below = [(one.level, inside[one.name]) for one in part.children if code in _codes_of(one)]
        outer_peers, outer_delivery = _names_of(part.level, code)
        for level, one in below:
            peers, delivery = _names_of(level, code)
            if part.level is not Level.CLUSTER:
                for _, other in below:
                    if other is not one:
                        one.bind(peers, other.server(delivery))
            if part.level is not Level.GRID:
                one.bind(peers, whole.inner_server(outer_peers))
                whole.bind(outer_delivery, one.server(delivery))


def _names_of(level: Level, code: str) -> tuple[str, str]:
    is_site = level is Level.SITE
    return (at_site(PEERS, code), at_site(DELIVERY, code)) if is_site else (PEERS, DELIVERY)
