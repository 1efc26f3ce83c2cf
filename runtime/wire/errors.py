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

    A call that waits for somebody else, too, goes on waiting.
    """


class LinkLost(PeerLost):
    """Nothing leads to a peer any more, of which nobody says that it has ended."""


class PeerSilent(PeerLost):
    """A peer does not answer, but its system does: the process is there and does not run now."""


class NoRoute(PeerLost):
    """Nothing known leads to a peer, so that there is nothing to try again."""


class PeerLeft(PeerLost):
    """A peer has ended in order; nothing more will come from it."""


def reason_of(fault: Exception) -> str:
    """Return what an error says, without the number of the system."""
    return fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)


def gone(peer: str, why: str, cause: str = "") -> PeerLost:
    """Return that a peer was there and is not any more."""
    return PeerLost(
        f"{peer} is lost: {why}",
        cause=cause,
        cure="Its own output, or that of its cluster, may say why",
    )
