"""Plans of collectives on objects: pickles are sent, values are combined in rank order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.collectives.between import (
    allgather_between,
    allreduce_between,
    bcast_blob_between,
    gather_blobs_between,
    reduce_between,
    scatter_blobs_between,
)
from runtime.collectives.brief import collected_blobs, exchanged_blobs
from runtime.collectives.broadcast import bcast_blob
from runtime.collectives.choice import kind_of
from runtime.collectives.neighbours import exchange_blobs
from runtime.collectives.parcels import (
    Blob,
    allgather_blobs,
    alltoall_blobs,
    gather_blobs,
    scatter_blobs,
)
from runtime.collectives.runs import Merge, allreduce_ordered, reduce_ordered, scan_ordered
from runtime.mpi.collectives.guard import GivenUp
from runtime.mpi.collectives.neighbour_plans import neighbours
from runtime.mpi.collectives.plans import root_there
from runtime.mpi.collectives.reductions import Average, number_on_objects
from runtime.mpi.collectives.state import CollectiveCall, CollectivePlan, nothing, planned
from runtime.mpi.values.numbers import integer

if TYPE_CHECKING:
    from runtime.collectives.brief import MemberTree, Say
    from runtime.collectives.port import Data, Steps
    from runtime.mpi.collectives.port import NativePort

Operator = Callable[[Any, Any], Any]


def _loads(blob: Blob) -> Any:
    return MPI.pickle.loads(blob)


def _pickles(objects: Any, count: int) -> list[Blob]:
    """Return the pickles of `count` objects; None stands for `count` times None."""
    items = [None] * count if objects is None else list(objects)
    if len(items) != count:
        raise ValueError(f"expecting {count} items, got {len(items)}")
    return [MPI.pickle.dumps(item) for item in items]


@planned("bcast")
def bcast(call: CollectiveCall, obj: Any, root: int = 0) -> CollectivePlan[Any]:
    """Plan a broadcast."""
    root = integer(root)
    call.check_root(root)
    if root == MPI.PROC_NULL:
        return CollectivePlan("bcast", nothing)
    sending = root == (MPI.ROOT if call.is_inter else call.rank)
    blob = MPI.pickle.dumps(obj) if sending else None
    way = call.chosen("bcast", None)

    def steps(port: NativePort) -> Steps[Any]:
        if call.is_inter:
            there = root_there(root)
            found = yield from bcast_blob_between(call.state.sides, port, blob, there)
            return None if sending else _loads(found)
        segment, plan = way.segment, way.plan
        return _loads((yield from bcast_blob(call.layout, port, blob, root, segment, plan=plan)))

    return CollectivePlan(kind_of("bcast", way.plan), steps, root=call.common(root))


@planned("gather")
def gather(call: CollectiveCall, sendobj: Any, root: int = 0) -> CollectivePlan[Any]:
    """Plan a gather."""
    root = integer(root)
    call.check_root(root)
    if root == MPI.PROC_NULL:
        return CollectivePlan("gather", nothing)
    at_root = call.is_inter and root == MPI.ROOT
    blob: Blob = b"" if at_root else MPI.pickle.dumps(sendobj)

    def steps(port: NativePort) -> Steps[Any]:
        if call.is_inter:
            there = root_there(root)
            found = yield from gather_blobs_between(call.state.sides, port, blob, there)
        else:
            found = yield from gather_blobs(call.layout, port, blob, root)
        return None if found is None else [_loads(one) for one in found]

    return CollectivePlan("gather", steps, root=call.common(root))


@planned("scatter")
def scatter(call: CollectiveCall, sendobj: Any, root: int = 0) -> CollectivePlan[Any]:
    """Plan a scatter."""
    root = integer(root)
    call.check_root(root)
    if root == MPI.PROC_NULL:
        return CollectivePlan("scatter", nothing)
    sending = root == (MPI.ROOT if call.is_inter else call.rank)
    blobs = _pickles(sendobj, call.size) if sending else None

    def steps(port: NativePort) -> Steps[Any]:
        if call.is_inter:
            there = root_there(root)
            found = yield from scatter_blobs_between(call.state.sides, port, blobs, there)
            return None if sending else _loads(found)
        return _loads((yield from scatter_blobs(call.layout, port, blobs, root)))

    return CollectivePlan("scatter", steps, root=call.common(root))


@planned("allgather")
def allgather(call: CollectiveCall, sendobj: Any) -> CollectivePlan[list[Any]]:
    """Plan an allgather."""
    is_brief = call.state.may_be_brief("allgather")
    blob = MPI.pickle.dumps(sendobj)

    def steps(port: NativePort) -> Steps[list[Any]]:
        if call.is_inter:
            found = yield from allgather_between(call.state.sides, port, blob)
        else:
            found = yield from allgather_blobs(call.layout, port, blob)
        return [_loads(one) for one in found]

    def collect(
        tree: MemberTree, say: Say
    ) -> Generator[Sequence[int], list[Data], list[Data] | None]:
        return collected_blobs(tree, say, blob, call.state.most_of_object)

    return _perhaps_brief(CollectivePlan("allgather", steps), collect if is_brief else None)


@planned("alltoall")
def alltoall(call: CollectiveCall, sendobj: Any) -> CollectivePlan[list[Any]]:
    """Plan an alltoall."""
    is_brief = call.state.may_be_brief("alltoall")
    blobs = _pickles(sendobj, call.size)

    def steps(port: NativePort) -> Steps[list[Any]]:
        if call.is_inter:
            there = call.state.sides.theirs
            outgoing = list(zip(there, blobs, strict=True))
            found = yield from exchange_blobs(port, outgoing, there)
        else:
            found = yield from alltoall_blobs(call.layout, port, blobs)
        return [_loads(one) for one in found]

    def exchange(
        tree: MemberTree, say: Say
    ) -> Generator[Sequence[int], list[Data], list[Data] | None]:
        return exchanged_blobs(tree, say, blobs, call.state.most_of_object)

    return _perhaps_brief(CollectivePlan("alltoall", steps), exchange if is_brief else None)


def _perhaps_brief(
    plan: CollectivePlan[list[Any]],
    talk_of: Callable[[MemberTree, Say], Generator[Sequence[int], list[Data], list[Data] | None]]
    | None,
) -> CollectivePlan[list[Any]]:
    """Let a plan try the brief algorithm first, which finds nothing if pickles are too large."""
    if talk_of is None:
        return plan
    found: list[list[Any]] = []

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        blobs = yield from talk_of(tree, say)
        if blobs is not None:
            found.append([_loads(one) for one in blobs])

    plan.brief, plan.found = briefly, found
    return plan


def _merge(op: MPI.Op | Operator) -> Merge:
    """Return how pickled values are combined, from left to right."""
    apply: Operator = MPI.SUM if isinstance(op, Average) else op

    def merge(blobs: Sequence[Blob]) -> Blob:
        try:
            result = _loads(blobs[0])
            for blob in blobs[1:]:
                result = apply(result, _loads(blob))
            return MPI.pickle.dumps(result)
        except Exception as error:
            raise GivenUp(error) from error

    return merge


def _result(op: MPI.Op | Operator, blob: Blob, count: int) -> Any:
    total = _loads(blob)
    return total / count if isinstance(op, Average) else total


@planned("reduce")
def reduce(
    call: CollectiveCall, sendobj: Any, op: MPI.Op | Operator = MPI.SUM, root: int = 0
) -> CollectivePlan[Any]:
    """Plan a reduction to one process."""
    root = integer(root)
    call.check_root(root)
    if root == MPI.PROC_NULL:
        return CollectivePlan("reduce", nothing)
    blob: Blob = b"" if root == MPI.ROOT and call.is_inter else MPI.pickle.dumps(sendobj)

    def steps(port: NativePort) -> Steps[Any]:
        if call.is_inter:
            there = root_there(root)
            found = yield from reduce_between(call.state.sides, port, blob, _merge(op), there)
        else:
            found = yield from reduce_ordered(call.layout, port, blob, _merge(op), root)
        return None if found is None else _result(op, found, call.size)

    return CollectivePlan(
        "reduce", steps, root=call.common(root), on_objects=call.common(number_on_objects(op))
    )


@planned("allreduce")
def allreduce(
    call: CollectiveCall, sendobj: Any, op: MPI.Op | Operator = MPI.SUM
) -> CollectivePlan[Any]:
    """Plan a reduction to all."""
    blob = MPI.pickle.dumps(sendobj)

    def steps(port: NativePort) -> Steps[Any]:
        if call.is_inter:
            found = yield from allreduce_between(call.state.sides, port, blob, _merge(op))
        else:
            found = yield from allreduce_ordered(call.layout, port, blob, _merge(op))
        return _result(op, found, call.size)

    return CollectivePlan("allreduce", steps, on_objects=call.common(number_on_objects(op)))


@planned("scan", exclusive="exscan")
def scan(
    call: CollectiveCall, sendobj: Any, op: MPI.Op | Operator = MPI.SUM, *, exclusive: bool = False
) -> CollectivePlan[Any]:
    """Plan a scan."""
    blob = MPI.pickle.dumps(sendobj)
    covered = call.rank if exclusive else call.rank + 1

    def steps(port: NativePort) -> Steps[Any]:
        found = yield from scan_ordered(call.layout, port, blob, _merge(op), exclusive=exclusive)
        return None if found is None else _result(op, found, covered)

    name = "exscan" if exclusive else "scan"
    return CollectivePlan(name, steps, on_objects=call.common(number_on_objects(op)))


@planned("neighbor_allgather")
def neighbour_allgather(call: CollectiveCall, sendobj: Any) -> CollectivePlan[list[Any]]:
    """Plan to receive one object from every neighbour."""
    destinations = neighbours(call)[1]
    return _exchange(call, "neighbor_allgather", [MPI.pickle.dumps(sendobj)] * len(destinations))


@planned("neighbor_alltoall")
def neighbour_alltoall(call: CollectiveCall, sendobj: Any) -> CollectivePlan[list[Any]]:
    """Plan to exchange one object with every neighbour."""
    destinations = neighbours(call)[1]
    return _exchange(call, "neighbor_alltoall", _pickles(sendobj, len(destinations)))


def _exchange(call: CollectiveCall, name: str, blobs: Sequence[Blob]) -> CollectivePlan[list[Any]]:
    sources, destinations, order = neighbours(call)

    def steps(port: NativePort) -> Steps[list[Any]]:
        outgoing = [
            (to, blob) for to, blob in zip(destinations, blobs, strict=True) if to != MPI.PROC_NULL
        ]
        drain = [slot for slot in order if sources[slot] != MPI.PROC_NULL]
        arrived = yield from exchange_blobs(port, outgoing, [sources[slot] for slot in drain])
        found: dict[int, Any] = {
            slot: _loads(blob) for slot, blob in zip(drain, arrived, strict=True)
        }
        return [found.get(slot) for slot in range(len(sources))]

    return CollectivePlan(name, steps)
