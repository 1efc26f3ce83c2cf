"""How long a run may go on in the time that batch systems have granted, and what is done before.

Each rank was told in how many seconds the run ends, and counts them on its own monotonic clock. So
nobody is asked, and the clocks of hosts may be wrong.
"""

from __future__ import annotations

import math
import time
from _thread import get_ident
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from runtime import calls
from runtime.membership.rank_link import current
from runtime.mpi.progress.predefined import running_engine
from runtime.mpi.surface.observed_calls import COMMUNICATORS, REQUESTS, as_program, observe

if TYPE_CHECKING:
    from runtime.machine.wrapper import RankWrapper
    from runtime.mpi.surface.observed_calls import MadeCall

Save = TypeVar("Save", bound=Callable[[], object])

_registered: list[tuple[int, Callable[[], object]]] = []
"""What is to be called, with the thread that has registered it."""


def Time_left() -> float:
    """Return in how many seconds the run is ended for a walltime; infinity where nothing limits it.

    That is `reserve` before the end of the first job that ends. Ranks ask at different times, so
    all do the same only if one decides; replicas of a rank get the same answer.

        while world.bcast(MPI.Time_left()) > 300:
            advance()
        save()
    """
    engine = running_engine()
    if engine is None or engine.decisions is None:
        return _left()
    return engine.decisions.choose("time left", _left)


def _left() -> float:
    link = current()
    return math.inf if link is None else max(0.0, link.wrapper.ends - time.monotonic())


def Before_walltime(save: Save) -> Save:
    """Have this rank call a function once before the walltime is over, and return the function.

    From `signal-before` (2 min, or half of a short walltime) before the end of the first job on,
    the thread that has registered it calls it at its next call of MPI that communicates, before
    that does anything, and never within another one. Other ranks do so at other times: the function
    may not wait for them. What it raises, `SystemExit` too, is raised by that call. It is never
    called where nothing limits the run, nor in a rank that makes no such call; see `Time_left`.

        @MPI.Before_walltime
        def save():
            numpy.save(f"state{world.rank}", cells)
    """
    link = current()
    if link is not None:
        saving, hows = _saving(link.wrapper), (calls.BLOCKING, calls.BEGUN, calls.LOOK)
        kinds = ("send", "receive", "probe", "exchange", "collective", "copy", "make")
        observe(COMMUNICATORS, calls.of_kind(*kinds, how=hows).values(), saving)
        observe(REQUESTS, calls.of_kind("wait", "test", of=calls.OF_REQUESTS).values(), saving)
        _registered.append((get_ident(), save))
    return save


def save_what_is_due() -> None:
    """Call what this thread has registered, once it is time, before it asks for anything else."""
    link = current()
    if _registered and link is not None:
        _saving(link.wrapper).save_what_is_due()


class Saving:
    """Calls what is due before a call of the program."""

    def __init__(self, wrapper: RankWrapper) -> None:
        self._wrapper = wrapper

    def begins(self, _: MadeCall) -> None:
        """Call what is due before a call of the program."""
        self.save_what_is_due()

    def save_what_is_due(self) -> None:
        """Call what this thread has registered, once it is time."""
        if _registered and time.monotonic() >= self._wrapper.saves:
            me = get_ident()
            due = [save for thread, save in _registered if thread == me]
            _registered[:] = [one for one in _registered if one[0] != me]
            for save in due:
                as_program(save)

    def ends(self, call: MadeCall, _: None) -> None:
        """Do nothing."""


_saving = cache(Saving)
