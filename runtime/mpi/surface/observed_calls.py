"""Counts the MPI calls of this rank and their time, where somebody wants to observe the run.

Then each call that may block passes one more function, which takes the time before and after it.
Where nobody observes, this module is not loaded, and calls are as they are.
"""

from __future__ import annotations

import time

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
from runtime.mpi.surface.waiting_calls import BLOCKING

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CLASSES = (
    *(Comm, Intracomm, Topocomm, Cartcomm, Graphcomm, Distgraphcomm, Intercomm),
    *(Request, Prequest),
)

_sums: dict[str, list[float]] = {}


def observe() -> None:
    """Count calls from now on."""
    for cls in _CLASSES:
        for name in BLOCKING:
            call = getattr(cls, name, None)
            if call is not None and not hasattr(call, "observes"):
                made: Any = _observed(call, name)
                setattr(cls, name, made if not hasattr(call, "__self__") else staticmethod(made))


def counted() -> list[list[object]]:
    """Return each call that was made, how often, and the seconds that it took in all."""
    return [[name, int(calls), seconds] for name, (calls, seconds) in _sums.items() if calls]


def _observed(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    clock = time.perf_counter
    sums = _sums.setdefault(name, [0, 0.0])

    def observed_call(*args: Any, **options: Any) -> Any:
        begun = clock()
        try:
            return call(*args, **options)
        finally:
            sums[1] += clock() - begun
            sums[0] += 1

    observed_call.observes = call  # type: ignore[attr-defined]
    observed_call.__name__, observed_call.__doc__ = name, call.__doc__
    return observed_call
