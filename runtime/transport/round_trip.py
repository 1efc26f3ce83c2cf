"""What the system knows of a connection: how long it takes, and whether its other end answers."""

from __future__ import annotations

import _socket  # not `socket`: that also imports selectors, and a rank has no use for either
import errno
import os
from struct import Struct

from runtime.transport.transports import stays_on_host

_FIGURES = Struct("=68xI76xI")  # the smoothed and the shortest one in what Linux tells, in µs

_ANSWERS = Struct("=3xB20xI28xI")
"""Questions that the host there has not answered, segments that it has not confirmed, and since
when it has said nothing, in ms."""

_LOOKS = 8
"""How often a host is looked at in the time after which a silent one is given up."""


def round_trip(connected: _socket.socket) -> tuple[float, float] | None:
    """Return the usual and the shortest seconds; None where the system does not tell them."""
    read = _tcp_info(connected, _FIGURES)
    if read is None:
        return None
    usual, shortest = read
    return usual * 1e-6, min(shortest, usual) * 1e-6


def has_answered(connected: _socket.socket, seconds: float) -> bool:
    """Return whether the host there has said something in the last seconds, or has no room.

    If it has none all that might be sent was confirmed, and what is left waits for room.
    """
    read = _tcp_info(connected, _ANSWERS)
    return read is not None and (read[:2] == (0, 0) or read[2] * 1e-3 < seconds)


class HostWatch:
    """Looks now and then whether the host at the other end of a connection still answers.

    The process there may be stopped, and may have read nothing for long: its system answers. One on
    this host ends with its connection, so there is no `pause` after which to look.
    """

    __slots__ = ("_silence", "_socket", "_was_silent", "pause")

    def __init__(self, connected: _socket.socket, silence: float) -> None:
        self._socket = connected
        self._silence = silence * (1 - 2 / _LOOKS)
        self._was_silent = False
        self.pause = None if stays_on_host(connected) else silence / _LOOKS
        """Seconds between two looks."""

    def look(self) -> None:
        """Raise TimeoutError if it has not answered at this look and the one before."""
        if self.pause is None:
            return
        is_silent = not has_answered(self._socket, self._silence)
        if is_silent and self._was_silent:
            raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
        self._was_silent = is_silent


def _tcp_info(connected: _socket.socket, wanted: Struct) -> tuple[int, ...] | None:
    option = getattr(_socket, "TCP_INFO", None)
    if option is None:
        return None
    try:
        read = connected.getsockopt(_socket.IPPROTO_TCP, option, wanted.size)
    except OSError:  # it is closed, or none of TCP
        return None
    return wanted.unpack(read) if len(read) == wanted.size else None
