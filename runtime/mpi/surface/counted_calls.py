"""Counts the calls of this rank that may block, and the time that they take."""

from __future__ import annotations

import time
from _thread import get_ident

from runtime import calls
from runtime.mpi.surface.observed_calls import COMMUNICATORS, MESSAGES, REQUESTS, observe

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from runtime.mpi.surface.observed_calls import MadeCall

_BLOCKS = (calls.BLOCKING,)
_clock = time.perf_counter
_sums: dict[str, list[float]] = {}
_open: dict[int, float] = {}
"""When the call of each thread has begun, as long as it goes on."""


class Counts:
    """Adds up the calls by name."""

    def begins(self, _: MadeCall) -> float:
        """Return the time."""
        begun = _open[get_ident()] = _clock()
        return begun

    def ends(self, call: MadeCall, begun: float) -> None:
        """Count the call, however it has ended."""
        _open.pop(get_ident(), None)
        if call.row.how == calls.BLOCKING:
            sums = _sums.setdefault(call.row.name, [0, 0.0])
            sums[1] += _clock() - begun
            sums[0] += 1


def count() -> None:
    """Count calls from now on."""
    counts = Counts()
    communicating = ("send", "receive", "exchange", "probe", "collective", "copy", "make")
    observe(COMMUNICATORS, calls.of_kind(*communicating, how=_BLOCKS).values(), counts)
    observe(REQUESTS, calls.of_kind("wait", of=calls.OF_REQUESTS).values(), counts)
    observe(MESSAGES, calls.of_kind("receive", of=("Message",), how=_BLOCKS).values(), counts)
    # of what these begin or find, the wait or the receive is counted
    begin = ("send", "receive", "exchange", "collective", "copy")
    observe(COMMUNICATORS, calls.of_kind(*begin, how=(calls.BEGUN,)).values(), counts)
    observe(COMMUNICATORS, calls.of_kind("probe", how=(calls.LOOK,)).values(), counts)


def counted() -> list[list[object]] | None:
    """Return each call that was made, how often, and its seconds in all; None if none counts."""
    if not _sums:
        return None
    return [[name, int(calls), seconds] for name, (calls, seconds) in _sums.items()]


def seconds() -> float:
    """Return how long this rank has been in calls until now, those that go on included.

    Threads that were in calls at the same time count as often.
    """
    now = _clock()
    return sum(one[1] for one in [*_sums.values()]) + sum(now - one for one in [*_open.values()])
