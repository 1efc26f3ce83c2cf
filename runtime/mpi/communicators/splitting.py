"""Communicators of some members of another one: by group, by color, by cluster or site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.communicators.children import all_of, both_of, child, child_of_two, near_or_null
from runtime.mpi.communicators.classes import null
from runtime.mpi.communicators.members import checked_group, checked_native, members_behind
from runtime.mpi.errors import refuse
from runtime.mpi.process.place import here
from runtime.mpi.progress.latest_calls import note
from runtime.mpi.progress.predefined import running_engine
from runtime.mpi.values.faults import Wrong, WrongArgument, as_mpi, check_kind
from runtime.mpi.values.numbers import integer
from runtime.rank_name import RankName

if TYPE_CHECKING:
    from runtime.mpi.communicators.group_algebra import Members
    from runtime.mpi.progress.membership import CommunicatorMembers

COMM_TYPE_CLUSTER = 0x47434D01
"""For `Split_type`: the members of a communicator that share a cluster. Not a type of MPI's."""

COMM_TYPE_SITE = 0x47434D02
"""For `Split_type`: the members of a communicator that share a site. Not a type of MPI's."""


_recovering: Any = LazyModule("runtime.mpi.communicators.recovering")


class Splitting(MPI.Comm):
    """The part of a communicator that derives others with fewer members."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def Create(self, group: MPI.Group) -> MPI.Comm:
        """Return a communicator of the members of a group, or COMM_NULL at non-members."""
        note("Create", self)
        members = members_behind(self)
        if members is None:
            return near_or_null(MPI.Comm.Create(self, checked_native(self, group)), self)
        if members.recovery.has_to_recover and (whole := _recovering.recovered(members)):
            return _part_of(whole, whole.Create(_recovering.translated(group, whole)))
        chosen = checked_group(self, members, group)
        chosen = tuple(one for one in chosen if one not in members.gaps)
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
        note("Split", self)
        members = members_behind(self)
        color, key = integer(color), integer(key)
        if color < 0 and color != MPI.UNDEFINED:
            why = f"the color {color} is negative"
            if members is not None:
                from runtime.mpi.collectives.state import state_of

                state_of(members).mismatches.refuse("Split", why)
            with as_mpi(self):
                raise WrongArgument(Wrong.ARGUMENT, why)
        if members is None:
            return near_or_null(MPI.Comm.Split(self, color, key), self)
        if members.recovery.has_to_recover and (whole := _recovering.recovered(members)):
            return _part_of(whole, whole.Split(color, key))
        made: MPI.Comm = null()
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
        """Return a communicator of those that share a node, cluster or site.

        Besides MPI's types, whose members always share a cluster, there are COMM_TYPE_CLUSTER and
        COMM_TYPE_SITE. Members that give UNDEFINED get COMM_NULL.
        """
        note("Split_type", self)
        members = members_behind(self)
        if members is None and running_engine() is None:
            return near_or_null(MPI.Comm.Split_type(self, split_type, key, info), self)
        split_type, key = integer(split_type), integer(key)
        check_kind(info, MPI.Info, "info")
        if members is not None and members.is_inter:
            return self._split_inter_by_type(members, split_type, key)
        wanted = {one for one in all_of(self, split_type) if one != MPI.UNDEFINED}
        if not wanted <= {COMM_TYPE_CLUSTER, COMM_TYPE_SITE}:
            native = self if members is None else members.native
            return near_or_null(MPI.Comm.Split_type(native, split_type, key, info), self)
        if len(wanted) > 1:
            refuse(self, MPI.ERR_ARG)
        return self.Split(_color_of(split_type, members), key)

    def _split_inter_by_type(
        self, members: CommunicatorMembers, split_type: int, key: int
    ) -> MPI.Comm:
        """Split by node, cluster or site; the two groups have parts in common in no other case."""
        known = (MPI.COMM_TYPE_SHARED, COMM_TYPE_CLUSTER, COMM_TYPE_SITE)
        color = _color_of(split_type, members) if split_type in known else MPI.UNDEFINED
        return self.Split(color, key)


def _part_of(whole: MPI.Comm, made: MPI.Comm) -> MPI.Comm:
    """Return a part of a communicator that was recovered just for it."""
    whole.Free()
    return made


def _same(color: int, said: Sequence[tuple[int, int] | None], group: Members) -> Members:
    """Return the members of a group with a color, in the order of their keys; gaps have None."""
    ranks = sorted(
        (one[1], rank) for rank, one in enumerate(said) if one is not None and one[0] == color
    )
    return tuple(group[rank] for _, rank in ranks)


def _color_of(split_type: int, members: CommunicatorMembers | None) -> int:
    """Return the index of the first process of the own site, cluster or node."""
    if split_type == MPI.UNDEFINED:
        return MPI.UNDEFINED
    if members is None:
        return 0
    place = here()
    first = RankName(place.me.site, 0, 0)
    if split_type == COMM_TYPE_CLUSTER:
        first = RankName(place.me.site, place.me.number, 0)
    elif split_type == MPI.COMM_TYPE_SHARED:
        cluster = place.grid.cluster_of(place.me)
        node = cluster.node_of(place.me.rank)
        rank = next(one for one in range(cluster.size) if cluster.node_of(one) is node)
        first = RankName(place.me.site, place.me.number, rank)
    return place.everybody.index(first)
