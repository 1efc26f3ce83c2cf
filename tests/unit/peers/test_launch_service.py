"""Launching at a peer: what was refused leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Never

import pytest

from runtime.peers.daemon.launch_service import LaunchService
from runtime.peers.errors import Refused
from runtime.peers.model import Reason


class NoPlaces:
    """A gatekeeper that knows no key."""

    def check(self, caller: str, key: str) -> None: ...
    def disconnected(self, key: str) -> None: ...
    def ended(self, key: str) -> None: ...

    def confirm(self, caller: str, key: str, application: str, stop: Callable[[], None]) -> Never:
        raise Refused("no such reservation", reason=Reason.UNKNOWN_KEY)


def test_a_launch_that_is_refused_leaves_no_descriptor_open() -> None:
    service = LaunchService()
    service.places = NoPlaces()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(Refused, match="no such reservation"):
            service.launch("user:ana", "0" * 32, "app", 1, ["a", "b"])
    assert len(os.listdir("/proc/self/fd")) == before
