"""Ends the programs in networks; a program is in a network wherever it was started from."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterator

LONGEST = 5.0


def sweep(holders: Collection[int]) -> None:
    """End all processes in the networks of these ones, but not these; and what they start."""
    deadline = time.monotonic() + LONGEST
    while (found := list(inside(holders))) and time.monotonic() < deadline:
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.005)


def _network(process: int) -> str:
    return os.readlink(f"/proc/{process}/ns/net")


def inside(holders: Collection[int]) -> Iterator[int]:
    """Yield the processes in the networks of these ones, but not these."""
    networks = {_network(holder) for holder in holders}
    for process in map(int, filter(str.isdigit, os.listdir("/proc"))):
        # it may have ended meanwhile; what has ended and is not yet waited for has no network
        with contextlib.suppress(OSError):
            if process not in holders and _network(process) in networks:
                yield process
