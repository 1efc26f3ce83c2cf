"""The `monitor` controller of parts of the machine: how their ranks found those elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.monitor import MonitorController
from runtime.run.outcome import Connections


class Connecting(Protocol):
    """What is inside a part of the machine."""

    connections: Callable[[str], Connections]


class RouteMonitor(MonitorController):
    """Asks the ranks when it is asked, so it costs nothing else, enabled or not."""

    __slots__ = ()

    def connections(self, rank: str = "") -> Connections:
        """Return what a rank, or all ranks of a cluster, did to reach others, until now.

        A rank that has no connections to other clusters, or is busy for longer than a second with
        something that is no message, tells nothing new.
        """
        content: Connecting = self.component.content
        return content.connections(rank)


PART = PRIMITIVE.including(RouteMonitor)
"""The membrane of wrappers and clustering components."""
