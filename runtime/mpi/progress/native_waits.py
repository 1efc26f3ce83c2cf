"""Waiting for requests of native MPI without busy-polling for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.mpi.progress.operations import POLLED, Operation
from runtime.mpi.progress.polling import LONGEST, insist

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine

_LARGEST_ITEM = 16
"""The most bytes of an item of a plain type."""

SPINS = 40
"""How many polls are made in a row before anything else is done."""

_A_BYTE = 150e-12
"""Seconds per byte of a large message through memory, with a margin."""


_engine: Engine | None = None


def use(engine: Engine | None) -> None:
    """Set the engine to wait with for native requests of this process; None for MPI's own waits."""
    global _engine  # noqa: PLW0603 - there is one native MPI in a process
    _engine = engine


def current() -> Engine | None:
    """Return the engine to wait with for what belongs to no communicator of the grid."""
    return _engine


class _Native(Operation):
    __slots__ = ()

    @property
    def urgency(self) -> int:
        """It is urgent."""
        return POLLED

    def describe(self) -> str:
        """Describe what is waited for."""
        return "a process of this cluster"


NATIVE = _Native()
"""Anything that native MPI has to be polled for."""


def settle(engine: Engine, test: Callable[[], object], buf: object = None) -> None:
    """Poll until the answer is true, first often, then less and less.

    For a message in `buf`, as a program gave it, polls are frequent for as long as moving it takes:
    to do other things in between would make both ends wait.
    """
    for _ in range(SPINS):
        if test():
            return
    until = time.perf_counter() + to_move(buf)
    while time.perf_counter() < until:
        if test():
            return
    engine.waits.wait(lambda: insist(test), lambda: (NATIVE,))


def to_move(buf: object) -> float:
    """Return for how many seconds to poll for a message in memory that a program gave.

    0 if its size is not obvious: this is only an estimate.
    """
    memory: Any = buf
    count: Any = None
    if isinstance(buf, (list, tuple)) and buf:
        memory, count = buf[0], next(iter(buf[1:2]), None)
    try:
        size = len(memory) if isinstance(memory, (bytes, bytearray)) else memory.nbytes
        most = count * _LARGEST_ITEM if isinstance(count, int) else size
        return float(min(min(size, most) * _A_BYTE, LONGEST))
    except Exception:
        # The program's object may raise anything here. The message is on its way already, and MPI
        # may write to its memory, so nothing may skip waiting for it.
        return 0.0
