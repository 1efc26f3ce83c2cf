"""Communicators of the grid: who is in them, how to compare, derive and free them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Self

from mpi4py import MPI

from runtime.mpi import group_algebra as algebra
from runtime.mpi.argument_errors import as_mpi
from runtime.mpi.arguments import ArgumentFault, Wrong
from runtime.mpi.creation_children import (
    child,
    child_of_two,
    duplicate,
    meet,
    near_or_null,
)
from runtime.mpi.creation_exchange import all_of, both_of
from runtime.mpi.errors import refuse
from runtime.mpi.groups import LIKENESS, Group, group_of, members_of, spans_clusters
from runtime.mpi.membership import Membership
from runtime.topology import Identifier

if TYPE_CHECKING:
    from runtime.mpi.engine import Engine
    from runtime.mpi.group_algebra import Members

COMM_TYPE_CLUSTER = 0x47434D01
"""For `Split_type`: those members of a communicator that share a cluster. Not a type of MPI's."""

COMM_TYPE_SITE = 0x47434D02
"""For `Split_type`: those members of a communicator that share a site. Not a type of MPI's."""


class Creation(MPI.Comm):
    """The part of a communicator that knows its members, and derives others from it."""

    __slots__ = ()

    def Get_size(self) -> int:
        """Return the number of processes in the group of this one."""
        members = members_behind(self)
        return MPI.Comm.Get_size(self) if members is None else len(members.group)

    def Get_rank(self) -> int:
        """Return the rank of this process."""
        members = members_behind(self)
        return MPI.Comm.Get_rank(self) if members is None else members.rank

    def Get_group(self) -> MPI.Group:
        """Return the group of this process."""
        members = members_behind(self)
        if members is None:
            return Group(MPI.Comm.Get_group(self))
        return group_of(members.engine, members.group)

    def Is_inter(self) -> bool:
        """Tell whether it has two groups."""
        members = members_behind(self)
        return MPI.Comm.Is_inter(self) if members is None else members.is_inter

    def Is_intra(self) -> bool:
        """Tell whether it has one group."""
        members = members_behind(self)
        return MPI.Comm.Is_intra(self) if members is None else not members.is_inter

    def Get_topology(self) -> int:
        """Return CART, GRAPH, DIST_GRAPH, or UNDEFINED without a topology."""
        members = members_behind(self)
        if members is None:
            return MPI.Comm.Get_topology(self)
        return MPI.UNDEFINED if members.topology is None else members.topology.kind

    def Compare(self, comm: MPI.Comm) -> int:
        """Return IDENT, CONGRUENT (same members), SIMILAR (in another order) or UNEQUAL."""
        mine, other = members_behind(self), members_behind(comm)
        engine = engine_of(self, comm)
        if engine is None or not self or not comm:
            return MPI.Comm.Compare(self, comm)
        if mine is not None and other is not None and mine.context == other.context:
            return MPI.IDENT
        pairs = zip(_groups(self, engine), _groups(comm, engine), strict=False)
        if self.Is_inter() != comm.Is_inter():
            return MPI.UNEQUAL
        found = {LIKENESS[algebra.likeness(one, two)] for one, two in pairs}
        for answer in (MPI.UNEQUAL, MPI.SIMILAR):
            if answer in found:
                return answer
        return MPI.CONGRUENT

    def Clone(self) -> Self:
        """Return a duplicate."""
        return self.Dup()

    def Dup(self, info: MPI.Info | None = None) -> Self:
        """Return a duplicate, with the hints of `info` if they are given."""
        members = members_behind(self)
        if members is None:
            return MPI.Comm.Dup(self, info)
        meet(members, members.group + (members.peers if members.is_inter else ()))
        native = members.native.Dup(info)
        copy: Self = duplicate(self, members, native, members.inner.Dup())
        return copy

    def Dup_with_info(self, info: MPI.Info) -> Self:
        """Return a duplicate with the hints of `info`."""
        if members_behind(self) is None:
            return MPI.Comm.Dup_with_info(self, info)
        return self.Dup(info)

    def Create(self, group: MPI.Group) -> MPI.Comm:
        """Return a communicator of the members of a group, or COMM_NULL to others."""
        members = members_behind(self)
        if members is None:
            return near_or_null(MPI.Comm.Create(self, checked_native(self, group)))
        chosen = checked_group(self, members, group)
        made: MPI.Comm
        if not members.is_inter:
            made = child(members, chosen, members.next_context("Create", chosen))
            return made
        theirs: Members = next(filter(None, self.allgather(chosen)), ())
        context = members.next_context("Create", *sorted((chosen, theirs)))
        made = child_of_two(members, chosen, theirs, context)
        return made

    def Split(self, color: int = 0, key: int = 0) -> MPI.Comm:
        """Return a communicator of those that give the same color, ordered by their keys."""
        members = members_behind(self)
        color, key = index(color), index(key)
        if members is None:
            return near_or_null(MPI.Comm.Split(self, color, key))
        if color < 0 and color != MPI.UNDEFINED:
            with as_mpi(self):
                raise ArgumentFault(Wrong.ARGUMENT, f"the color {color} is negative")
        made: MPI.Comm = MPI.COMM_NULL
        if not members.is_inter:
            ours = _same(color, all_of(self, (color, key)), members.group)
            context = members.next_context("Split", color, ours)
            if color != MPI.UNDEFINED:
                made = child(members, ours, context)
            return made
        said, answered = both_of(self, members, (color, key))
        ours = _same(color, said, members.group)
        theirs = _same(color, answered, members.peers)
        context = members.next_context("Split", color, *sorted((ours, theirs)))
        if color != MPI.UNDEFINED:
            made = child_of_two(members, ours, theirs, context)
        return made

    def Split_type(self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL) -> MPI.Comm:
        """Return a communicator of those that have something in common.

        Besides MPI's types, whose members always share a cluster, there are COMM_TYPE_CLUSTER and
        COMM_TYPE_SITE. Members that give UNDEFINED get COMM_NULL.
        """
        members = members_behind(self)
        if members is None and not _knows_clusters():
            return MPI.Comm.Split_type(self, split_type, key, info)
        if members is not None and members.is_inter:
            return self._split_inter_by_type(members, split_type, key)
        wanted = {one for one in all_of(self, index(split_type)) if one != MPI.UNDEFINED}
        if not wanted <= {COMM_TYPE_CLUSTER, COMM_TYPE_SITE}:
            native = self if members is None else members.native
            return near_or_null(MPI.Comm.Split_type(native, split_type, key, info))
        if len(wanted) > 1:
            refuse(self, MPI.ERR_ARG)
        return self.Split(_color_of(split_type, members), key)

    def _split_inter_by_type(self, members: Membership, split_type: int, key: int) -> MPI.Comm:
        """Split by node, cluster or site; by nothing else do two groups have parts in common."""
        known = (MPI.COMM_TYPE_SHARED, COMM_TYPE_CLUSTER, COMM_TYPE_SITE)
        color = _color_of(split_type, members) if split_type in known else MPI.UNDEFINED
        return self.Split(color, key)

    def Free(self) -> None:
        """Become COMM_NULL; what was begun on it is still done."""
        members = members_behind(self)
        if members is None:
            MPI.Comm.Free(self)
            return
        _refuse_predefined(self)
        members.engine.leave(members)
        MPI.Comm.Free(self)
        members.inner.Free()
        self._members = None

    def free(self) -> None:
        """Call `Free` if it is neither COMM_NULL nor there from the start."""
        if members_behind(self) is None:
            MPI.Comm.free(self)
        elif not _is_predefined(self):
            self.Free()

    def Disconnect(self) -> None:
        """Become COMM_NULL once all that was begun on it is done."""
        if members_behind(self) is None:
            MPI.Comm.Disconnect(self)
        else:
            self.Free()


