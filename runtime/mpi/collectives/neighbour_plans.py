"""Plans of collectives among neighbours, from their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.collectives.neighbours import exchange, mirrored
from runtime.mpi.collectives.memory import (
    BlockLanding,
    outgoing,
    own_parts,
    read,
    read_parts,
)
from runtime.mpi.collectives.state import CollectiveCall, CollectivePlan, planned
from runtime.mpi.values.specs import Spec, read_vector_w

if TYPE_CHECKING:
    from runtime.collectives.port import Steps
    from runtime.mpi.collectives.port import NativePort


def neighbours(call: CollectiveCall) -> tuple[list[int], list[int], list[int]]:
    """Return sources, destinations, and the order in which to receive from the sources.

    The order matters where two members are neighbours more than once.
    """
    topology = call.members.topology
    sources, destinations = topology.neighbours(call.rank)
    slots = len(sources)
    order = mirrored(slots) if topology.kind == MPI.CART else list(range(slots))
    return sources, destinations, order


@planned("Neighbor_allgather", vector="Neighbor_allgatherv")
def neighbour_allgather(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, *, vector: bool = False
) -> CollectivePlan[None]:
    """Plan to receive one block from every neighbour."""
    sources, destinations, _ = neighbours(call)
    sent = read(sendbuf, readonly=True, blocks=0)
    received = read_parts(recvbuf, len(sources), vector=vector, readonly=False)
    name = "Neighbor_allgatherv" if vector else "Neighbor_allgather"
    return _exchange(call, name, [sent] * len(destinations), received)


@planned("Neighbor_alltoall", vector="Neighbor_alltoallv")
def neighbour_alltoall(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, *, vector: bool = False
) -> CollectivePlan[None]:
    """Plan to exchange one block with every neighbour."""
    sources, destinations, _ = neighbours(call)
    sent = read_parts(sendbuf, len(destinations), vector=vector, readonly=True)
    received = read_parts(recvbuf, len(sources), vector=vector, readonly=False)
    name = "Neighbor_alltoallv" if vector else "Neighbor_alltoall"
    return _exchange(call, name, sent, received)


@planned("Neighbor_alltoallw")
def neighbour_alltoallw(call: CollectiveCall, sendbuf: Any, recvbuf: Any) -> CollectivePlan[None]:
    """Plan to exchange one block with every neighbour, each with a datatype of its own."""
    sources, destinations, _ = neighbours(call)
    received = own_parts(read_vector_w(recvbuf, len(sources), readonly=False))
    sent = own_parts(read_vector_w(sendbuf, len(destinations), readonly=True))
    return _exchange(call, "Neighbor_alltoallw", sent, received)


def _exchange(
    call: CollectiveCall, name: str, sent: list[Spec], received: list[Spec]
) -> CollectivePlan[None]:
    sources, destinations, order = neighbours(call)

    def steps(port: NativePort) -> Steps[None]:
        landing, blocks = BlockLanding.of(received), outgoing(sent)
        yield from exchange(
            port,
            [(to, blocks[n]) for n, to in enumerate(destinations) if to != MPI.PROC_NULL],
            [(sources[n], landing.blocks[n]) for n in order if sources[n] != MPI.PROC_NULL],
        )
        for which, part in enumerate(landing.parts or ()):
            if sources[which] != MPI.PROC_NULL:
                part.unpack(landing.blocks[which])

    return CollectivePlan(name, steps)
