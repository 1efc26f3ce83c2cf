"""The list of collective operations beside the calls that communicators have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from runtime.collectives.choice import PLANS
from runtime.collectives.operations import ROWS, WITH_BUFFERS, WITH_OBJECTS


def test_every_plan_is_of_an_operation() -> None:
    assert set(PLANS) <= set(ROWS)


@pytest.mark.mpi
def test_every_operation_has_its_calls_and_no_other() -> None:
    from mpi4py import MPI

    from runtime.mpi.collectives import calls

    def names(table: Mapping[type[MPI.Comm], tuple[calls._Collective, ...]]) -> list[str]:
        return [one.name for rows in table.values() for one in rows]

    assert names(calls._WITH_BUFFERS) == [row.name for row in WITH_BUFFERS]
    assert names(calls._WITH_OBJECTS) == [row.name for row in WITH_OBJECTS]
