"""Launching at a peer: what was refused leaves nothing behind."""

from __future__ import annotations

import os
import socket
from typing import Never

import pytest

from runtime.launchers.peer import keep_alive
from runtime.peers.daemon.launch_service import LaunchService
from runtime.peers.errors import Refused
from runtime.peers.model import Reason


class NoPlaces:
    """Admission control that knows no key."""

    def check(self, caller: str, key: str) -> None: ...
    def ended(self, key: str) -> None: ...

    def confirm(self, caller: str, key: str, application: str, used: int) -> Never:
        raise Refused("no such reservation", reason=Reason.UNKNOWN_KEY)


def test_a_launch_that_is_refused_leaves_no_descriptor_open() -> None:
    service = LaunchService()
    service.places = NoPlaces()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(Refused, match="no such reservation"):
            service.launch("user:ana", "0" * 32, "app", [[0, 0]], [1, "a", "b"])
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("seconds", [0.1, 60, 365 * 24 * 3600])
def test_any_lease_that_can_be_configured_can_be_watched(seconds: float) -> None:
    with socket.socket() as connection:
        keep_alive(connection, seconds)
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
