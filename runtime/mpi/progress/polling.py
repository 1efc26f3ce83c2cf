"""Polls of native MPI: how long one takes when idle, and when it is worth going on."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

from mpi4py import MPI

MOVES = 2.0
"""A poll of native MPI that takes this many times the usual one has moved data."""

_COLD = 2
"""The first polls after a sleep take long anyway."""

_TRIED = 15
"""How many polls are made to measure the usual one."""

LINGER, LONGEST = 25e-6, 2e-3
"""How long to go on polling after data has moved, and when to do other things anyway."""


@cache
def usual_poll() -> float:
    """Return how many seconds an idle poll takes on this machine."""
    times = []
    for _ in range(_TRIED):
        begun = time.perf_counter()
        poll_native()
        times.append(time.perf_counter() - begun)
    return sorted(times)[_TRIED // 2]


def progress_native() -> None:
    """Let native MPI make progress that others of this cluster need, such as large sends."""
    for _ in range(_COLD):
        poll_native()
    insist(lambda: False)


def poll_native() -> bool:
    """Make a native call for its progress only; its result, usually false, does not matter."""
    return MPI.COMM_WORLD.Iprobe(MPI.ANY_SOURCE, _last_tag())


@cache
def _last_tag() -> int:
    """Return a tag that hardly any program uses, so that the probe finds no message."""
    found = MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)
    assert isinstance(found, int)
    return found


def insist(test: Callable[[], object]) -> bool:
    """Poll repeatedly as long as that moves a large message, which takes many polls."""
    least = MOVES * usual_poll()
    begun = time.perf_counter()
    moved: float | None = None
    while not test():
        asked = time.perf_counter()
        poll_native()
        now = time.perf_counter()
        if now - asked > least:
            moved = now
        if moved is None or now - moved > LINGER or now - begun > LONGEST:
            return False
    return True
