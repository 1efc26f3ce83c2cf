"""Communicators of five processes, of which native MPI knows only this one, number 2.

What is derived from them without asking the others is tested here; the rest is in `tests/mpi`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mpi4py import MPI

from runtime.mpi.communicators.classes import wrap
from runtime.mpi.communicators.groups import Group
from runtime.mpi.errors import NotOnTheGrid
from runtime.mpi.process.place import Place, here, nodes_of, settle
from runtime.mpi.progress.engine import Engine
from runtime.mpi.progress.membership import intra
from runtime.mpi.surface.communicator_classes import (
    Cartcomm,
    Comm,
    Distgraphcomm,
    Graphcomm,
    Intracomm,
)
from runtime.mpi.surface.start import start
from runtime.mpi.values.handles import addressof, handleof
from runtime.rank_name import RankName
from runtime.topology import Cluster, Grid, Site

ME = 2


@pytest.fixture
def engine() -> Iterator[Engine]:
    start()
    before = here()
    hosts = [f"node{number}" for number in range(5)]
    clusters = tuple(Cluster(one, nodes_of([one])) for one in hosts)
    settle(Place(Grid((Site("site0", clusters),)), RankName(0, ME, 0), hosts))
    yield Engine(ME, ME, ME + 1)
    settle(before)


@pytest.fixture
def comm(engine: Engine) -> Iterator[Any]:
    native, inner = MPI.COMM_SELF.Dup(), MPI.COMM_SELF.Dup()
    made = wrap(intra(engine, range(5), native, inner, b"context."))
    yield made
    made.free()


def test_tags_go_as_far_as_the_mpis_of_all_clusters_have_them(comm: Any) -> None:
    place = here()
    settle(Place(place.grid, place.me, place.hosts, tag_limit=9))
    assert comm.Get_attr(MPI.TAG_UB) == 9
    with pytest.raises(MPI.Exception) as raised:
        comm.Send(bytearray(1), dest=0, tag=10)
    assert raised.value.Get_error_class() == MPI.ERR_TAG


def test_a_communicator_knows_its_members(comm: Any) -> None:
    assert (comm.size, comm.rank, comm.is_inter, comm.is_intra) == (5, ME, False, True)
    assert (comm.topology, comm.is_topo) == (MPI.UNDEFINED, False)
    group = comm.group
    assert (type(group), group.size, group.rank) == (Group, 5, ME)


def test_a_duplicate_has_the_same_members_and_another_context(comm: Any) -> None:
    for copy in (comm.Dup(), comm.Clone(), comm.Dup_with_info(MPI.INFO_NULL)):
        assert Comm.Compare(comm, copy) == MPI.CONGRUENT
        assert copy._members.context != comm._members.context
        assert type(copy) is Intracomm
        copy.Free()
        assert copy == MPI.COMM_NULL
    assert comm.Compare(comm) == comm.Compare(Comm(comm)) == MPI.IDENT


def test_communicators_are_compared_with_native_ones(comm: Any) -> None:
    self_: Any = MPI.COMM_SELF
    assert comm.Compare(self_) == MPI.UNEQUAL
    assert Comm.Compare(self_, comm) == MPI.UNEQUAL
    with pytest.raises(MPI.Exception):
        comm.Compare(MPI.COMM_NULL)


def test_the_class_of_a_users_communicator_is_kept_by_duplicates(comm: Any) -> None:
    class Mine(Intracomm):
        pass

    copy = Mine(comm).Dup()
    assert type(copy) is Mine
    copy.Free()


def test_a_communicator_is_made_of_a_group_in_its_order(comm: Any) -> None:
    made = comm.Create(comm.group.Incl([4, ME]))
    assert (made.size, made.rank) == (2, 1)
    assert made.group.Translate_ranks(None, comm.group) == [4, ME]
    assert comm.Compare(made) == MPI.UNEQUAL
    made.Free()


def test_members_in_another_order_make_a_similar_communicator(comm: Any) -> None:
    made = comm.Create(comm.group.Incl([4, 3, 2, 1, 0]))
    assert comm.Compare(made) == MPI.SIMILAR
    made.Free()


def test_those_who_are_not_in_the_group_get_no_communicator(comm: Any) -> None:
    for nobody in (comm.group.Incl([0, 1]), MPI.GROUP_EMPTY):
        assert comm.Create(nobody) == MPI.COMM_NULL


def test_members_of_one_cluster_get_a_native_communicator(comm: Any) -> None:
    made = comm.Create_group(comm.group.Incl([ME]))
    assert type(made) is Intracomm
    assert made._members is None
    assert made.Compare(MPI.COMM_SELF) == MPI.CONGRUENT
    made.Free()


def test_groups_with_others_are_refused(comm: Any) -> None:
    small = comm.Create(comm.group.Incl([ME, 3]))
    for create in (small.Create, small.Create_group, Intracomm(MPI.COMM_SELF).Create):
        with pytest.raises(MPI.Exception) as caught:
            create(comm.group)
        assert caught.value.Get_error_class() == MPI.ERR_GROUP
    small.Free()


def test_every_communicator_of_the_same_group_has_another_context(comm: Any) -> None:
    group = comm.group
    made = [comm.Create(group), comm.Create(group), comm.Create_group(group)]
    made += [comm.Create_group(group), comm.Create_group(group, tag=1)]
    assert len({one._members.context for one in made}) == len(made)
    for one in made:
        one.Free()


def test_the_handle_of_its_native_one_leads_to_the_communicator(comm: Any) -> None:
    copy = comm.Create_cart([5])
    native = copy._members.native
    for found in (
        Comm.fromint(native.toint()),
        Comm.f2py(native.py2f()),
        Comm.fromhandle(native.handle),
    ):
        assert found == copy
        assert type(found) is Cartcomm
        assert found.dims == [5]
    copy.Free()
    assert Comm.fromhandle(MPI.COMM_NULL.handle) == MPI.COMM_NULL


@pytest.mark.parametrize(
    "ask",
    [
        lambda thing: thing.handle,
        lambda thing: thing.toint(),
        lambda thing: thing.py2f(),
        addressof,
        handleof,
    ],
)
def test_there_is_no_handle_of_what_has_members_in_several_clusters(
    comm: Any, ask: Callable[[Any], object]
) -> None:
    copy = comm.Dup()
    for thing in (comm, copy, comm.group):
        with pytest.raises(NotOnTheGrid, match="COMM_CLUSTER"):
            ask(thing)
    copy.Free()
    for thing in (Intracomm(MPI.COMM_SELF), copy, MPI.COMM_SELF.group, MPI.SUM, MPI.INT):
        assert isinstance(ask(thing), int)


def test_callbacks_of_attributes_see_the_whole_communicator(comm: Any) -> None:
    seen: list[tuple[str, int, int]] = []

    def copied(one: Any, keyval: int, value: int) -> int:
        seen.append(("copied", one.size, value))
        return value + 1

    def deleted(one: Any, keyval: int, value: int) -> None:
        seen.append(("deleted", one.size, value))

    parent = comm.Dup()
    keyval = Comm.Create_keyval(copied, deleted)
    parent.Set_attr(keyval, 7)
    copy = parent.Dup()
    assert copy.Get_attr(keyval) == 8
    copy.Delete_attr(keyval)
    parent.Delete_attr(keyval)
    Comm.Free_keyval(keyval)
    assert seen == [("copied", 5, 7), ("deleted", 5, 8), ("deleted", 5, 7)]
    parent.Free()
    copy.Free()


def test_error_handlers_see_the_whole_communicator(comm: Any) -> None:
    seen: list[tuple[int, int]] = []
    handler = Comm.Create_errhandler(lambda one, error: seen.append((one.size, error)))
    parent = comm.Dup()
    parent.Set_errhandler(handler)
    parent.Call_errhandler(MPI.ERR_OTHER)
    handler.Free()
    parent.Free()
    assert seen == [(5, MPI.ERR_OTHER)]


def test_only_communicators_from_the_start_can_be_pickled(comm: Any) -> None:
    with pytest.raises(ValueError, match="cannot serialize"):
        pickle.dumps(comm)


def test_a_cartesian_communicator_knows_coordinates_and_neighbours(comm: Any) -> None:
    cart = comm.Create_cart([2, 2], [False, True])
    assert type(cart) is Cartcomm
    assert (cart.topology, cart.is_topo) == (MPI.CART, True)
    assert (cart.dim, cart.ndim, cart.size) == (2, 2, 4)
    assert cart.topo == (cart.dims, cart.periods, cart.coords) == ([2, 2], [0, 1], [1, 0])
    assert cart.Get_coords(3) == [1, 1]
    assert cart.Get_cart_rank([0, -1]) == 1
    assert cart.Shift(0, 1) == (0, MPI.PROC_NULL)
    assert cart.inoutedges == ([0, MPI.PROC_NULL, 3, 3], [0, MPI.PROC_NULL, 3, 3])
    assert (cart.indegree, cart.outdegree) == (4, 4)
    copy = cart.Dup()
    assert copy.topo == cart.topo
    copy.Free()
    cart.Free()


def test_part_of_a_cartesian_communicator_is_one_too(comm: Any) -> None:
    cart = comm.Create_cart([2, 2], True)
    column, alone = cart.Sub([True, False]), cart.Sub([False, False])
    assert (column.dims, column.periods, column.coords, column.size) == ([2], [1], [1], 2)
    assert column.group.Translate_ranks(None, comm.group) == [0, 2]
    assert (type(alone), alone._members, alone.dims, alone.size) == (Cartcomm, None, [], 1)
    for one in (column, alone, cart):
        one.Free()


def test_ranks_beyond_the_shape_are_left_out(comm: Any) -> None:
    assert comm.Create_cart([2]) == MPI.COMM_NULL
    assert comm.Create_graph([1, 2], [1, 0]) == MPI.COMM_NULL
    assert comm.Graph_map([1, 2], [1, 0]) == MPI.UNDEFINED
    assert comm.Create_cart([]) == MPI.COMM_NULL


def test_a_graph_communicator_knows_everybodys_neighbours(comm: Any) -> None:
    graph = comm.Create_graph([0, 1, 2, 4], [2, 2, 0, 1])
    assert type(graph) is Graphcomm
    assert (graph.topology, graph.size) == (MPI.GRAPH, 3)
    assert (graph.dims, graph.nnodes, graph.nedges) == ((3, 4), 3, 4)
    assert graph.topo == (graph.index, graph.edges) == ([1, 2, 4], [2, 2, 0, 1])
    assert (graph.neighbors, graph.nneighbors) == ([0, 1], 2)
    assert graph.Get_neighbors(0) == [2]
    assert graph.inoutedges == ([0, 1], [0, 1])
    assert comm.Graph_map([1, 2, 4], [2, 2, 0, 1]) == 2
    graph.Free()


@pytest.mark.parametrize(
    ("given", "count", "neighbours"),
    [
        ((None, None), (0, 0, False), ([], [], None)),
        (([0, 4], [1]), (2, 1, False), ([0, 4], [1], None)),
        (([0], [1], MPI.UNWEIGHTED, None), (1, 1, False), ([0], [1], None)),
        (([0], [1, 2], [5], [6, 7]), (1, 2, True), ([0], [1, 2], ([5], [6, 7]))),
        (([], [], MPI.WEIGHTS_EMPTY, MPI.WEIGHTS_EMPTY), (0, 0, True), ([], [], ([], []))),
        (([0], None, [5], None), (1, 0, True), ([0], [], ([5], []))),
    ],
)
def test_a_distributed_graph_knows_the_neighbours_of_this_process(
    comm: Any, given: tuple[Any, ...], count: tuple[int, int, bool], neighbours: object
) -> None:
    graph = comm.Create_dist_graph_adjacent(*given)
    assert type(graph) is Distgraphcomm
    assert graph.topology == MPI.DIST_GRAPH
    assert graph.Get_dist_neighbors_count() == count
    assert graph.Get_dist_neighbors() == neighbours
    assert graph.inoutedges == (neighbours[0], neighbours[1])
    graph.Free()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda one: one.Create_cart([6]), MPI.ERR_ARG),
        (lambda one: one.Create_cart([5, 0]), MPI.ERR_DIMS),
        (lambda one: one.Cart_map([6]), MPI.ERR_ARG),
        (lambda one: one.Create_graph([1], [5]), MPI.ERR_ARG),
        (lambda one: one.Create_dist_graph_adjacent([5], []), MPI.ERR_ARG),
        (lambda one: one.Create_dist_graph_adjacent([0], [0], [1], None), MPI.ERR_TOPOLOGY),
        (lambda one: one.Split(-5), MPI.ERR_ARG),
        (lambda one: one.Create_intercomm(9, one, 0), MPI.ERR_RANK),
    ],
)
def test_wrong_arguments_raise_the_errors_of_mpi(
    comm: Any, wrong: Callable[[Any], object], error: int
) -> None:
    with pytest.raises(MPI.Exception) as caught:
        wrong(comm)
    assert caught.value.Get_error_class() == error


@pytest.mark.parametrize(
    "wrong",
    [
        lambda one: one.Create_cart([5], []),
        lambda one: one.Create_cart([5], [0, 0]),
        lambda one: one.Create_dist_graph_adjacent([0], [0], [1, 2], [1]),
        lambda one: one.Create_dist_graph_adjacent([0], [0], *[MPI.WEIGHTS_EMPTY] * 2),
    ],
)
def test_lists_of_the_wrong_length_are_refused(comm: Any, wrong: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match="expecting|empty weights"):
        wrong(comm)


def test_coordinates_that_are_not_there_are_refused(comm: Any) -> None:
    cart = comm.Create_cart([5])
    faults: list[tuple[Callable[[], object], int]] = [
        (lambda: cart.Get_coords(5), MPI.ERR_RANK),
        (lambda: cart.Get_cart_rank([5]), MPI.ERR_ARG),
        (lambda: cart.Shift(1, 1), MPI.ERR_ARG),
    ]
    for wrong, error in faults:
        with pytest.raises(MPI.Exception) as caught:
            wrong()
        assert caught.value.Get_error_class() == error
    with pytest.raises(ValueError, match="expecting 1 items, got 2"):
        cart.Get_cart_rank([0, 0])
    with pytest.raises(ValueError, match="expecting 1 items, got 0"):
        cart.Sub([])
    cart.Free()
