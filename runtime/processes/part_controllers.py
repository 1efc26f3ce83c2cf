"""The controllers of parts of the machine beside the usual ones: `monitor` and `health`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from gcm.components.controller import Controller
from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.monitor import MonitorController
from runtime.errors import GridError
from runtime.lifecycle.outcome import Connections

if TYPE_CHECKING:
    from runtime.processes.heartbeats import HeartbeatLoop
    from runtime.transport.reactor import Reactor

Figures = dict[str, Any]
"""`Connections` as plain data."""


class Connecting(Protocol):
    """What is inside a part of the machine."""

    figures: Callable[[str], Figures]


class RouteMonitor(MonitorController):
    """Asks the ranks when it is asked, so it costs nothing else, enabled or not."""

    __slots__ = ()

    def connections(self, rank: str = "") -> Connections:
        """Return what a rank, or all ranks of a cluster, did to reach others, until now.

        A rank that has no connections to other clusters, or is busy for longer than a second with
        something that is no message, tells nothing new.
        """
        found = self.figures(rank)
        try:
            return Connections.of_plain(found)
        except (KeyError, TypeError, ValueError) as error:
            raise GridError(
                "what was answered is not how ranks found others",
                place=self.component.path,
                cause=f"{type(error).__name__}: {error}",
                cure="Both processes need the same version of this package",
            ) from error

    def figures(self, rank: str = "") -> Figures:
        """Return the same as plain data, as it goes from process to process."""
        content: Connecting = self.component.content
        return content.figures(rank)


PART = PRIMITIVE.including(RouteMonitor)
"""The membrane of wrappers and clustering components."""


class Watching(Protocol):
    """What is inside a clustering component that takes part in watching others."""

    reactor: Reactor
    heartbeats: HeartbeatLoop | None


class HealthController(Controller):
    """Lets front-ends and the launcher watch the cluster's front-end, and it them."""

    __slots__ = ()
    name = "health"

    def hear(self, member: str, kind: str, fields: tuple[Any, ...]) -> None:
        """Take what another member's detector says; see `runtime.health.messages`."""
        content: Watching = self.component.content
        loop = content.heartbeats
        if loop is not None:
            content.reactor.soon(lambda: loop.hear(member, kind, fields))

    def suspects(self) -> list[str]:
        """Return whom this front-end suspects now."""
        loop = self.component.content.heartbeats
        return [] if loop is None else loop.suspects


WATCHING_PART = PART.including(HealthController)
"""The membrane of the clustering component of a cluster."""
