"""Communicators of a C program: how they are made, and what they are asked."""

# ruff: noqa: PLR0917 - the arguments are those of MPI

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from runtime.mpi.errors import FailureError
from runtime.mpi.from_c.calls import Call, Calls
from runtime.mpi.from_c.requests import Requests
from runtime.mpi.from_c.values import EMPTY_WEIGHTS, UNWEIGHTED, Values, integers, write
from runtime.mpi.surface import mpi_module


class CommunicatorCalls(Calls):
    """The functions that make communicators, ask for their members and topologies, or recover."""

    def __init__(self, values: Values, requests: Requests) -> None:
        super().__init__(values, requests)
        self._acknowledged: dict[int, int] = {}
        """How many losses were acknowledged on a communicator, by its handle."""

    def table(self) -> dict[str, Call]:
        """Return them by their names."""
        return {
            "MPI_Comm_split": self._made_by(lambda of, color, key, _: of.Split(color, key)),
            "MPI_Comm_split_type": self._made_by(
                lambda of, kind, key, *_: of.Split_type(kind, key)
            ),
            "MPI_Comm_create": self._made_by(
                lambda of, group, _: of.Create(self._values.group(group))
            ),
            "MPI_Comm_create_group": self._made_by(
                lambda of, group, tag, _: of.Create_group(self._values.group(group), tag)
            ),
            "MPI_Intercomm_create": self._made_by(self._leader),
            "MPI_Intercomm_merge": self._made_by(lambda of, high, _: of.Merge(bool(high))),
            "MPI_Cart_create": self._made_by(self._create_cart),
            "MPI_Cart_sub": self._made_by(self._sub),
            "MPI_Graph_create": self._made_by(self._graph),
            "MPI_Dist_graph_create_adjacent": self._made_by(self._adjacent),
            "MPI_Dist_graph_create": self._made_by(self._dist_graph),
            "MPI_Comm_create_from_group": self._from_group,
            "MPI_Intercomm_create_from_groups": self._from_groups,
            "MPIX_Comm_shrink": self._made_by(lambda of, _: of.Shrink()),
            "MPIX_Comm_revoke": self._revoke,
            "MPIX_Comm_is_revoked": self._is_revoked,
            "MPIX_Comm_get_failed": lambda comm, _: self._values.hand_out_group(
                self._values.comm(comm).Get_failed()
            ),
            "MPIX_Comm_ack_failed": self._ack_failed,
            "MPIX_Comm_failure_ack": self._failure_ack,
            "MPIX_Comm_failure_get_acked": self._failure_get_acked,
            "MPIX_Comm_agree": self._agree,
            "MPI_Cart_map": self._cart_map,
            "MPI_Graph_map": self._graph_map,
            "MPI_Graphdims_get": self._graphdims_get,
            "MPI_Graph_get": self._graph_get,
            "MPI_Graph_neighbors_count": self._neighbors_count,
            "MPI_Graph_neighbors": self._neighbors,
            "MPI_Dist_graph_neighbors_count": self._dist_neighbors_count,
            "MPI_Dist_graph_neighbors": self._dist_neighbors,
            "MPI_Comm_compare": self._compare,
            "MPI_Comm_test_inter": self._test_inter,
            "MPI_Comm_remote_size": self._remote_size,
            "MPI_Comm_group": lambda comm, _: self._values.hand_out_group(
                self._values.comm(comm).Get_group()
            ),
            "MPI_Comm_remote_group": (
                lambda comm, _: self._values.hand_out_group(
                    self._values.comm(comm).Get_remote_group()
                )
            ),
            "MPI_Topo_test": self._topo_test,
            "MPI_Cartdim_get": self._cartdim_get,
            "MPI_Cart_get": self._cart_get,
            "MPI_Cart_rank": self._cart_rank,
            "MPI_Cart_coords": self._cart_coords,
            "MPI_Cart_shift": self._cart_shift,
        }

    def _made_by(self, make: Callable[..., Any]) -> Call:
        """Return a call that makes a communicator from another one, its first argument."""
        v = self._values
        return lambda comm, *words: v.hand_out(make(v.comm(comm), *words), comm)

    def _from_group(self, group: int, tag: int, _info: int, handler: int, _: int) -> int:
        made = mpi_module.Intracomm.Create_from_group(self._values.group(group), _text(tag))
        return self._values.hand_out(made, handler=MPI.Errhandler.fromhandle(handler))

    def _from_groups(
        self, local: int, leader: int, remote: int, other: int, tag: int, _info: int, handler: int,
        _: int,
    ) -> int:  # fmt: skip
        groups = self._values.group(local), leader, self._values.group(remote), other
        made = mpi_module.Intercomm.Create_from_groups(*groups, _text(tag))
        return self._values.hand_out(made, handler=MPI.Errhandler.fromhandle(handler))

    def _revoke(self, comm: int) -> int:
        self._values.comm(comm).Revoke()
        return 0

    def _is_revoked(self, comm: int, flag: int) -> int:
        write(flag, int(self._values.comm(comm).Is_revoked()))
        return 0

    def _ack_failed(self, comm: int, most: int, number: int) -> int:
        write(number, self._values.comm(comm).Ack_failed(most))
        return 0

    def _failure_ack(self, comm: int) -> int:
        of = self._values.comm(comm)
        self._acknowledged[comm] = of.Ack_failed()
        return 0

    def _failure_get_acked(self, comm: int, _: int) -> int:
        """Return the failed ones of before the last acknowledgement, which come first."""
        failed = self._values.comm(comm).Get_failed()
        number = min(self._acknowledged.get(comm, 0), failed.Get_size())
        return self._values.hand_out_group(failed.Incl(list(range(number))))

    def _agree(self, comm: int, flag: int) -> int:
        (given,) = integers(flag, 1)
        try:
            write(flag, self._values.comm(comm).Agree(given))
        except FailureError as error:
            write(flag, getattr(error, "flag", given))
            raise
        return 0

    def _leader(self, of: Any, local: int, peer: int, remote: int, tag: int, _: int) -> Any:
        other = self._values.comm(peer) if of.Get_rank() == local else of  # which only leaders use
        return of.Create_intercomm(local, other, remote, tag)

    def _create_cart(
        self, of: Any, dims: int, sizes: int, periods: int, reorder: int, _: int
    ) -> Any:
        wraps = [bool(one) for one in integers(periods, dims)]
        return of.Create_cart(integers(sizes, dims), wraps, bool(reorder))

    def _graph(self, of: Any, nodes: int, index: int, edges: int, reorder: int, _: int) -> Any:
        ends = integers(index, nodes)
        return of.Create_graph(ends, integers(edges, ends[-1] if ends else 0), bool(reorder))

    def _sub(self, of: Any, remain: int, _: int) -> Any:
        return of.Sub([bool(one) for one in integers(remain, of.Get_dim())])

    def _adjacent(
        self, of: Any,
        sources: int, from_: int, given: int, targets: int, to: int, taken: int, *_: int,
    ) -> Any:  # fmt: skip
        weights = _weights(given, sources), _weights(taken, targets)
        return of.Create_dist_graph_adjacent(
            integers(from_, sources), integers(to, targets), *weights
        )

    def _dist_graph(
        self, of: Any, number: int, sources: int, degrees: int, to: int, weights: int, *_: int
    ) -> Any:
        counts = integers(degrees, number)
        ends = integers(to, sum(counts))
        given = _weights(weights, len(ends))
        return of.Create_dist_graph(integers(sources, number), counts, ends, given)

    def _cart_map(self, comm: int, dims: int, sizes: int, periods: int, rank: int) -> int:
        wraps = [bool(one) for one in integers(periods, dims)]
        write(rank, self._values.comm(comm).Cart_map(integers(sizes, dims), wraps))
        return 0

    def _graph_map(self, comm: int, nodes: int, index: int, edges: int, rank: int) -> int:
        ends = integers(index, nodes)
        given = integers(edges, ends[-1] if ends else 0)
        write(rank, self._values.comm(comm).Graph_map(ends, given))
        return 0

    def _graphdims_get(self, comm: int, nodes: int, edges: int) -> int:
        found = self._of_kind(comm, MPI.Graphcomm).Get_dims()
        write(nodes, found[0])
        write(edges, found[1])
        return 0

    def _graph_get(self, comm: int, nodes: int, most: int, index: int, edges: int) -> int:
        found = self._of_kind(comm, MPI.Graphcomm).Get_topo()
        write(index, *found[0][:nodes])
        write(edges, *found[1][:most])
        return 0

    def _neighbors_count(self, comm: int, rank: int, number: int) -> int:
        write(number, self._of_kind(comm, MPI.Graphcomm).Get_neighbors_count(rank))
        return 0

    def _neighbors(self, comm: int, rank: int, most: int, found: int) -> int:
        write(found, *self._of_kind(comm, MPI.Graphcomm).Get_neighbors(rank)[:most])
        return 0

    def _dist_neighbors_count(self, comm: int, sources: int, targets: int, weighted: int) -> int:
        found = self._of_kind(comm, MPI.Distgraphcomm).Get_dist_neighbors_count()
        for address, number in zip((sources, targets, weighted), found, strict=True):
            write(address, int(number))
        return 0

    def _dist_neighbors(
        self, comm: int,
        most: int, sources: int, given: int, most_targets: int, targets: int, taken: int,
    ) -> int:  # fmt: skip
        come, go, weights = self._of_kind(comm, MPI.Distgraphcomm).Get_dist_neighbors()
        write(sources, *come[:most])
        write(targets, *go[:most_targets])
        if weights is not None and given > EMPTY_WEIGHTS:
            write(given, *weights[0][:most])
        if weights is not None and taken > EMPTY_WEIGHTS:
            write(taken, *weights[1][:most_targets])
        return 0

    def _compare(self, one: int, other: int, result: int) -> int:
        write(result, self._values.comm(one).Compare(self._values.comm(other)))
        return 0

    def _test_inter(self, comm: int, flag: int) -> int:
        write(flag, int(self._values.comm(comm).Is_inter()))
        return 0

    def _remote_size(self, comm: int, size: int) -> int:
        write(size, self._values.comm(comm).Get_remote_size())
        return 0

    def _topo_test(self, comm: int, status: int) -> int:
        write(status, self._values.comm(comm).Get_topology())
        return 0

    def _cartdim_get(self, comm: int, dims: int) -> int:
        write(dims, self._cart(comm).Get_dim())
        return 0

    def _cart_get(self, comm: int, most: int, dims: int, periods: int, coords: int) -> int:
        found = self._cart(comm).Get_topo()
        for address, numbers in zip((dims, periods, coords), found, strict=True):
            write(address, *map(int, numbers[:most]))
        return 0

    def _cart_rank(self, comm: int, coords: int, rank: int) -> int:
        of = self._cart(comm)
        write(rank, of.Get_cart_rank(integers(coords, of.Get_dim())))
        return 0

    def _cart_coords(self, comm: int, rank: int, most: int, coords: int) -> int:
        write(coords, *self._cart(comm).Get_coords(rank)[:most])
        return 0

    def _cart_shift(self, comm: int, direction: int, disp: int, source: int, dest: int) -> int:
        before, after = self._cart(comm).Shift(direction, disp)
        write(source, before)
        write(dest, after)
        return 0

    def _cart(self, comm: int) -> Any:
        """Return a communicator with coordinates; raises MPI.Exception for another one."""
        return self._of_kind(comm, MPI.Cartcomm)

    def _of_kind(self, comm: int, kind: type[MPI.Comm]) -> Any:
        """Return a communicator with this topology; raises MPI.Exception for another one."""
        found = self._values.comm(comm)
        if not isinstance(found, kind):
            raise MPI.Exception(MPI.ERR_TOPOLOGY)
        return found


def _text(address: int) -> str:
    """Return a text of the program."""
    return ctypes.string_at(address).decode(errors="surrogateescape")


def _weights(address: int, count: int) -> list[int] | None:
    """Return the weights of edges; None where the program has none."""
    if address == UNWEIGHTED:
        return None
    return [] if address == EMPTY_WEIGHTS else integers(address, count)
