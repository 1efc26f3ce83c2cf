"""Communicators of the grid: their members, and how to compare, derive and free them."""

from __future__ import annotations

from typing import Any, Self

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.communicators import group_algebra as algebra
from runtime.mpi.communicators.attributes import FT_INCARNATION, FT_STATE, let_looks_end
from runtime.mpi.communicators.background import await_earlier
from runtime.mpi.communicators.children import dense_of, duplicate, meet, of_a_limited_number
from runtime.mpi.communicators.copies import await_copies, begin_copy
from runtime.mpi.communicators.groups import LIKENESS, Group, group_of
from runtime.mpi.communicators.members import (
    engine_of,
    everybody_in,
    groups_of,
    indexes,
    members_behind,
)
from runtime.mpi.communicators.release import release
from runtime.mpi.communicators.splitting import COMM_TYPE_CLUSTER, COMM_TYPE_SITE, Splitting
from runtime.mpi.communicators.topology_attributes import is_topology, topology
from runtime.mpi.errors import refuse
from runtime.mpi.process.options import hand_down
from runtime.mpi.process.place import here
from runtime.mpi.progress.latest_calls import note
from runtime.mpi.progress.predefined import predefined
from runtime.mpi.requests.requests import new_request
from runtime.mpi.values.faults import check_kind

__all__ = ["COMM_TYPE_CLUSTER", "COMM_TYPE_SITE", "Creation"]

_recovering: Any = LazyModule("runtime.mpi.communicators.recovering")
_native_rank, _native_size = MPI.Comm.Get_rank, MPI.Comm.Get_size  # programs ask in their loops


