"""Launchers on booked peers: the key is checked by the peer, which starts a guard for it."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING

from runtime.launchers.errors import LaunchError
from runtime.launchers.peer import PeerLauncher
from runtime.peers.contracts import Launch
from runtime.peers.errors import PeerError
from runtime.peers.submission.booking import Booking
from runtime.peers.submission.programs import StagedPrograms

if TYPE_CHECKING:
    from runtime.launchers.base import Source

LAUNCH_TIMEOUT = 15.0


class NotLaunched(LaunchError):
    """A peer that was booked did not start anything."""


def launcher_on(
    booking: Booking, programs: StagedPrograms, peer: str, *, place: str, patience: float
) -> PeerLauncher:
    """Return what starts processes on a booked peer; the first call waits for it."""
    caches: list[str] = []

    def stored(files: Mapping[str, Source]) -> str:
        return programs.stored(peer, caches[0], files)

    def connect(size: int, marker: tuple[str, str]) -> tuple[socket.socket, bytes]:
        try:
            connection = booking.lab.connect(peer)
        except PeerError as fault:
            raise _not_launched(place, fault) from fault
        try:
            service = connection.stub(Launch, LAUNCH_TIMEOUT)
            key = booking.keys[peer]
            answer = service.launch(booking.lab.me, key, booking.application, size, list(marker))
        except PeerError as fault:
            connection.close()
            raise _not_launched(place, fault) from fault
        caches[:] = [str(answer.get("cache", ""))]
        booking.launched(peer)
        return connection.detach(), b""

    return PeerLauncher(connect, place=place, stored=stored, patience=patience)


def _not_launched(place: str, fault: PeerError) -> NotLaunched:
    where = f"{place}: {fault.place}" if fault.place else place
    return NotLaunched(
        fault.what,
        place=where,
        cause=fault.cause,
        cure=fault.cure or "Start the run again: peers that do not answer are left out",
    )
