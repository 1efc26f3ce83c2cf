"""Collectives of a C program over clusters: what each makes of its arguments for Python."""

# ruff: noqa: PLR0917 - the arguments are those of MPI

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from runtime.mpi.from_c.calls import Call, Calls, Prepared, blocking
from runtime.mpi.from_c.values import IN_PLACE, addresses, handles, integers


class CollectiveCalls(Calls):
    """The collectives, each blocking, begun, and persistent."""

    def table(self) -> dict[str, Call]:
        """Return them by their names."""
        made: dict[str, Call] = {}
        for name, (prepare, arity) in self._prepared().items():
            made[f"MPI_{name}"] = blocking(name, prepare)
            begun = f"I{name.lower()}"
            made[f"MPI_{begun}"] = self._begun(begun, prepare, arity)
            made[f"MPI_{name}_init"] = self._begun(f"{name}_init", prepare, arity)
        return made

    def _prepared(self) -> dict[str, tuple[Prepared, int]]:
        """Return what reads the arguments of each, and how many these are without a request."""
        return {
            "Barrier": (self._barrier, 1),
            "Bcast": (self._bcast, 5),
            "Gather": (self._gather, 8),
            "Gatherv": (self._gatherv, 9),
            "Scatter": (self._scatter, 8),
            "Scatterv": (self._scatterv, 9),
            "Allgather": (self._allgather, 7),
            "Allgatherv": (self._allgatherv, 8),
            "Alltoall": (self._alltoall, 7),
            "Alltoallv": (self._alltoallv, 9),
            "Alltoallw": (self._alltoallw, 9),
            "Neighbor_allgather": (self._neighbor_allgather, 7),
            "Neighbor_allgatherv": (self._neighbor_allgatherv, 8),
            "Neighbor_alltoall": (self._neighbor_alltoall, 7),
            "Neighbor_alltoallv": (self._neighbor_alltoallv, 9),
            "Neighbor_alltoallw": (self._neighbor_alltoallw, 9),
            "Reduce": (self._reduce, 7),
            "Allreduce": (self._allreduce, 6),
            "Scan": (self._allreduce, 6),
            "Exscan": (self._allreduce, 6),
            "Reduce_scatter_block": (self._reduce_scatter_block, 6),
            "Reduce_scatter": (self._reduce_scatter, 6),
        }

    def _barrier(self, comm: int) -> Any:
        return self._values.comm(comm), ()

    def _bcast(self, buf: int, count: int, kind: int, root: int, comm: int) -> Any:
        return self._values.comm(comm), (self._values.one(buf, count, kind), root)

    def _gather(
        self,
        sendbuf: int, sendcount: int, sendtype: int,
        recvbuf: int, recvcount: int, recvtype: int, root: int, comm: int,
    ) -> Any:  # fmt: skip
        of = self._values.comm(comm)
        given = None if root == MPI.ROOT else self._values.one(sendbuf, sendcount, sendtype)
        is_root = root in (MPI.ROOT, _own(of))
        if is_root and (sendcount, sendtype) == (recvcount, recvtype):
            _check_apart(of, sendbuf, recvbuf, sendcount)
        taken = self._values.one(recvbuf, recvcount, recvtype, _blocks(of)) if is_root else None
        return of, (given, taken, root)

    def _gatherv(
        self,
        sendbuf: int, sendcount: int, sendtype: int, recvbuf: int, counts: int, places: int,
        recvtype: int, root: int, comm: int,
    ) -> Any:  # fmt: skip
        of = self._values.comm(comm)
        given = None if root == MPI.ROOT else self._values.one(sendbuf, sendcount, sendtype)
        is_root = root in (MPI.ROOT, _own(of))
        if is_root and sendtype == recvtype:
            self._check_own_part(of, sendbuf, sendcount, sendtype, recvbuf, counts, places)
        taken = self._parts(of, recvbuf, counts, places, recvtype) if is_root else None
        return of, (given, taken, root)

    def _scatter(
        self,
        sendbuf: int, sendcount: int, sendtype: int,
        recvbuf: int, recvcount: int, recvtype: int, root: int, comm: int,
    ) -> Any:  # fmt: skip
        of = self._values.comm(comm)
        is_root = root in (MPI.ROOT, _own(of))
        if is_root and (sendcount, sendtype) == (recvcount, recvtype):
            _check_apart(of, sendbuf, recvbuf, recvcount)
        given = self._values.one(sendbuf, sendcount, sendtype, _blocks(of)) if is_root else None
        taken = None if root == MPI.ROOT else self._values.one(recvbuf, recvcount, recvtype)
        return of, (given, taken, root)

    def _scatterv(
        self,
        sendbuf: int, counts: int, places: int, sendtype: int,
        recvbuf: int, recvcount: int, recvtype: int, root: int, comm: int,
    ) -> Any:  # fmt: skip
        of = self._values.comm(comm)
        is_root = root in (MPI.ROOT, _own(of))
        if is_root and sendtype == recvtype:
            self._check_own_part(of, recvbuf, recvcount, recvtype, sendbuf, counts, places)
        given = self._parts(of, sendbuf, counts, places, sendtype) if is_root else None
        taken = None if root == MPI.ROOT else self._values.one(recvbuf, recvcount, recvtype)
        return of, (given, taken, root)

    def _allgather(
        self,
        sendbuf: int, sendcount: int, sendtype: int,
        recvbuf: int, recvcount: int, recvtype: int, comm: int,
    ) -> Any:  # fmt: skip
        of = self._values.comm(comm)
        if (sendcount, sendtype) == (recvcount, recvtype):
            _check_apart(of, sendbuf, recvbuf, sendcount)
        taken = self._values.one(recvbuf, recvcount, recvtype, _blocks(of))
        return of, (self._values.one(sendbuf, sendcount, sendtype), taken)

    def _allgatherv(
        self,
        sendbuf: int, sendcount: int, sendtype: int,
        recvbuf: int, counts: int, places: int, recvtype: int, comm: int,
    ) -> Any:  # fmt: skip
        of = self._values.comm(comm)
        if sendtype == recvtype:
            self._check_own_part(of, sendbuf, sendcount, sendtype, recvbuf, counts, places)
        taken = self._parts(of, recvbuf, counts, places, recvtype)
        return of, (self._values.one(sendbuf, sendcount, sendtype), taken)

    def _alltoall(
        self,
        sendbuf: int, sendcount: int, sendtype: int,
        recvbuf: int, recvcount: int, recvtype: int, comm: int,
    ) -> Any:  # fmt: skip
        of = self._values.comm(comm)
        if (sendcount, sendtype) == (recvcount, recvtype):
            _check_apart(of, sendbuf, recvbuf, sendcount)
        given = self._values.one(sendbuf, sendcount, sendtype, _blocks(of))
        return of, (given, self._values.one(recvbuf, recvcount, recvtype, _blocks(of)))

    def _alltoallv(
        self,
        sendbuf: int, sendcounts: int, sendplaces: int, sendtype: int,
        recvbuf: int, recvcounts: int, recvplaces: int, recvtype: int, comm: int,
    ) -> Any:  # fmt: skip
        of = self._values.comm(comm)
        if sendbuf == recvbuf and sendtype == recvtype:
            sent, taken = (sendcounts, sendplaces), (recvcounts, recvplaces)
            _check_parts_apart(of, sendbuf, sent, taken)
        given = self._parts(of, sendbuf, sendcounts, sendplaces, sendtype)
        return of, (given, self._parts(of, recvbuf, recvcounts, recvplaces, recvtype))

    def _alltoallw(
        self,
        sendbuf: int, sendcounts: int, sendplaces: int, sendtypes: int,
        recvbuf: int, recvcounts: int, recvplaces: int, recvtypes: int, comm: int,
    ) -> Any:  # fmt: skip
        of = self._values.comm(comm)
        blocks = _blocks(of)
        if sendbuf == recvbuf and handles(sendtypes, blocks) == handles(recvtypes, blocks):
            sent, taken = (sendcounts, sendplaces), (recvcounts, recvplaces)
            _check_parts_apart(of, sendbuf, sent, taken)

        def each(buf: int, counts: int, places: int, types: int) -> Any:
            if buf == IN_PLACE:
                return MPI.IN_PLACE
            found = integers(counts, blocks), integers(places, blocks), handles(types, blocks)
            return self._values.each(buf, *found)

        given = each(sendbuf, sendcounts, sendplaces, sendtypes)
        return of, (given, each(recvbuf, recvcounts, recvplaces, recvtypes))

    def _neighbor_allgather(
        self,
        sendbuf: int, sendcount: int, sendtype: int,
        recvbuf: int, recvcount: int, recvtype: int, comm: int,
    ) -> Any:  # fmt: skip
        of, sources, _ = self._neighbours(comm)
        taken = self._values.one(recvbuf, recvcount, recvtype, sources)
        return of, (self._values.one(sendbuf, sendcount, sendtype), taken)

    def _neighbor_allgatherv(
        self,
        sendbuf: int, sendcount: int, sendtype: int,
        recvbuf: int, counts: int, places: int, recvtype: int, comm: int,
    ) -> Any:  # fmt: skip
        of, sources, _ = self._neighbours(comm)
        found = integers(counts, sources), integers(places, sources)
        taken = self._values.several(recvbuf, *found, recvtype)
        return of, (self._values.one(sendbuf, sendcount, sendtype), taken)

    def _neighbor_alltoall(
        self,
        sendbuf: int, sendcount: int, sendtype: int,
        recvbuf: int, recvcount: int, recvtype: int, comm: int,
    ) -> Any:  # fmt: skip
        of, sources, targets = self._neighbours(comm)
        given = self._values.one(sendbuf, sendcount, sendtype, targets)
        return of, (given, self._values.one(recvbuf, recvcount, recvtype, sources))

    def _neighbor_alltoallv(
        self,
        sendbuf: int, sendcounts: int, sendplaces: int, sendtype: int,
        recvbuf: int, recvcounts: int, recvplaces: int, recvtype: int, comm: int,
    ) -> Any:  # fmt: skip
        of, sources, targets = self._neighbours(comm)
        sent = integers(sendcounts, targets), integers(sendplaces, targets)
        received = integers(recvcounts, sources), integers(recvplaces, sources)
        given = self._values.several(sendbuf, *sent, sendtype)
        return of, (given, self._values.several(recvbuf, *received, recvtype))

    def _neighbor_alltoallw(
        self,
        sendbuf: int, sendcounts: int, sendplaces: int, sendtypes: int,
        recvbuf: int, recvcounts: int, recvplaces: int, recvtypes: int, comm: int,
    ) -> Any:  # fmt: skip
        of, sources, targets = self._neighbours(comm)
        sent = integers(sendcounts, targets), addresses(sendplaces, targets)
        received = integers(recvcounts, sources), addresses(recvplaces, sources)
        given = self._values.each(sendbuf, *sent, handles(sendtypes, targets))
        return of, (given, self._values.each(recvbuf, *received, handles(recvtypes, sources)))

    def _neighbours(self, comm: int) -> tuple[Any, int, int]:
        """Return a communicator, and how many neighbours it receives from and sends to."""
        of = self._values.comm(comm)
        kind = of.Get_topology()
        if kind == MPI.CART:
            return of, 2 * of.Get_dim(), 2 * of.Get_dim()
        if kind == MPI.GRAPH:
            number = of.Get_neighbors_count(of.Get_rank())
            return of, number, number
        if kind != MPI.DIST_GRAPH:
            raise MPI.Exception(MPI.ERR_TOPOLOGY)
        sources, targets, _ = of.Get_dist_neighbors_count()
        return of, sources, targets

    def _reduce(
        self, sendbuf: int, recvbuf: int, count: int, kind: int, op: int, root: int, comm: int
    ) -> Any:
        of = self._values.comm(comm)
        given = None if root == MPI.ROOT else self._values.one(sendbuf, count, kind)
        is_root = root in (MPI.ROOT, _own(of))
        if is_root:
            _check_apart(of, sendbuf, recvbuf, count)
        taken = self._values.one(recvbuf, count, kind) if is_root else None
        return of, (given, taken, self._values.op(op), root)

    def _allreduce(
        self, sendbuf: int, recvbuf: int, count: int, kind: int, op: int, comm: int
    ) -> Any:
        of, values = self._values.comm(comm), self._values
        _check_apart(of, sendbuf, recvbuf, count)
        given, taken = values.one(sendbuf, count, kind), values.one(recvbuf, count, kind)
        return of, (given, taken, values.op(op))

    def _reduce_scatter_block(
        self, sendbuf: int, recvbuf: int, count: int, kind: int, op: int, comm: int
    ) -> Any:
        of = self._values.comm(comm)
        blocks = of.Get_size()
        _check_apart(of, sendbuf, recvbuf, count)
        given = self._values.one(sendbuf, count, kind, blocks)
        taken = self._values.one(recvbuf, count, kind, blocks if sendbuf == IN_PLACE else 1)
        return of, (given, taken, self._values.op(op))

    def _reduce_scatter(
        self, sendbuf: int, recvbuf: int, counts: int, kind: int, op: int, comm: int
    ) -> Any:
        of = self._values.comm(comm)
        numbers = integers(counts, of.Get_size())
        _check_apart(of, sendbuf, recvbuf, sum(numbers))
        given = self._values.one(sendbuf, sum(numbers), kind)
        count = sum(numbers) if sendbuf == IN_PLACE else numbers[of.Get_rank()]
        return of, (given, self._values.one(recvbuf, count, kind), numbers, self._values.op(op))

    def _check_own_part(
        self, comm: Any, one: int, count: int, kind: int, all_: int, counts: int, places: int
    ) -> None:
        """Raise MPI.Exception if `one` message is as it is the part of this process among all."""
        if min(one, all_) <= IN_PLACE or comm.Is_inter():
            return
        own = comm.Get_rank()
        if integers(counts, own + 1)[own] == count:
            place = integers(places, own + 1)[own] * self._values.type(kind).extent
            _check_apart(comm, one, all_ + place, count)

    def _parts(self, comm: Any, buf: int, counts: int, places: int, kind: int) -> Any:
        """Return blocks of different sizes; in place there may be no counts."""
        if buf == IN_PLACE:
            return MPI.IN_PLACE
        blocks = _blocks(comm)
        return self._values.several(buf, integers(counts, blocks), integers(places, blocks), kind)