def members_behind(comm: MPI.Comm) -> Membership | None:
    """Return what is behind a communicator of the grid; None for a native one of any class."""
    members: Membership | None = getattr(comm, "_members", None)
    return members


def engine_of(*comms: MPI.Comm) -> Engine | None:
    """Return the engine of the first of some communicators that has one."""
    for comm in comms:
        members = members_behind(comm)
        if members is not None:
            return members.engine
    return None


def indexes_of(comm: MPI.Comm, engine: Engine) -> Members:
    """Return the members of the own group of any communicator."""
    members = members_behind(comm)
    return members_of(MPI.Comm.Get_group(comm), engine) if members is None else members.group


def checked_group(comm: MPI.Comm, members: Membership, group: MPI.Group) -> Members:
    """Return the members of a group; raises MPI.Exception if one is not of the communicator."""
    chosen = members_of(group, members.engine)
    if not set(chosen) <= set(members.group):
        refuse(comm, MPI.ERR_GROUP)
    return chosen


def checked_native(comm: MPI.Comm, group: MPI.Group) -> MPI.Group:
    """Return a group for a native communicator; raises MPI.Exception if others are in it."""
    if spans_clusters(group):
        refuse(comm, MPI.ERR_GROUP)
    return group


def _groups(comm: MPI.Comm, engine: Engine) -> list[Members]:
    members = members_behind(comm)
    if members is not None:
        return [members.group, members.peers]
    mine = indexes_of(comm, engine)
    if not isinstance(comm, MPI.Intercomm):
        return [mine, mine]
    return [mine, members_of(MPI.Intercomm.Get_remote_group(comm), engine)]


def _same(color: int, said: Sequence[tuple[int, int]], group: Members) -> Members:
    """Return those of a group that said a color, in the order of their keys."""
    ranks = [rank for rank, (other, _) in enumerate(said) if other == color]
    return tuple(group[rank] for rank in sorted(ranks, key=lambda rank: said[rank][1]))


def _color_of(split_type: int, members: Membership | None) -> int:
    """Return the index of the first process of the own site, cluster or node."""
    if split_type == MPI.UNDEFINED:
        return MPI.UNDEFINED
    if members is None:
        return 0
    from runtime.mpi.worlds import place

    here = place()
    first = Identifier(here.me.site, 0, 0)
    if split_type == COMM_TYPE_CLUSTER:
        first = Identifier(here.me.site, here.me.cluster, 0)
    elif split_type == MPI.COMM_TYPE_SHARED:
        cluster = here.grid.cluster_of(here.me)
        node = cluster.node_of(here.me.rank)
        rank = next(one for one in range(cluster.size) if cluster.node_of(one) is node)
        first = Identifier(here.me.site, here.me.cluster, rank)
    return here.everybody.index(first)


def _knows_clusters() -> bool:
    from runtime.mpi.worlds import start

    return start().engine is not None


def _is_predefined(comm: MPI.Comm) -> bool:
    from runtime.mpi.worlds import name_of

    return name_of(comm) is not None


def _refuse_predefined(comm: MPI.Comm) -> None:
    if _is_predefined(comm):
        refuse(comm, MPI.ERR_COMM)
