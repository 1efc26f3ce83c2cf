"""What the parts of a peer need of the connections around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runtime.transport.admission import EventLoop
from runtime.wire.dialling.connecting import Connector
from runtime.wire.errors import PeerLost
from runtime.wire.stream.messages import MessageSink


class PeerContext(EventLoop, Protocol):
    """`PeerConnections`, to a peer."""

    me: int
    sink: MessageSink
    connector: Connector
    stage: memoryview
    silence: float
    resume_timeout: float
    suspect: Callable[[int, PeerLost | None], None] | None
    are_all_ends_told: bool

    def describe(self, peer: int) -> str:
        """Return how errors name a peer."""
        ...

    def link_to(self, peer: int) -> str:
        """Return how errors name what is between this rank and a peer."""
        ...

    def is_near(self, peer: int) -> bool:
        """Tell whether a peer is on this machine."""
        ...
