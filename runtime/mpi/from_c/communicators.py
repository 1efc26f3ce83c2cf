"""Communicators of a C program: how they are made, and what they are asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from runtime.mpi.from_c.calls import Call, Calls
from runtime.mpi.from_c.values import integers, write


class CommunicatorCalls(Calls):
    """The functions that make communicators, or ask for their members and topologies."""

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

    def _leader(self, of: Any, local: int, peer: int, remote: int, tag: int, _: int) -> Any:
        other = self._values.comm(peer) if of.Get_rank() == local else MPI.COMM_NULL
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
        self, of: Any, sources: int, from_: int, _weights: int, targets: int, to: int, *_: int
    ) -> Any:
        return of.Create_dist_graph_adjacent(integers(from_, sources), integers(to, targets))

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
        found = self._values.comm(comm)
        if not isinstance(found, MPI.Cartcomm):
            raise MPI.Exception(MPI.ERR_TOPOLOGY)
        return found
