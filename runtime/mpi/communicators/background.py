"""Duplicates that native MPI makes in the background, and what has to wait for them.

The members of a new communicator look for a number that is free at all of them. MPICH lets one
search at a time have its numbers, in an order that all know, and repeats the others. A search of
one process alone is repeated within the call, which moves none of those before it: the call never
returns. So a communicator of one process is made natively when no duplicate is on its way here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.mpi.progress.operations import NativeOperation

if TYPE_CHECKING:
    from mpi4py import MPI

    from runtime.mpi.progress.engine import Engine

_begun: list[NativeOperation] = []


def in_background(request: MPI.Request) -> NativeOperation:
    """Return the operation for the request of a native duplicate."""
    made = NativeOperation(request, None, "a duplicate of a native communicator")
    _begun[:] = [*on_their_way(), made]
    return made


def on_their_way() -> list[NativeOperation]:
    """Return the duplicates that native MPI has not finished."""
    return [one for one in _begun if not one.done]


def await_earlier(engine: Engine, size: int) -> None:
    """Wait until a native communicator of so many processes can be made without spinning."""
    before = on_their_way() if size == 1 else []
    if before:
        engine.waits.wait(lambda: all(one.test() for one in before), lambda: before)
