"""How two groups that know nothing of each other agree on an intercommunicator."""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from itertools import count
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.errors import refuse
from runtime.mpi.progress.membership import CONTEXT_BYTES, CommunicatorMembers, derived_context
from runtime.mpi.progress.operations import NativeOperation

if TYPE_CHECKING:
    from runtime.mpi.communicators.group_algebra import Members
    from runtime.mpi.progress.engine import Engine


_LEADERS_TAG = 65_537
"""A tag on inner communicators, where collectives use tags up to 32767."""

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
    said = _tell(comm, engine, leader, said)
    return said[:CONTEXT_BYTES], tuple(array(_WORD, said[CONTEXT_BYTES:]))


def _swap(engine: Engine, peer: MPI.Intracomm, other: int, tag: int, mine: bytes) -> bytes:
    """Exchange bytes with another process through a communicator of any kind."""
    members: CommunicatorMembers | None = getattr(peer, "_members", None)
    if members is None:
        return _swap_natively(engine, peer, other, tag, mine)
    if not 0 <= other < len(members.peers):
        refuse(peer, MPI.ERR_RANK)
    coming = engine.receive(members, other, _LEADERS_TAG, None, inner=True)
    engine.waits.wait_for(coming, engine.send(members, other, _LEADERS_TAG, mine, inner=True))
    return bytes(coming.data or b"")


def _swap_natively(engine: Engine, peer: MPI.Intracomm, other: int, tag: int, mine: bytes) -> bytes:
    size = array(_WORD, [0])
    own_size = array(_WORD, [len(mine)])
    engine.waits.wait_for(
        NativeOperation(MPI.Comm.Irecv(peer, [size, MPI.INT64_T], other, tag)),
        NativeOperation(MPI.Comm.Isend(peer, [own_size, MPI.INT64_T], other, tag)),
    )
    theirs = bytearray(size[0])
    engine.waits.wait_for(
        NativeOperation(MPI.Comm.Irecv(peer, [theirs, MPI.BYTE], other, tag)),
        NativeOperation(MPI.Comm.Isend(peer, [mine, MPI.BYTE], other, tag)),
    )
    return bytes(theirs)


def _tell(comm: MPI.Intracomm, engine: Engine, leader: int, said: bytes) -> bytes:
    """Broadcast from the leader, and return its value."""
    members: CommunicatorMembers | None = getattr(comm, "_members", None)
    if members is not None:
        told: bytes = comm.bcast(said, leader)
        return told
    size = array(_WORD, [len(said)])
    engine.waits.wait_for(NativeOperation(MPI.Comm.Ibcast(comm, [size, MPI.INT64_T], leader)))
    data = bytearray(said) if said else bytearray(size[0])
    engine.waits.wait_for(NativeOperation(MPI.Comm.Ibcast(comm, [data, MPI.BYTE], leader)))
    return bytes(data)
