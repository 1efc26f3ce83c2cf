"""The calls of communicators beside the list of collective operations."""

from __future__ import annotations

from collections.abc import Mapping

from mpi4py import MPI

from runtime.collectives.operations import WITH_BUFFERS, WITH_OBJECTS
from runtime.mpi.collectives import calls
from runtime.mpi.collectives.mismatches import KINDS, tag_of


def names(table: Mapping[type[MPI.Comm], tuple[calls._Collective, ...]]) -> list[str]:
    return [one.name for rows in table.values() for one in rows]


def test_every_operation_has_its_calls_and_no_other() -> None:
    assert names(calls._WITH_BUFFERS) == [row.name for row in WITH_BUFFERS]
    assert names(calls._WITH_OBJECTS) == [row.name for row in WITH_OBJECTS]


def test_a_tag_has_room_for_the_number_of_every_kind() -> None:
    assert len({tag_of(kind, 1) for kind in KINDS}) == len(KINDS)