def _check_apart(comm: Any, sendbuf: int, recvbuf: int, count: int = 1) -> None:
    """Raise MPI.Exception if what is sent would be written over; MPI_IN_PLACE says that it may.

    The same address with other counts, places or types may be legal, and is left to the program.
    """
    if sendbuf == recvbuf > IN_PLACE and count > 0 and not comm.Is_inter():
        error = MPI.Exception(MPI.ERR_BUFFER)
        error.add_note("the same memory is sent and received into: give MPI_IN_PLACE for that")
        raise error


def _check_parts_apart(comm: Any, buf: int, sent: tuple[int, int], taken: tuple[int, int]) -> None:
    """Raise MPI.Exception if parts of one memory are sent that are received into likewise.

    Both have the addresses of their counts and places; halves of one array may be exchanged.
    """
    blocks = _blocks(comm)
    counts, places = (integers(address, blocks) for address in sent)
    if sent == taken or [counts, places] == [integers(address, blocks) for address in taken]:
        _check_apart(comm, buf, buf, sum(counts))


def _own(comm: Any) -> int:
    """Return the rank of this process where it can be a root that others name."""
    return MPI.UNDEFINED if comm.Is_inter() else int(comm.Get_rank())


def _blocks(comm: Any) -> int:
    """Return how many processes a rank exchanges blocks with."""
    return int(comm.Get_remote_size() if comm.Is_inter() else comm.Get_size())
