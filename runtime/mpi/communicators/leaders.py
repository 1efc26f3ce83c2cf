"""How two groups that know nothing of each other agree on an intercommunicator."""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from itertools import count
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.communicators.members import indexes_of, members_behind
from runtime.mpi.errors import refuse
from runtime.mpi.process.place import here
from runtime.mpi.progress.mailboxes import CONTEXT_BYTES
from runtime.mpi.progress.membership import derived_context
from runtime.mpi.progress.operations import NativeOperation
from runtime.mpi.progress.predefined import predefined

if TYPE_CHECKING:
    from runtime.mpi.communicators.group_algebra import Members
    from runtime.mpi.progress.engine import Engine


_LEADERS_TAG = 65_537
"""The first tag of agreements on inner communicators; all others are lower."""

_WORD = "q"


class CallCounts:
    """Counts calls with equal values, so that each can be distinguished from the one before.

    All members of a group count the same calls, since MPI has them make these in the same order.
    Thread-safe.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[Hashable, ...], count[int]] = {}

    def next(self, *what: Hashable) -> int:
        """Return the number of the call with these values, counted from 1.

        >>> turns = CallCounts()
        >>> turns.next("a"), turns.next("b"), turns.next("a")
        (1, 1, 2)
        """
        return next(self._counts.setdefault(what, count(1)))


_led = CallCounts()
"""Counts the agreements that this process has led, to distinguish them."""


def agreed(engine: Engine, peer: MPI.Intracomm, other: int, tag: int, group: Members) -> bytes:
    """Return what a leader tells its group: a context for both groups, and the other's members.

    The leader of the other group has the rank `other` in the peer communicator.
    """
    mine = array(_WORD, (engine.me, _led.next(), *group)).tobytes()
    theirs = array(_WORD, _swap(engine, peer, other, tag, mine))
    leaders = sorted((tuple(array(_WORD, mine)[:2]), tuple(theirs[:2])))
    return derived_context(b"", "Create_intercomm", *leaders) + theirs[2:].tobytes()


def from_leader(
    comm: MPI.Intracomm, engine: Engine, leader: int, said: bytes
) -> tuple[bytes, Members]:
    """Return the context and the other group, as told by the leader of this one."""
    said = tell_bytes(comm, engine, leader, said)
    return said[:CONTEXT_BYTES], tuple(array(_WORD, said[CONTEXT_BYTES:]))


def _swap(engine: Engine, peer: MPI.Intracomm, other: int, tag: int, mine: bytes) -> bytes:
    """Exchange bytes with the leader of the other group, out of sight of the program's receives.

    A native peer communicator has no context for that: a pending receive of any tag would take the
    message. There the leaders talk as members of COMM_GRID.
    """
    members = members_behind(peer)
    group = indexes_of(peer, engine)
    if not 0 <= other < len(group):
        refuse(peer, MPI.ERR_RANK)
    if not 0 <= tag <= here().tag_limit:
        refuse(peer, MPI.ERR_TAG)
    if members is None:
        number = _tag_of(group, tag)
        members, other = members_behind(predefined().comms["COMM_GRID"]), group[other]
        assert members is not None, "where there is an engine, the grid has several clusters"
    else:
        number = _tag_of(members.context, tag)
    coming = engine.receive(members, other, number, None, inner=True)
    engine.waits.wait_for(coming, engine.send(members, other, number, mine, inner=True))
    return bytes(coming.data or b"")


def _tag_of(peer: bytes | Members, tag: int) -> int:
    """Return the inner tag of an agreement: each of several threads may be making one."""
    number = int.from_bytes(derived_context(b"", "leaders", peer, tag))
    return _LEADERS_TAG + number % (here().tag_limit - _LEADERS_TAG)


def tell_bytes(comm: MPI.Intracomm, engine: Engine, leader: int, said: bytes) -> bytes:
    """Broadcast from the leader, and return its value."""
    if members_behind(comm) is not None:
        told: bytes = comm.bcast(said, leader)
        return told
    size = array(_WORD, [len(said)])
    engine.waits.wait_for(NativeOperation(MPI.Comm.Ibcast(comm, [size, MPI.INT64_T], leader)))
    data = bytearray(said) if said else bytearray(size[0])
    engine.waits.wait_for(NativeOperation(MPI.Comm.Ibcast(comm, [data, MPI.BYTE], leader)))
    return bytes(data)
