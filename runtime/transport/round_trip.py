"""What the system knows of a connection: how long it takes, and whether its other end answers."""

from __future__ import annotations

import socket
from struct import Struct

_FIGURES = Struct("=68xI76xI")  # the smoothed and the shortest one in what Linux tells, in µs

_ANSWERS = Struct("=3xB20xI28xI")
"""Questions that the host there has not answered, segments that it has not confirmed, and since
when it has said nothing, in ms."""


def round_trip(connected: socket.socket) -> tuple[float, float] | None:
    """Return the usual and the shortest seconds; None where the system does not tell them."""
    read = _tcp_info(connected, _FIGURES)
    if read is None:
        return None
    usual, shortest = read
    return usual * 1e-6, min(shortest, usual) * 1e-6


def has_answered(connected: socket.socket, seconds: float) -> bool:
    """Return whether the host there has said something in the last seconds, or has no room.

    If it has none all that might be sent was confirmed, and what is left waits for room.
    """
    read = _tcp_info(connected, _ANSWERS)
    return read is not None and (read[:2] == (0, 0) or read[2] * 1e-3 < seconds)


def _tcp_info(connected: socket.socket, wanted: Struct) -> tuple[int, ...] | None:
    option = getattr(socket, "TCP_INFO", None)
    if option is None:
        return None
    try:
        read = connected.getsockopt(socket.IPPROTO_TCP, option, wanted.size)
    except OSError:  # it is closed, or none of TCP
        return None
    return wanted.unpack(read) if len(read) == wanted.size else None
