"""How long a connection takes there and back, as the system measures it."""

from __future__ import annotations

import socket
from struct import Struct

_FIGURES = Struct("=68xI76xI")  # the smoothed and the shortest one in what Linux tells, in µs


def round_trip(connected: socket.socket) -> tuple[float, float] | None:
    """Return the usual and the shortest seconds; None where the system does not tell them."""
    option = getattr(socket, "TCP_INFO", None)
    if option is None or connected.family == socket.AF_UNIX:
        return None
    try:
        told = connected.getsockopt(socket.IPPROTO_TCP, option, _FIGURES.size)
    except OSError:  # it is closed
        return None
    if len(told) < _FIGURES.size:
        return None
    usual, shortest = _FIGURES.unpack(told)
    return usual * 1e-6, min(shortest, usual) * 1e-6
