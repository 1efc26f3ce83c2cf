"""Checks that the members of a cluster give as much data where they have to.

Between clusters the tag of every message tells the size. Within a cluster native MPI moves the
data, and may deliver what does not fit without an error. So one member, the leader, exchanges tags
with the others. They travel ahead of the data: where that has come they are there already, so
nobody has to wait for them or to be woken. Those of objects travel with the sizes of their pickles,
see `runtime.collectives.parcels`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from runtime.collectives.layout import ClusterPart
    from runtime.collectives.port import Steps
    from runtime.mpi.collectives.port import NativePort

_T = TypeVar("_T")

_TAG = struct.Struct("<q")


def checked_by_leader(
    algorithm: Steps[_T],
    part: ClusterPart,
    leader: int,
    port: NativePort,
    *,
    at_once: bool,
) -> Steps[_T]:
    """Carry an algorithm out that does not end at others before the leader has done its part.

    The leader takes no step, or only the first one, before all have told it the same.
    """
    if port.rank != leader:
        telling = port.tell(part.members.index(leader), wakes=not at_once)
        result = yield from algorithm
        yield (telling,)
        return result
    others = [rank for rank in part.members if rank != leader]
    rooms = [memoryview(bytearray(_TAG.size)) for _ in others]
    heard = [
        port.hear(part.members.index(rank), room, wakes=not at_once)
        for rank, room in zip(others, rooms, strict=True)
    ]
    kept: list[_T] = []
    steps = _kept(algorithm, kept)
    if at_once:
        yield next(steps, ())
    yield heard
    port.compare({rank: _TAG.unpack(room)[0] for rank, room in zip(others, rooms, strict=True)})
    yield from steps
    return kept[0]


def _kept(algorithm: Steps[_T], result: list[_T]) -> Steps[None]:
    """Carry an algorithm out, which may have no steps, and keep its result."""
    result.append((yield from algorithm))


def checked_by_members(
    algorithm: Steps[_T], part: ClusterPart, leader: int, port: NativePort
) -> Steps[_T]:
    """Carry an algorithm out in which the leader waits for nobody: others compare its tag."""
    if port.rank == leader:
        telling = [port.tell(one) for one, rank in enumerate(part.members) if rank != leader]
        result = yield from algorithm
        yield telling
        return result
    room = memoryview(bytearray(_TAG.size))
    heard = port.hear(part.members.index(leader), room)
    result = yield from algorithm
    yield (heard,)
    port.compare({leader: _TAG.unpack(room)[0]})
    return result
