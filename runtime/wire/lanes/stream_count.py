"""The stream count of a pair: whether one connection is enough, or lanes beside it may help.

Only distant peers get more connections. For all others no module is loaded and nothing measured.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from runtime.lazy_import import LazyModule
from runtime.transport.round_trip import round_trip
from runtime.wire.stream.duplex import DuplexStream

if TYPE_CHECKING:
    from runtime.routing import scale_out
    from runtime.wire.dialling.connecting import PeerContext
    from runtime.wire.lanes import pair_lanes
else:
    scale_out = LazyModule("runtime.routing.scale_out")
    pair_lanes = LazyModule("runtime.wire.lanes.pair_lanes")


class StreamCount:
    """The lanes of one pair, as soon as there may be any."""

    def __init__(
        self, index: int, context: PeerContext, duplex: DuplexStream, owner: pair_lanes.LaneOwner
    ) -> None:
        self._index = index
        self._context = context
        self._duplex = duplex
        self._sender = duplex.sender
        self._owner = owner
        self._first: socket.socket | None = None
        self.lanes: pair_lanes.Lanes | None = None
        duplex.receiver.lanes = self._handle_frame

    @property
    def count(self) -> int:
        """How many lanes there are."""
        return 0 if self.lanes is None else self.lanes.count

    @property
    def most(self) -> int:
        """How many there were at a time."""
        return 0 if self.lanes is None else self.lanes.most

    @property
    def round_trip(self) -> float:
        """The shortest seconds of the first connection there and back; 0 where nobody knows."""
        seen = None if self._first is None else round_trip(self._first)
        return 0.0 if seen is None else seen[1]

    @property
    def deadline(self) -> float | None:
        """When `tick` has to be called."""
        return None if self.lanes is None else self.lanes.deadline

    def tick(self, now: float) -> None:
        """See to what is due."""
        if self.lanes is not None:
            self.lanes.tick(now)

    def joined(self, connected: socket.socket, *, resumes: bool) -> None:
        """Record that this is the first connection now, or again."""
        self._first = connected if resumes else None
        if self.lanes is not None:
            self.lanes.joined(self._first)
        else:
            self._sender.more = self._has_more if resumes else None

    def admit(self, connected: socket.socket, received: bytes) -> None:
        """Use a lane that the peer has opened; refuse it where it belongs to nothing."""
        if self._first is None:
            connected.close()
        else:
            self.opened().admit(connected, received)

    def narrow(self) -> bool:
        """Do with one connection for now; return whether that is so already."""
        return self.lanes is None or self.lanes.narrow(self._context.now())

    def close(self) -> None:
        """Hang up, for good."""
        self._sender.more = self._first = None
        if self.lanes is not None:
            self.lanes.close()

    def opened(self) -> pair_lanes.Lanes:
        """Return the lanes, of which there may be none yet."""
        if self.lanes is None:
            self.lanes = pair_lanes.Lanes(self._index, self._context, self._duplex, self._owner)
            self.lanes.first = self._first
            self._sender.more = self.lanes.more
        return self.lanes

    def _has_more(self) -> None:
        """Record that there is more to be sent than goes at once; of a near peer only this time."""
        seen = None if self._first is None else round_trip(self._first)
        if seen is None or seen[0] < scale_out.FAR:
            self._sender.more = None
        else:
            self.opened().more()

    def _handle_frame(self, kind: int, number: int, size: int) -> None:
        if self._first is not None:
            self.opened().handle_frame(kind, number, size)