class Creation(Splitting):
    """The part of a communicator that knows its members, and derives others."""

    __slots__ = ()

    def Get_size(self) -> int:
        """Return the number of processes in the group of this one."""
        members = members_behind(self)
        return _native_size(self) if members is None else len(members.group)

    def Get_rank(self) -> int:
        """Return the rank of this process."""
        members = members_behind(self)
        return _native_rank(self) if members is None else members.rank

    def Get_group(self) -> MPI.Group:
        """Return the group of this process."""
        members = members_behind(self)
        if members is None:
            return Group(MPI.Comm.Get_group(self))
        return group_of(members.engine, members.group)

    def Is_inter(self) -> bool:
        """Return whether it has two groups."""
        members = members_behind(self)
        return MPI.Comm.Is_inter(self) if members is None else members.is_inter

    def Is_intra(self) -> bool:
        """Return whether it has one group."""
        members = members_behind(self)
        return MPI.Comm.Is_intra(self) if members is None else not members.is_inter

    def Get_attr(self, keyval: int) -> Any:
        """Return an attribute; `TAG_UB` is what the MPIs of all clusters have.

        `FT_STATE`, `FT_PROCESSES`, `FT_ERRORS` and `FT_INCARNATION` describe losses;
        `TOPOLOGY_DEPTHS` and `TOPOLOGY_COLORS` the parts of the machine that members share.
        """
        if is_topology(keyval):
            return topology(indexes(self), keyval)
        members = members_behind(self)
        if keyval == MPI.TAG_UB and members is not None:
            return here().tag_limit
        if FT_INCARNATION <= keyval <= FT_STATE:
            if members is None:
                return _recovering.attribute_of_native(self, keyval)
            return _recovering.attribute(members, keyval)
        return MPI.Comm.Get_attr(self, keyval)

    def Get_topology(self) -> int:
        """Return CART, GRAPH, DIST_GRAPH, or UNDEFINED without a topology."""
        members = members_behind(self)
        if members is None:
            return MPI.Comm.Get_topology(self)
        return MPI.UNDEFINED if members.topology is None else members.topology.kind

    def Compare(self, comm: MPI.Comm) -> int:
        """Return IDENT, CONGRUENT (same members), SIMILAR (in another order) or UNEQUAL."""
        check_kind(comm, MPI.Comm, "comm")
        mine, other = members_behind(self), members_behind(comm)
        engine = engine_of(self, comm)
        if engine is None or not self or not comm:
            return MPI.Comm.Compare(self, comm)
        if mine is not None and other is not None and mine.context == other.context:
            return MPI.IDENT
        pairs = zip(groups_of(self, engine), groups_of(comm, engine), strict=False)
        if self.Is_inter() != comm.Is_inter():
            return MPI.UNEQUAL
        found = {LIKENESS[algebra.likeness(one, two)] for one, two in pairs}
        for answer in (MPI.UNEQUAL, MPI.SIMILAR):
            if answer in found:
                return answer
        return MPI.CONGRUENT

    def Clone(self) -> Self:
        """Return a duplicate."""
        note("Clone", self)
        return self.Dup()

    def Dup(self, info: MPI.Info | None = None) -> Self:
        """Return a duplicate, with the hints of `info` if they are given."""
        note("Dup", self)
        members = members_behind(self)
        if members is None:
            return hand_down(self, MPI.Comm.Dup(self, info))
        if info is not None:
            check_kind(info, MPI.Info, "info")
        if members.recovery.has_to_recover:
            found = _recovering.recovered(members)
            if found is not None:
                recovered: Self = _with_info(found, info)
                return recovered
        meet(members, everybody_in(members))
        await_copies(members)
        await_earlier(members.engine, members.native.Get_size())
        with of_a_limited_number():
            native = members.native.Dup(info)
            everybody = native.Get_group()
            inner = MPI.Intracomm(native.Create(everybody))  # which copies no attributes
            everybody.Free()
        context = members.next_context("Dup")
        dense = dense_of(members, context)
        made = duplicate(type(self), members, native, inner, context=context, dense=dense)
        copy: Self = _with_info(made, info)
        return copy

    def Dup_with_info(self, info: MPI.Info) -> Self:
        """Return a duplicate with the hints of `info`."""
        note("Dup_with_info", self)
        if members_behind(self) is None:
            return hand_down(self, MPI.Comm.Dup_with_info(self, info))
        check_kind(info, MPI.Info, "info")
        return self.Dup(info)

    def Idup(self, info: MPI.Info | None = None) -> tuple[Self, MPI.Request]:
        """Return a duplicate, and the request that says when it may be used."""
        members = members_behind(self)
        if members is None:
            near, begun = MPI.Comm.Idup(self, info)
            return hand_down(self, near), begun
        if info is not None:
            check_kind(info, MPI.Info, "info")
        copy, copying = begin_copy(self, info)
        return copy, new_request(members, copying)

    def Idup_with_info(self, info: MPI.Info) -> tuple[Self, MPI.Request]:
        """Return a duplicate with hints, and the request that says when it may be used."""
        if members_behind(self) is None:
            near, begun = MPI.Comm.Idup_with_info(self, info)
            return hand_down(self, near), begun
        check_kind(info, MPI.Info, "info")
        return self.Idup(info)

    def Free(self) -> None:
        """Become COMM_NULL; pending operations on it still complete."""
        _refuse_predefined(self)
        members = members_behind(self)
        if members is None:
            let_looks_end()
            MPI.Comm.Free(self)
            return
        release(self, members)
        self._members = None

    def free(self) -> None:
        """Call `Free` unless it is COMM_NULL or predefined."""
        if self and not _is_predefined(self):
            self.Free()

    def Disconnect(self) -> None:
        """Become COMM_NULL once all pending operations on it are complete."""
        _refuse_predefined(self)
        members = members_behind(self)
        if members is None:
            let_looks_end()
            MPI.Comm.Disconnect(self)
            return
        members.engine.waits.wait_for(release(self, members))
        self._members = None


def _with_info(comm: Any, info: MPI.Info | None) -> Any:
    """Give a duplicate the modes that its hints name."""
    members = members_behind(comm)
    if info is not None and members is not None:
        _recovering.use_info(members, info)
    return comm


def _is_predefined(comm: MPI.Comm) -> bool:
    return bool(comm) and predefined().name_of(comm) is not None


def _refuse_predefined(comm: MPI.Comm) -> None:
    if _is_predefined(comm):
        refuse(comm, MPI.ERR_COMM)
