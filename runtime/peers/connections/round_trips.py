"""The round trip to the other end of a connection."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress

from runtime.peers.connections.connection import MemberConnection
from runtime.peers.contracts import LabMembership

PINGS = 3
"""How many messages make one sample; the shortest counts."""

_SHORTEST = 148  # where in Linux' `struct tcp_info` the shortest round trip is, in microseconds
_NONE = 0xFFFFFFFF


def round_trip(connection: MemberConnection, caller: str) -> float:
    """Return the seconds that a message and its answer are under way; raises PeerError.

    A busy host answers late, so what Linux has measured of the packets counts if that is less.
    """
    membership = connection.stub(LabMembership)
    shortest = float("inf")
    for _ in range(PINGS):
        began = time.monotonic()
        membership.ping(caller)
        shortest = min(shortest, time.monotonic() - began)
    return min(shortest, _of_packets(connection.socket))


def _of_packets(connected: socket.socket) -> float:
    """Return the shortest round trip of the packets of a connection, infinity if nobody knows."""
    if not hasattr(socket, "TCP_INFO"):
        return float("inf")
    told = b""
    with suppress(OSError):  # another thread has closed it
        told = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SHORTEST + 4)
    if len(told) < _SHORTEST + 4:
        return float("inf")
    (found,) = struct.unpack_from("I", told, _SHORTEST)
    return float("inf") if found == _NONE else found / 1e6
