"""The `health` controller of a cluster's clustering component: what others say of heartbeats."""

from __future__ import annotations

from typing import Any, Protocol

from gcm.components.controller import Controller
from runtime.processes.heartbeats import HeartbeatLoop
from runtime.processes.route_monitor import PART
from runtime.transport.reactor import Reactor


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
