"""What the parts of a peer need of the connections around them."""

from __future__ import annotations

from runtime.wire.dialling.connecting import Connector
from runtime.wire.dialling.listeners import Watch
from runtime.wire.errors import PeerLost
from runtime.wire.stream.messages import MessageSink

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol
else:
    Protocol = object


class PeerContext(Protocol):
    """`PeerConnections`, to a peer."""

    me: int
    sink: MessageSink
    connector: Connector
    stage: memoryview
    silence: float
    resume_timeout: float
    suspect: Callable[[int, PeerLost | None], None] | None
    are_all_ends_told: bool

    @property
    def watch_descriptor(self) -> Watch:
        """Return what watches a descriptor."""
        ...

    def now(self) -> float:
        """Return the time."""
        ...

    def look_again(self) -> None:
        """See to it that `look` of each peer is called soon."""
        ...

    def describe(self, peer: int) -> str:
        """Return how errors name a peer."""
        ...

    def link_to(self, peer: int) -> str:
        """Return how errors name what is between this rank and a peer."""
        ...

    def is_near(self, peer: int) -> bool:
        """Tell whether a peer is on this machine."""
        ...
