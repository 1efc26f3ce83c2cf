"""Communicators of two groups: how they are made, and what can be made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.communicators.children import child, meet, near_or_null, over, over_two
from runtime.mpi.communicators.groups import Group, group_of, members_of, spans_clusters
from runtime.mpi.communicators.leaders import CallCounts, agreed, from_leader
from runtime.mpi.communicators.members import (
    checked_group,
    checked_native,
    indexes_of,
    members_behind,
)
from runtime.mpi.errors import GridMPIError, refuse
from runtime.mpi.process.options import hand_down, handle_as_asked
from runtime.mpi.progress.latest_calls import note
from runtime.mpi.progress.membership import derived_context
from runtime.mpi.progress.predefined import predefined
from runtime.mpi.values.faults import check_kind
from runtime.mpi.values.numbers import integer

if TYPE_CHECKING:
    from runtime.mpi.communicators.group_algebra import Members
    from runtime.mpi.progress.membership import CommunicatorMembers

    _Comm = TypeVar("_Comm", bound=MPI.Comm)


_ports: Any = LazyModule("runtime.mpi.communicators.ports")

_TAG = "org.mpi4py"
_turns = CallCounts()
"""Distinguishes communicators of the same groups: a process is in one machine."""


class GroupCreation(MPI.Intracomm):
    """The part of a communicator that makes others from groups, or with another group."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def Create_group(self, group: MPI.Group, tag: int = 0) -> MPI.Intracomm:
        """Return a communicator of the members of a group; only they call it."""
        members = members_behind(self)
        if members is None:
            native = MPI.Intracomm.Create_group(self, checked_native(self, group), tag)
            return near_or_null(native, self)
        tag = integer(tag)
        chosen = checked_group(self, members, group)
        turn = _turns.next("Create_group", members.context, chosen, tag)
        context = derived_context(members.context, "Create_group", chosen, tag, turn)
        made: MPI.Intracomm = child(members, chosen, context)
        return made

    @classmethod
    def Create_from_group(
        cls,
        group: MPI.Group,
        stringtag: str = _TAG,
        info: MPI.Info = MPI.INFO_NULL,
        errhandler: MPI.Errhandler | None = None,
    ) -> MPI.Intracomm:
        """Return a communicator of the members of a group, which call it; needs no parent."""
        if not spans_clusters(group):
            create = MPI.Intracomm.Create_from_group
            return _handled(near_or_null(create(group, stringtag, info, errhandler)), errhandler)
        engine = predefined().engine
        assert engine is not None
        chosen = members_of(group, engine)
        turn = _turns.next("Create_from_group", chosen, stringtag)
        context = derived_context(b"", "Create_from_group", chosen, stringtag, turn)
        _meet(chosen)
        made: MPI.Intracomm = over(engine, chosen, context)
        return _dressed(made, info, errhandler)

    def Create_intercomm(
        self,
        local_leader: int,
        peer_comm: MPI.Intracomm,
        remote_leader: int,
        tag: int = 0,
    ) -> MPI.Intercomm:
        """Return a communicator of the members of this one and those of another one.

        One member of each is the leader; the leaders exchange messages through `peer_comm`.
        """
        engine = predefined().engine
        if engine is None:
            return near_or_null(
                MPI.Intracomm.Create_intercomm(self, local_leader, peer_comm, remote_leader, tag),
                self,
            )
        check_kind(peer_comm, MPI.Intracomm, "peer_comm")
        local_leader, remote_leader = integer(local_leader), integer(remote_leader)
        tag = integer(tag)
        group = indexes_of(self, engine)
        if not 0 <= local_leader < len(group):
            refuse(self, MPI.ERR_RANK)
        said = b""
        if group[local_leader] == engine.me:
            try:
                said = agreed(engine, peer_comm, remote_leader, tag, group)
            except Exception:
                from_leader(
                    self, engine, local_leader, b""
                )  # otherwise the others would wait for ever
                raise
        context, peers = from_leader(self, engine, local_leader, said)
        if not context:
            raise GridMPIError(
                f"rank {local_leader} could not agree with the other group",
                cure="It raised an error that says why",
            )
        _meet(group + peers)
        made: MPI.Intercomm = over_two(engine, group, peers, context)
        return hand_down(self, made)

    def Accept(
        self, port_name: str, info: MPI.Info = MPI.INFO_NULL, root: int = 0
    ) -> MPI.Intercomm:
        """Return a communicator of this group and the next one that connects to a port.

        The port matters at the root alone.
        """
        made: MPI.Intercomm = _ports.accepted(self, port_name, info, integer(root))
        return made

    def Connect(
        self, port_name: str, info: MPI.Info = MPI.INFO_NULL, root: int = 0
    ) -> MPI.Intercomm:
        """Return a communicator of this group and the one that accepts at a port.

        The port matters at the root alone.
        """
        made: MPI.Intercomm = _ports.connected(self, port_name, info, integer(root))
        return made


