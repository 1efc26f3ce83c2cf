"""Waiting for requests of native MPI without burning a core for long."""

from __future__ import annotations

import time
from functools import cache

from mpi4py import MPI

from runtime.mpi.progress.operations import POLLED, Operation

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from runtime.mpi.progress.engine import Engine

MOVES = 2.0
"""A question to native MPI that takes so many times the usual one has moved data."""

_COLD = 2
"""The first questions after a sleep take long anyway."""

_TRIED = 15
"""So many questions are asked to know how long the usual one takes."""

LINGER, LONGEST = 25e-6, 2e-3
"""How long to go on asking after data has moved, and when to look after other things anyway."""

_LARGEST_ITEM = 16
"""How many bytes an item of a plain type has at most."""

SPINS = 40
"""How often native MPI is asked at once, before anything else is looked after."""

_A_BYTE = 150e-12
"""How many seconds a byte of a large message takes on its way through memory, and some more."""


_engine: Engine | None = None


def use(engine: Engine | None) -> None:
    """Wait with this engine for requests of native MPI in this process; None for its own way."""
    global _engine  # noqa: PLW0603 - there is one native MPI in a process
    _engine = engine
    if engine is not None:
        _usual()  # nothing moves yet


@cache
def _usual() -> float:
    """Return how many seconds a question takes that moves nothing, on this machine."""
    times = []
    for _ in range(_TRIED):
        begun = time.perf_counter()
        ask_native()
        times.append(time.perf_counter() - begun)
    return sorted(times)[_TRIED // 2]


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
        """Say what is waited for."""
        return "a process of this cluster"


NATIVE = _Native()
"""Whatever native MPI has to be asked for."""


def settle(engine: Engine, test: Callable[[], object], buf: object = None) -> None:
    """Ask until the answer is true, first often, then less and less.

    If it is about a message in `buf`, as a program gave it, it is asked as often at first as it
    takes to move that: who looks after other things between makes both ends wait.
    """
    for _ in range(SPINS):
        if test():
            return
    until = time.perf_counter() + to_move(buf)
    while time.perf_counter() < until:
        if test():
            return
    engine.wait_until(lambda: _insist(test), lambda: (NATIVE,))


def to_move(buf: object) -> float:
    """Return for how many seconds to ask at once for a message in memory that a program gave.

    0 if it is not plain to see how large that is: it is only a guess of what is worth while.
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
        # may write to its memory, so nothing may keep from waiting for it.
        return 0.0


def progress_native() -> None:
    """Let native MPI go on with what others of this cluster need, such as to send much."""
    for _ in range(_COLD):
        ask_native()
    _insist(lambda: False)


def ask_native() -> bool:
    """Ask native MPI something whose answer does not matter, once; it is no, as a rule."""
    return MPI.COMM_WORLD.Iprobe(MPI.ANY_SOURCE, _last_tag())


@cache
def _last_tag() -> int:
    """Return a tag that hardly any program uses: a message in sight would be no reason to go on."""
    found = MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)
    assert isinstance(found, int)
    return found


def _insist(test: Callable[[], object]) -> bool:
    """Ask again and again as long as that moves a large message, which takes many questions."""
    least = MOVES * _usual()
    begun = time.perf_counter()
    moved: float | None = None
    while not test():
        asked = time.perf_counter()
        ask_native()
        now = time.perf_counter()
        if now - asked > least:
            moved = now
        if moved is None or now - moved > LINGER or now - begun > LONGEST:
            return False
    return True
