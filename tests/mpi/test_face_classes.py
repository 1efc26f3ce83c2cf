"""Every call on a communicator of several clusters is ours, so that none means one cluster."""

from __future__ import annotations

import pytest

MPI = pytest.importorskip("mpi4py.MPI")
comm = pytest.importorskip("runtime.mpi.surface.communicator_classes")

pytestmark = pytest.mark.mpi

KINDS = ["Comm", "Intracomm", "Topocomm", "Cartcomm", "Graphcomm", "Distgraphcomm", "Intercomm"]

# What belongs to the native communicator behind each of ours, or to none.
OF_THE_HANDLE = {
    "Get_attr",
    "Set_attr",
    "Delete_attr",
    "Free_keyval",
    "Get_errhandler",
    "Set_errhandler",
    "Call_errhandler",
    "Get_info",
    "Set_info",
    "Get_name",
    "Set_name",
    "handle",
    "info",
    "name",
    "py2f",
    "toint",
    "Attach_buffer",
    "Detach_buffer",
    "Flush_buffer",
    "Iflush_buffer",
    "Get_parent",
    "Join",
}
# What asks other calls, which are ours.
ASKS_OTHERS = {
    "group",
    "rank",
    "size",
    "is_inter",
    "is_intra",
    "is_topo",
    "topology",
    "remote_group",
    "remote_size",
    "degrees",
    "indegree",
    "outdegree",
    "inedges",
    "outedges",
    "inoutedges",
    "dim",
    "ndim",
    "dims",
    "periods",
    "coords",
    "topo",
    "nnodes",
    "nedges",
    "index",
    "edges",
    "nneighbors",
    "neighbors",
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_call_reaches_native_mpi_by_oversight(kind: str) -> None:
    face, native = getattr(comm, kind), getattr(MPI, kind)
    names = {name for name in dir(native) if not name.startswith("__")}
    owners = {name: next(one for one in face.__mro__ if name in vars(one)) for name in names}
    theirs = {name for name, one in owners.items() if one in native.__mro__}
    assert theirs <= OF_THE_HANDLE | ASKS_OTHERS


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_accepts_what_the_one_it_stands_for_accepts(kind: str) -> None:
    face, native = getattr(comm, kind), getattr(MPI, kind)
    assert isinstance(native(), face)
    assert issubclass(native, face)
    assert issubclass(face, native)
