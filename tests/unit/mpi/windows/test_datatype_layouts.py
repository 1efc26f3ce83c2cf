"""Layouts of datatypes: the places where native MPI finds their bytes."""

from __future__ import annotations

import pytest
from mpi4py import MPI

from runtime.mpi.values.loop import pack_natively
from runtime.mpi.windows.layouts import layout_of
from runtime.windows.runs import block

D, I = MPI.DOUBLE, MPI.INT  # noqa: E741 - as MPI's own documents
MADE = {
    "named": D,
    "pair": MPI.DOUBLE_INT,
    "pair with a hole": MPI.SHORT_INT,
    "dup": D.Dup(),
    "contiguous": I.Create_contiguous(3),
    "vector": D.Create_vector(3, 2, 4),
    "hvector": I.Create_hvector(3, 2, 20),
    "backwards": I.Create_vector(3, 1, -2),
    "indexed": I.Create_indexed([1, 2, 0], [6, 0, 3]),
    "hindexed": I.Create_hindexed([1, 2], [0, 40]),
    "indexed block": I.Create_indexed_block(2, [4, 0]),
    "hindexed block": I.Create_hindexed_block(2, [0, 36]),
    "struct": MPI.Datatype.Create_struct([1, 2], [0, 8], [I, D]),
    "subarray": I.Create_subarray([4, 5, 3], [2, 3, 2], [1, 1, 0]),
    "subarray of Fortran": I.Create_subarray([4, 5], [2, 3], [1, 1], MPI.ORDER_F),
    "resized": D.Create_resized(-8, 40),
    "nested": D.Create_vector(2, 1, 3).Create_resized(0, 64).Create_vector(2, 2, 3),
    "darray": I.Create_darray(
        4, 1, [6, 6], [MPI.DISTRIBUTE_CYCLIC] * 2, [MPI.DISTRIBUTE_DFLT_DARG] * 2, [2, 2]
    ),
    "darray of blocks": D.Create_darray(
        4, 3, [7, 5], [MPI.DISTRIBUTE_BLOCK, MPI.DISTRIBUTE_CYCLIC], [4, 2], [2, 2]
    ),
    "darray of Fortran": I.Create_darray(
        2,
        1,
        [5, 7],
        [MPI.DISTRIBUTE_NONE, MPI.DISTRIBUTE_CYCLIC],
        [MPI.DISTRIBUTE_DFLT_DARG] * 2,
        [1, 2],
        MPI.ORDER_F,
    ),
}


def test_padding_of_a_long_double_has_its_place_in_a_darray() -> None:
    none = MPI.DISTRIBUTE_NONE
    whole = MPI.LONG_DOUBLE.Create_darray(1, 0, [3], [none], [MPI.DISTRIBUTE_DFLT_DARG], [1])
    assert layout_of(whole).runs == [block(0, 3 * MPI.LONG_DOUBLE.size)]


@pytest.mark.parametrize("name", MADE)
def test_packing_by_runs_is_packing_by_mpi(name: str) -> None:
    datatype = MADE[name]
    if not datatype.is_predefined:
        datatype.Commit()
    low, span = datatype.Get_true_extent()
    image = bytearray(at * 37 % 251 for at in range(span))
    whole = MPI.buffer.fromaddress(MPI.Get_address(image) - low, span)
    packed = pack_natively((whole, 1, datatype))
    places = [
        run.start + run.stride * time + at - low
        for run in layout_of(datatype).runs
        for time in range(run.times)
        for at in range(run.length)
    ]
    assert bytes(image[at] for at in places) == packed
