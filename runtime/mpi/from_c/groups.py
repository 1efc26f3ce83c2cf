"""Groups of a C program with members in several clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.mpi.communicators.groups import Group
from runtime.mpi.from_c.calls import Call, Calls
from runtime.mpi.from_c.values import integers, write


class GroupCalls(Calls):
    """The functions of groups."""

    def table(self) -> dict[str, Call]:
        """Return them by their names."""
        return {
            "MPI_Group_size": self._size,
            "MPI_Group_rank": self._rank,
            "MPI_Group_translate_ranks": self._translate,
            "MPI_Group_compare": self._compare,
            "MPI_Group_union": self._joined(Group.Union),
            "MPI_Group_intersection": self._joined(Group.Intersection),
            "MPI_Group_difference": self._joined(Group.Difference),
            "MPI_Group_incl": self._chosen("Incl"),
            "MPI_Group_excl": self._chosen("Excl"),
            "MPI_Group_range_incl": self._ranges("Range_incl"),
            "MPI_Group_range_excl": self._ranges("Range_excl"),
        }

    def _size(self, group: int, number: int) -> int:
        write(number, self._values.group(group).Get_size())
        return 0

    def _rank(self, group: int, number: int) -> int:
        write(number, self._values.group(group).Get_rank())
        return 0

    def _translate(self, group: int, count: int, ranks: int, other: int, found: int) -> int:
        given = integers(ranks, count)
        if given:
            write(
                found, *self._values.group(group).Translate_ranks(given, self._values.group(other))
            )
        return 0

    def _compare(self, one: int, other: int, result: int) -> int:
        write(result, self._values.group(one).Compare(self._values.group(other)))
        return 0

    def _joined(self, join: Callable[..., Any]) -> Call:
        v = self._values
        return lambda one, other, _: v.hand_out_group(join(v.group(one), v.group(other)))

    def _chosen(self, choose: str) -> Call:
        v = self._values
        return lambda group, count, ranks, _: v.hand_out_group(
            getattr(v.group(group), choose)(integers(ranks, count))
        )

    def _ranges(self, choose: str) -> Call:
        v = self._values

        def call(group: int, count: int, triples: int, _: int) -> int:
            flat = integers(triples, count * 3)
            given = [(flat[at], flat[at + 1], flat[at + 2]) for at in range(0, len(flat), 3)]
            return v.hand_out_group(getattr(v.group(group), choose)(given))

        return call
