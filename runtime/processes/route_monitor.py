"""The `monitor` controller of parts of the machine: how their ranks found those elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.monitor import MonitorController
from runtime.errors import GridError
from runtime.run.outcome import Connections

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
