"""What can go wrong between ranks of different clusters; every error names the peer."""

from __future__ import annotations

from runtime.errors import GridError


class WireError(GridError):
    """The root of what this package raises."""


class BadFrame(WireError):
    """What came over a connection is no frame of this protocol, or one beyond its limits."""


class PeerLost(WireError):
    """A peer cannot be reached, or not any more; nothing more will come from it."""


class PeerAbsent(PeerLost):
    """A peer cannot be reached and never was: it has ended, or its cluster is cut off.

    Whoever waits for somebody else, too, goes on waiting.
    """


class PeerLeft(PeerLost):
    """A peer has ended in order; nothing more will come from it."""
