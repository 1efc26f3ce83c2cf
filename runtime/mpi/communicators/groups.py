"""Groups with members in several clusters, as objects that work together with native ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from mpi4py import MPI

from runtime.mpi.communicators import group_algebra as algebra
from runtime.mpi.communicators.group_algebra import Likeness, Members
from runtime.mpi.process import native_code
from runtime.mpi.process.place import here
from runtime.mpi.progress.predefined import running_engine, world_is_grid
from runtime.mpi.values.faults import as_mpi
from runtime.mpi.values.handles import with_checked_handles
from runtime.mpi.values.numbers import entries, integer
from runtime.mpi.values.substitute_type import SubstituteType

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine

LIKENESS = {
    Likeness.IDENTICAL: MPI.IDENT,
    Likeness.SIMILAR: MPI.SIMILAR,
    Likeness.DIFFERENT: MPI.UNEQUAL,
}


class Group(MPI.Group, metaclass=SubstituteType):
    """A group of processes.

    If its members share a cluster it is a native group and nothing else. Otherwise it keeps its
    members; its handle is a native group of those in this cluster, or of this process if there are
    none, so that it is neither GROUP_NULL nor GROUP_EMPTY.
    """

    _stands_for: ClassVar[type[MPI.Group]] = MPI.Group
    _engine: Engine | None = None
    """The engine of the grid, for a group with members in several clusters or in another one."""
    _indexes: Members = ()

    def __new__(cls, group: MPI.Group | None = None) -> Self:
        """Return a group with the handle of another one."""
        self = super().__new__(cls, group)
        if group is not None and (engine := _engine_of(group)) is not None:
            self._engine, self._indexes = engine, group._indexes  # type: ignore[attr-defined]  # it has an engine, so it is a Group
        return self

    @classmethod
    def _made(cls, engine: Engine, members: Members) -> Self:
        near = [one - engine.first for one in members if engine.is_near(one)]
        if near or not members:
            self = cls(MPI.Group.Incl(_reached(engine), near))
        else:
            self = cls(MPI.Group.Incl(_group_of_native(True), [0]))  # a handle of its own
        if len(near) < len(members):
            self._engine, self._indexes = engine, members
        return self

    def Get_size(self) -> int:
        """Return the number of processes in the group."""
        return len(self._indexes) if _engine_of(self) else MPI.Group.Get_size(self)

    def Get_rank(self) -> int:
        """Return the rank of this process, or UNDEFINED when it is not a member."""
        engine = _engine_of(self)
        if engine is None:
            return MPI.Group.Get_rank(self)
        return self._indexes.index(engine.me) if engine.me in self._indexes else MPI.UNDEFINED

    def Translate_ranks(
        self, ranks: Sequence[int] | None = None, group: MPI.Group | None = None
    ) -> list[int]:
        """Translate ranks to those in another group, by default to those in COMM_WORLD."""
        engine = _engine_of(self) or (
            _engine_of(group) if group is not None else _engine_of_world()
        )
        if engine is None:
            return MPI.Group.Translate_ranks(self, ranks, group)
        members = members_of(self, engine)
        target = members_of(group, engine) if group is not None else _world(engine)
        asked = range(len(members)) if ranks is None else entries(ranks)
        with as_mpi():
            somebody = [rank for rank in asked if rank != MPI.PROC_NULL]
            found = iter(algebra.translated(members, somebody, target))
        there = [MPI.PROC_NULL if rank == MPI.PROC_NULL else next(found) for rank in asked]
        return [MPI.UNDEFINED if rank is None else rank for rank in there]

    def Compare(self, group: MPI.Group) -> int:
        """Return IDENT, SIMILAR or UNEQUAL."""
        engine = _engine_of(self, group)
        if engine is None:
            return MPI.Group.Compare(self, group)
        return LIKENESS[algebra.likeness(members_of(self, engine), members_of(group, engine))]

    def Dup(self) -> Self:
        """Return a copy."""
        engine = _engine_of(self)
        return MPI.Group.Dup(self) if engine is None else self._made(engine, self._indexes)

    @classmethod
    def Union(cls, group1: MPI.Group, group2: MPI.Group) -> Self:
        """Return the first group followed by those members of the second that are not in it."""
        return cls._joined(algebra.union, super().Union, group1, group2)

    @classmethod
    def Intersection(cls, group1: MPI.Group, group2: MPI.Group) -> Self:
        """Return those members of the first group that are also in the second."""
        return cls._joined(algebra.intersection, super().Intersection, group1, group2)

    @classmethod
    def Intersect(cls, group1: MPI.Group, group2: MPI.Group) -> Self:
        """Return what `Intersection` does."""
        return cls.Intersection(group1, group2)

    @classmethod
    def Difference(cls, group1: MPI.Group, group2: MPI.Group) -> Self:
        """Return those members of the first group that are not in the second."""
        return cls._joined(algebra.difference, super().Difference, group1, group2)

    @classmethod
    def _joined(
        cls,
        join: Callable[[Members, Members], Members],
        native: Callable[[MPI.Group, MPI.Group], Any],
        group1: MPI.Group,
        group2: MPI.Group,
    ) -> Self:
        engine = _engine_of(group1, group2)
        if engine is None:
            made: Self = native(group1, group2)
            return made
        return cls._made(engine, join(members_of(group1, engine), members_of(group2, engine)))

    def Incl(self, ranks: Sequence[int]) -> Self:
        """Return the members with these ranks."""
        return self._chosen(algebra.included, MPI.Group.Incl, ranks, entries)

    def Excl(self, ranks: Sequence[int]) -> Self:
        """Return the members without those that have these ranks."""
        return self._chosen(algebra.excluded, MPI.Group.Excl, ranks, entries)

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Self:
        """Return the members in ranges of ranks: first, last and stride."""
        return self._chosen(algebra.included, MPI.Group.Range_incl, ranks, _in_ranges)

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Self:
        """Return the members without those in ranges of ranks: first, last and stride."""
        return self._chosen(algebra.excluded, MPI.Group.Range_excl, ranks, _in_ranges)

    def _chosen(
        self,
        choose: Callable[[Members, Any], Members],
        native: Callable[[Any, Any], Any],
        ranks: Sequence[Any],
        read: Callable[[Any], list[int]],
    ) -> Self:
        engine = _engine_of(self)
        if engine is None:
            made: Self = native(self, ranks)
            return made
        with as_mpi():
            return self._made(engine, choose(self._indexes, read(ranks)))

    def Free(self) -> None:
        """Become GROUP_NULL."""
        if _engine_of(self) and native_code.tokens is not None:
            native_code.tokens.remove_group(self)
        MPI.Group.Free(self)
        if _engine_of(self):
            self._engine, self._indexes = None, ()


with_checked_handles(Group, MPI.Group)


def group_of(engine: Engine, members: Members) -> Group:
    """Return the group of some processes; it is native if they share this cluster."""
    return Group._made(engine, members)


def members_of(group: MPI.Group, engine: Engine) -> Members:
    """Return the members of any group by index.

    Raises MPI.Exception for GROUP_NULL, and for a native group with processes that are not of this
    cluster's COMM_WORLD, such as spawned ones; TypeError for anything else.
    """
    if not isinstance(group, MPI.Group):
        raise TypeError(f"expecting a group, not {type(group).__name__}")
    if _engine_of(group) is not None:
        indexes: Members = group._indexes  # type: ignore[attr-defined]  # it has an engine, so it is a Group
        return indexes
    ranks = MPI.Group.Translate_ranks(group, None, _reached(engine))
    if MPI.UNDEFINED in ranks:
        raise MPI.Exception(MPI.ERR_GROUP)
    return tuple(engine.first + rank for rank in ranks)


def spans_clusters(group: MPI.Group) -> bool:
    """Return whether a group has members that native MPI does not know."""
    return _engine_of(group) is not None


def _reached(engine: Engine) -> MPI.Group:
    """Return the native group of all processes that native MPI reaches."""
    return _group_of_native(engine.is_alone)


@cache
def _group_of_native(is_alone: bool) -> MPI.Group:
    return (MPI.COMM_SELF if is_alone else MPI.COMM_WORLD).Get_group()


def _engine_of(*groups: MPI.Group) -> Engine | None:
    for group in groups:
        engine: Engine | None = getattr(group, "_engine", None)
        if engine is not None:
            return engine
    return None


def _engine_of_world() -> Engine | None:
    """Return the engine if COMM_WORLD is the grid, and that has several clusters."""
    return running_engine() if world_is_grid() else None


def _world(engine: Engine) -> Members:
    if not world_is_grid():
        return tuple(range(engine.first, engine.last))
    return tuple(range(here().grid.size))


def _in_ranges(ranges: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return the ranks in some ranges, each three numbers."""
    given = [ranges[place] for place in range(len(ranges))]
    triples = [(integer(first), integer(last), integer(stride)) for first, last, stride in given]
    return algebra.ranks_of(triples)
