"""Lets receives from any source take another message than MPI would, where several wait.

MPI promises no order between messages of different ranks. A program that is right for one order
only would pass where they always come in that one.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.checks.records import WaitingMessage

if TYPE_CHECKING:
    from runtime.mpi.checks.records import KnownComm

PATIENCE = 0.1
"""For so many seconds in all a call of the program waits for a second message."""

MOST_PASSED = 8
"""So often a call passes over the message of a sender, which may let the program end."""


class ReceiveChoices:
    """Chooses messages for the receives of this rank."""

    def __init__(self) -> None:
        self._patience: dict[int, float] = {}
        self._passed: dict[tuple[int, int], int] = {}  # by the call and the sender

    def choose(
        self, comm: Any, known: KnownComm | None, given: dict[str, Any], tag: str, number: int,
        *, room: int | None = None, blocks: bool = False,
    ) -> list[WaitingMessage]:  # fmt: skip
        """Give a receive from any source the sender of a message; return all that it may take.

        The first one returned is taken; there are none where there is no choice. `given` are the
        arguments of the call, `tag` is the name of one, `number` that of the call. A message that
        is longer than the `room` is never taken.
        """
        if given["source"] != MPI.ANY_SOURCE or known is None or not _is_alone(known):
            return []
        waiting = _waiting(comm, given[tag], known.size)
        began, patience = time.monotonic(), self._patience.get(number, PATIENCE)
        while blocks and len(waiting) < 2 and time.monotonic() < began + patience:
            waiting = _waiting(comm, given[tag], known.size)
        self._patience[number] = patience - (time.monotonic() - began)
        fitting = [one for one in waiting if room is None or one.size <= room]
        if len(waiting) < 2 or not fitting:
            return []
        status = MPI.Status()
        comm.Iprobe(MPI.ANY_SOURCE, given[tag], status)
        passed = self._passed.get((number, status.source), 0)
        self._passed[number, status.source] = (passed + 1) % (MOST_PASSED + 1)
        if passed == MOST_PASSED:
            return []
        others = [one for one in fitting if one.source != status.source]
        taken = (others or fitting)[-1]
        given["source"] = taken.source
        return [taken, *(one for one in waiting if one is not taken)]


def _waiting(comm: Any, tag: Any, size: int) -> list[WaitingMessage]:
    """Return the first message of each rank that has come and that no receive has taken."""
    status, found = MPI.Status(), []
    if comm.Iprobe(MPI.ANY_SOURCE, tag, status):
        for rank in range(size):
            if comm.Iprobe(rank, tag, status):
                nbytes = status.Get_count(MPI.BYTE)
                found.append(WaitingMessage(status.source, status.tag, nbytes))
    return found


def _is_alone(known: KnownComm) -> bool:
    """Return whether no other thread of the program can take a message that is chosen."""
    ours = (one.name.startswith("gcm-") for one in threading.enumerate())
    return not known.is_shared and sum(not one for one in ours) == 1
