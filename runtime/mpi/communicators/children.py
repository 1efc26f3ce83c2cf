"""Makes communicators from their members: native ones within the cluster, ours beyond it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from mpi4py import MPI

from runtime.mpi.communicators.attributes import remember
from runtime.mpi.communicators.background import await_earlier
from runtime.mpi.communicators.classes import near, null, wrap
from runtime.mpi.communicators.group_algebra import Members
from runtime.mpi.errors import report
from runtime.mpi.process.options import hand_down
from runtime.mpi.process.place import here
from runtime.mpi.progress.membership import (
    CommunicatorMembers,
    derived_context,
    inter,
    intra,
    near_members,
)
from runtime.mpi.progress.operations import NativeOperation

if TYPE_CHECKING:
    from runtime.mpi.collectives.guard import Attendance
    from runtime.mpi.communicators.shapes import Topology
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.operations import Operation

    _Comm = TypeVar("_Comm", bound=MPI.Comm)
    from runtime.mpi.progress.membership import CommunicatorMembers

    _T = TypeVar("_T")


_MEETING_TAG = 65_536
"""A tag on inner communicators, where collectives use tags up to 32767."""

_GROUP_TAGS = 32_000
"""How many tags distinguish native communicators that are being made."""


def child(
    parent: CommunicatorMembers,
    members: Members,
    context: bytes,
    *,
    topology: Topology | None = None,
) -> Any:
    """Return a communicator of members of another one, or COMM_NULL at non-members.

    The members call it with the same values, in the same order as other calls on the parent.
    """
    if parent.engine.me not in members:
        return null()
    meet(parent, members)
    made = over(parent.engine, members, context, topology=topology)
    return hand_down(parent.native, inherit(parent, made))


def over(
    engine: Engine, members: Members, context: bytes, *, topology: Topology | None = None
) -> Any:
    """Return a communicator of some processes, of which this one is a member.

    It is native if they share this cluster.
    """
    close = near_members(engine, members)
    native = _native(engine, close, context)
    if len(close) == len(members):
        return near(native if topology is None else _arranged(native, topology))
    inner = _native(engine, close, context)
    made = intra(engine, members, native, inner, context, topology=topology)
    remember(made)
    return wrap(made)


def child_of_two(
    parent: CommunicatorMembers, group: Members, peers: Members, context: bytes
) -> Any:
    """Return an intercommunicator of members of another one, or COMM_NULL at non-members.

    It is COMM_NULL too when one of its groups is empty.
    """
    if parent.engine.me not in group or not peers:
        return null()
    meet(parent, _both(group, peers))
    return hand_down(parent.native, over_two(parent.engine, group, peers, context))


def over_two(engine: Engine, group: Members, peers: Members, context: bytes) -> Any:
    """Return an intercommunicator of this process's group and its peers.

    It is native if all share this cluster.
    """
    both = _both(group, peers)
    close = near_members(engine, both)
    native = _native(engine, close, context)
    if len(close) == len(both):
        return near(_native_of_two(engine, group, peers, native, context))
    inner = _native(engine, close, context)
    made = inter(engine, group, peers, native=native, inner=inner, context=context)
    remember(made)
    return wrap(made)


def meet(parent: CommunicatorMembers, members: Members) -> None:
    """Wait until some members that are in this cluster are here, without busy-waiting.

    Native MPI polls while it waits for them, so it is called only when it will not have to. Raises
    the error that names a lost member: others may know of it too, and not come.
    """
    engine = parent.engine
    attendance = attendance_of(parent, members)
    close = sorted(near_members(engine, members))
    present = parent.group if not parent.is_inter else _both(parent.group, parent.peers)
    places = {one: place for place, one in enumerate(near_members(engine, present))}
    mine, count, step = close.index(engine.me), len(close), 1
    while step < count:
        before, behind = places[close[mine - step]], places[close[(mine + step) % count]]
        coming = parent.inner.Irecv(bytearray(), before, _MEETING_TAG)
        going = parent.inner.Isend(b"", behind, _MEETING_TAG)
        both = [NativeOperation(one, None, "a neighbour") for one in (coming, going)]
        finish(parent, attendance.attended(*both))
        step *= 2


def attendance_of(parent: CommunicatorMembers, members: Members) -> Attendance:
    """Return what detects the loss of one of some members; raises if one is lost already."""
    from runtime.mpi.collectives.guard import NO_TURN, Attendance
    from runtime.mpi.collectives.state import state_of

    attendance = Attendance(_leaders(parent.engine, members), state_of(parent).mismatches)
    with parent.engine.lock:
        loss = attendance.problem(NO_TURN)
    if loss is not None:
        report(parent.native, loss)
    return attendance


def finish(parent: CommunicatorMembers, operation: Operation) -> None:
    """Wait for an operation; its error goes to the error handler of a communicator first."""
    parent.engine.waits.wait(operation.test, lambda: (operation,))
    if operation.error is not None:
        report(parent.native, operation.error)


def _leaders(engine: Engine, members: Members) -> list[int]:
    """Return one of the members in each other cluster; where one of them dies, all do."""
    place = here()
    found: dict[tuple[int, int], int] = {}
    for index in members:
        if not engine.is_near(index):
            found.setdefault(place.neighbourhood_of(index), index)
    return list(found.values())


def _both(group: Members, peers: Members) -> Members:
    """Return the members of two groups, in an order that is the same on both sides."""
    return tuple(sorted((*group, *peers)))


@contextmanager
def of_a_limited_number() -> Iterator[None]:
    """Add a hint to the error of native MPI when it cannot make one more communicator."""
    try:
        yield
    except MPI.Exception as error:
        if error.error_class == MPI.ERR_OTHER:
            error.add_note(
                "An MPI makes a limited number of communicators, and one over several clusters "
                "takes two of them: free communicators that are not needed any more."
            )
        raise


def _native(engine: Engine, members: list[int], context: bytes) -> MPI.Intracomm:
    await_earlier(engine, len(members))
    if engine.is_alone:
        with of_a_limited_number():
            return MPI.COMM_SELF.Dup()
    ranks = [one - engine.first for one in members]
    everybody = MPI.COMM_WORLD.Get_group()
    chosen = everybody.Incl(ranks)
    try:
        with of_a_limited_number():
            return MPI.COMM_WORLD.Create_group(chosen, int.from_bytes(context) % _GROUP_TAGS)
    finally:
        chosen.Free()
        everybody.Free()


def _native_of_two(
    engine: Engine, group: Members, peers: Members, both: MPI.Intracomm, context: bytes
) -> MPI.Intercomm:
    mine = _native(engine, list(group), context)
    leader = _both(group, peers).index(peers[0])
    try:
        return mine.Create_intercomm(0, both, leader, int.from_bytes(context) % _GROUP_TAGS)
    finally:
        mine.Free()
        both.Free()


def _arranged(native: MPI.Intracomm, topology: Topology) -> MPI.Comm:
    try:
        return topology.on(native)
    finally:
        native.Free()


def add_dense(made: CommunicatorMembers) -> None:
    """Give a communicator with gaps one without, on which its collectives run."""
    made.dense = dense_of(made, made.context)


def dense_of(members: CommunicatorMembers, context: bytes) -> Any:
    """Return what collectives run on of a communicator with these members; None without gaps."""
    if not members.gaps:
        return None
    group = tuple(one for one in members.group if one not in members.gaps)
    return over(members.engine, group, derived_context(context, "dense"))


def inherit(parent: CommunicatorMembers, made: Any) -> Any:
    """Let a communicator recover from losses like its parent, and return it."""
    child: CommunicatorMembers | None = getattr(made, "_members", None)
    if child is not None:
        with child.engine.lock:
            child.recovery.be_like(parent.recovery)
        if child.dense is not None:
            inherit(parent, child.dense)
    return made


def duplicate(
    kind: type[MPI.Comm],
    members: CommunicatorMembers,
    native: MPI.Intracomm,
    inner: MPI.Intracomm,
    *,
    context: bytes,
    dense: Any,
) -> Any:
    """Return a duplicate of a class, over duplicates of the native communicators of `members`.

    `dense` is what its collectives run on where there are gaps.
    """
    engine = members.engine
    if members.is_inter:
        both = members.group, members.peers
        made = inter(engine, *both, native=native, inner=inner, context=context)
    else:
        topology = members.topology
        gaps = members.gaps
        made = intra(engine, members.group, native, inner, context, topology=topology, gaps=gaps)
    made.dense = dense
    remember(made)
    return hand_down(members.native, inherit(members, wrap(made, kind)))


def near_or_null(native: _Comm, parent: MPI.Comm | None = None) -> _Comm:
    """Return the result of a native call as one of our classes; COMM_NULL stays as it is."""
    found: Any = near(native) if native else null()
    ours: _Comm = found
    return ours if parent is None else hand_down(parent, ours)


def all_of(comm: MPI.Comm, mine: _T) -> list[_T]:
    """Return the values of all members of a communicator of one group, by rank."""
    said: list[_T] = comm.allgather(mine)
    return said


def both_of(comm: MPI.Comm, members: CommunicatorMembers, mine: _T) -> tuple[list[_T], list[_T]]:
    """Return the values of both groups of an intercommunicator: the own one, and the other."""
    theirs: list[_T] = comm.allgather(mine)
    ours: list[_T] = []
    for mine_first in (True, False):
        if (members.group < members.peers) is mine_first:
            comm.bcast(theirs, MPI.ROOT if members.rank == 0 else MPI.PROC_NULL)
        else:
            ours = comm.bcast(None, 0)
    return ours, theirs
