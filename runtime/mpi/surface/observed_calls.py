"""Functions around the MPI calls of a program, as those that count calls and their time.

Where a run is observed, traced or checked each call passes one function more. All have the name
by which the look at stacks passes over them, see `waiting_calls`. Where nobody asks, this module is
not loaded, and calls are as they are.
"""

from __future__ import annotations

import _thread
import time

from mpi4py import MPI

from runtime import calls
from runtime.mpi.point_to_point.messages import Message
from runtime.mpi.requests.requests import Prequest, Request
from runtime.mpi.surface.communicator_classes import (
    Cartcomm,
    Comm,
    Distgraphcomm,
    Graphcomm,
    Intercomm,
    Intracomm,
    Topocomm,
)
from runtime.mpi.surface.waiting_calls import BLOCKING, NONBLOCKING

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

COMMUNICATORS: tuple[type[Any], ...] = (
    *(Comm, Intracomm, Topocomm, Cartcomm, Graphcomm, Distgraphcomm, Intercomm),
)
REQUESTS: tuple[type[Any], ...] = (Request, Prequest)

_OF_REQUESTS = calls.of_kind("wait", "test", "start", of=calls.OF_REQUESTS)
TESTS = {name for name, call in _OF_REQUESTS.items() if call.kind == "test"}
TESTS_AND_WAITS = TESTS | {name for name, call in _OF_REQUESTS.items() if call.kind == "wait"}
"""The calls that may complete requests."""

OF_CLASS = {name for name, call in _OF_REQUESTS.items() if call.is_of_class}
"""The calls of several requests, which belong to the class."""

_PROBES = {name for name, call in calls.of_kind("probe").items() if call.has("takes")}
_sums: dict[str, list[float]] = {}


class _Inside(_thread._local):
    """Whether this thread is in a call already: what that calls is none of the program's."""

    call = False


_inside = _Inside()


def put_around(
    classes: Iterable[type[Any]],
    names: Iterable[str],
    make: Callable[[Callable[..., Any], str], Any],
    mark: str,
) -> None:
    """Put what `make` makes of a call and its name around calls of some classes, once.

    The function has the attribute `mark`, by which a class that inherits it is passed over.
    """
    for cls in classes:
        for name in names:
            call = getattr(cls, name, None)
            if call is not None and not hasattr(call, mark):
                made = make(call, name)
                made.__name__ = made.__qualname__ = name
                made.__doc__ = call.__doc__
                setattr(made, mark, call)
                setattr(cls, name, staticmethod(made) if name in OF_CLASS else made)


def observe() -> None:
    """Count calls from now on."""
    put_around((*COMMUNICATORS, *REQUESTS), BLOCKING, _counting, "observes")
    put_around((Message,), ("Recv", "recv"), _counting, "observes")
    put_around(COMMUNICATORS, NONBLOCKING | _PROBES, _beginning, "begins")


def counted() -> list[list[object]] | None:
    """Return each call that was made, how often, and its seconds in all; None if none counts."""
    if not _sums:
        return None
    return [[name, int(calls), seconds] for name, (calls, seconds) in _sums.items() if calls]


def _counting(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    clock = time.perf_counter
    sums = _sums.setdefault(name, [0, 0.0])

    def observed_call(*args: Any, **options: Any) -> Any:
        if _inside.call:
            return call(*args, **options)
        _inside.call, begun = True, clock()
        try:
            return call(*args, **options)
        finally:
            sums[1] += clock() - begun
            sums[0] += 1
            _inside.call = False

    return observed_call


def _beginning(call: Callable[..., Any], _: str) -> Callable[..., Any]:
    """Return what native MPI makes in a communicator of one cluster as ours, which is counted."""

    def observed_call(*args: Any, **options: Any) -> Any:
        made = call(*args, **options)
        if type(made) is MPI.Request:
            return MPI.Request.__new__(Request, made)  # quicker than a call of the class
        return Message(made) if type(made) is MPI.Message else made

    return observed_call