class InterParts(MPI.Intercomm):
    """The part of a communicator of two groups that knows the other group."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def Get_remote_size(self) -> int:
        """Return the number of processes in the other group."""
        members = self._members
        return MPI.Intercomm.Get_remote_size(self) if members is None else len(members.peers)

    def Get_remote_group(self) -> MPI.Group:
        """Return the other group."""
        members = self._members
        if members is None:
            return Group(MPI.Intercomm.Get_remote_group(self))
        return group_of(members.engine, members.peers)

    def Merge(self, high: bool = False) -> MPI.Intracomm:
        """Return a communicator of both groups; the one that says `high` comes second."""
        note("Merge", self)
        members = self._members
        if members is None:
            return near_or_null(MPI.Intercomm.Merge(self, high), self)
        theirs = bool(self.allgather(bool(high))[0])
        groups = sorted((members.group, members.peers))
        if theirs != bool(high):
            groups = [members.peers, members.group] if high else [members.group, members.peers]
        everybody = groups[0] + groups[1]
        made: MPI.Intracomm = child(members, everybody, members.next_context("Merge", everybody))
        return made

    @classmethod
    def Create_from_groups(  # type: ignore[override]  # noqa: PLR0917  # mpi4py's, and misnamed there
        cls,
        local_group: MPI.Group,
        local_leader: int,
        remote_group: MPI.Group,
        remote_leader: int,
        stringtag: str = _TAG,
        info: MPI.Info = MPI.INFO_NULL,
        errhandler: MPI.Errhandler | None = None,
    ) -> MPI.Intercomm:
        """Return a communicator of two groups, whose members call it; needs no parent."""
        if not (spans_clusters(local_group) or spans_clusters(remote_group)):
            create: Any = MPI.Intercomm.Create_from_groups
            leaders = (local_group, local_leader, remote_group, remote_leader)
            native: MPI.Intercomm = create(*leaders, stringtag, info, errhandler)
            return _handled(near_or_null(native), errhandler)
        engine = predefined().engine
        assert engine is not None
        group, peers = members_of(local_group, engine), members_of(remote_group, engine)
        both = tuple(sorted((group, peers)))
        turn = _turns.next("Create_from_groups", both, stringtag)
        context = derived_context(b"", "Create_from_groups", both, stringtag, turn)
        _meet(group + peers)
        made: MPI.Intercomm = over_two(engine, group, peers, context)
        return _dressed(made, info, errhandler)


def _meet(everybody: Members) -> None:
    """Wait for the members in this cluster, which may have no other communicator in common."""
    grid = members_behind(predefined().comms["COMM_GRID"])
    if grid is not None:
        meet(grid, everybody)


def _dressed(comm: _Comm, info: MPI.Info, errhandler: MPI.Errhandler | None) -> _Comm:
    if info != MPI.INFO_NULL:
        comm.Set_info(info)
    if errhandler is not None:
        comm.Set_errhandler(errhandler)
    return _handled(comm, errhandler)


def _handled(comm: _Comm, errhandler: MPI.Errhandler | None) -> _Comm:
    return handle_as_asked(comm) if errhandler is None else comm
