"""Plans of collectives that move data, from their arguments, for one group and for two."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.collectives.allgathering import allgather as allgather_blocks
from runtime.collectives.barrier import barrier as meet
from runtime.collectives.between import (
    allgather_between,
    barrier_between,
    bcast_between,
    gather_between,
    scatter_between,
)
from runtime.collectives.brief import (
    collected,
    collected_at,
    exchanged,
    met,
    spread,
    spread_by_root,
)
from runtime.collectives.broadcast import bcast as bcast_data
from runtime.collectives.choice import (
    BUTTERFLY,
    COMPONENTS,
    FOUR_ARY,
    PLANS,
    ROTATION,
    SHORT,
    Choice,
    kind_of,
)
from runtime.collectives.components import JOIN, through
from runtime.collectives.components import barrier as meet_by_components
from runtime.collectives.components import gather as gather_by_components
from runtime.collectives.exchanging import alltoall as alltoall_blocks
from runtime.collectives.gathering import gather as gather_blocks
from runtime.collectives.gathering import scatter as scatter_blocks
from runtime.collectives.neighbours import exchange
from runtime.collectives.ranks_only import (
    butterfly_barrier,
    four_ary_barrier,
    rotation_allgather,
    rotation_alltoall,
)
from runtime.mpi.collectives.memory import (
    BlockLanding,
    copied,
    fitted,
    is_aliased,
    is_in_place,
    outgoing,
    own_parts,
    read,
    read_parts,
)
from runtime.mpi.collectives.state import CollectiveCall, CollectivePlan, nothing, planned
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.specs import EMPTY, Spec, read_vector_w

if TYPE_CHECKING:
    from runtime.collectives.blocks import Blocks
    from runtime.collectives.brief import MemberTree, Say
    from runtime.collectives.layout import Layout
    from runtime.collectives.port import Data, Steps
    from runtime.mpi.collectives.port import NativePort


def barrier(call: CollectiveCall) -> CollectivePlan[None]:
    """Plan a barrier."""
    if call.is_inter:
        return CollectivePlan("Barrier", lambda port: barrier_between(call.state.sides, port))
    way = call.chosen("Barrier", 0).plan
    if way == SHORT:
        return CollectivePlan("Barrier", lambda port: meet(call.layout, port), brief=met)
    algorithm, layout = _BARRIERS.get(way, meet), call.layout_of(way)
    return CollectivePlan(kind_of("Barrier", way), lambda port: algorithm(layout, port))


_BARRIERS: dict[str, Callable[[Layout, NativePort], Steps[None]]] = {
    FOUR_ARY: four_ary_barrier,
    BUTTERFLY: butterfly_barrier,
    COMPONENTS: meet_by_components,
}


def root_there(root: int) -> int | None:
    """Return the root's rank in the other group, None when this process is the root."""
    return None if root == MPI.ROOT else root


@planned("Bcast")
def bcast(call: CollectiveCall, buf: Any, root: int = 0) -> CollectivePlan[None]:
    """Plan a broadcast."""
    root = integer(root)
    if not call.has_root(root):
        return call.refused(MPI.ERR_ROOT)
    if root == MPI.PROC_NULL:
        return CollectivePlan("Bcast", nothing)
    sending = root == (MPI.ROOT if call.is_inter else call.rank)
    spec = read(buf, readonly=sending)
    way = call.chosen("Bcast", spec.nbytes)

    def steps(port: NativePort) -> Steps[None]:
        view = spec.pack() if sending else spec.view
        data = memoryview(bytearray(spec.nbytes)) if view is None else view
        if call.is_inter:
            yield from bcast_between(call.state.sides, port, data, root_there(root))
        elif way.plan == COMPONENTS:
            found = yield from through(port, JOIN, data if sending else b"")
            if len(found) != len(data):
                raise MPI.Exception(MPI.ERR_TRUNCATE)
            if not sending:
                data[:] = found
        else:
            yield from bcast_data(call.layout, port, data, root, way.segment, plan=way.plan)
        if view is None:
            spec.unpack(data)

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        carry = spread_by_root if call.state.survives else spread
        found = yield from carry(tree, say, bytes(spec.pack()) if sending else b"", root)
        if len(found) != spec.nbytes:
            raise MPI.Exception(MPI.ERR_TRUNCATE)
        if not sending:
            spec.unpack(found)

    brief = briefly if way.plan == SHORT else None
    return CollectivePlan(
        kind_of("Bcast", way.plan),
        steps,
        root=call.common(root),
        brief=brief,
        size=call.common_size(spec.nbytes),
        spreads=True,
    )


@planned("Gather", vector="Gatherv")
def gather(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, root: int = 0, *, vector: bool = False
) -> CollectivePlan[None]:
    """Plan a gather."""
    root = integer(root)
    if not call.has_root(root):
        return call.refused(MPI.ERR_ROOT)
    name = "Gatherv" if vector else "Gather"
    if root == MPI.PROC_NULL:
        return CollectivePlan(name, nothing)
    at_root = root == (MPI.ROOT if call.is_inter else call.rank)
    parts = read_parts(recvbuf, call.size, vector=vector, readonly=False) if at_root else None
    sent = None
    if not at_root or (not call.is_inter and not is_in_place(sendbuf)):
        sent = read(sendbuf, readonly=True)
    if sent and parts and not call.is_inter and is_aliased(sent, parts[root]):
        return call.refused(MPI.ERR_BUFFER)
    block_size = None if vector else _size_of_block(call, sent, parts)
    way = way_of(call, name, block_size).plan

    def steps(port: NativePort) -> Steps[None]:
        mine = None if sent is None else sent.pack()
        landing = None if parts is None else BlockLanding.of(parts)
        into = None if landing is None else landing.blocks
        if call.is_inter:
            data = EMPTY if mine is None else mine
            there = root_there(root)
            yield from gather_between(call.state.sides, port, data, into, there)
        else:
            size = None if vector or mine is None else len(mine)
            own = mine if mine is None or into is None else fitted(mine, into.sizes[root])
            layout = call.layout_of(way)
            fits = yield from (
                gather_by_components(layout, port, own, into, root)
                if way == COMPONENTS
                else gather_blocks(layout, port, own, into, root, size=size)
            )
            if not fits or (mine and own and len(mine) > len(own)):
                raise MPI.Exception(MPI.ERR_TRUNCATE)
        if landing is not None:
            landing.unpack(but=call.rank if mine is None and not call.is_inter else -1)

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        own = sent or parts[root]  # type: ignore[index] # it is in place at the root only
        found = yield from collected_at(tree, say, bytes(own.pack()), root)
        for which, data in found.items():
            if parts is not None and (which != root or sent is not None):
                parts[which].unpack(data)

    return CollectivePlan(
        kind_of(name, way),
        steps,
        root=call.common(root),
        brief=briefly if way == SHORT else None,
        size=block_size,
    )


@planned("Scatter", vector="Scatterv")
def scatter(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, root: int = 0, *, vector: bool = False
) -> CollectivePlan[None]:
    """Plan a scatter."""
    root = integer(root)
    if not call.has_root(root):
        return call.refused(MPI.ERR_ROOT)
    name = "Scatterv" if vector else "Scatter"
    if root == MPI.PROC_NULL:
        return CollectivePlan(name, nothing)
    at_root = root == (MPI.ROOT if call.is_inter else call.rank)
    parts = read_parts(sendbuf, call.size, vector=vector, readonly=True) if at_root else None
    received = None
    if not at_root or (not call.is_inter and not is_in_place(recvbuf)):
        received = read(recvbuf, readonly=False)
    if received and parts and not call.is_inter and is_aliased(parts[root], received):
        return call.refused(MPI.ERR_BUFFER)
    block_size = None if vector else _size_of_block(call, received, parts)
    way = way_of(call, name, block_size).plan

    def steps(port: NativePort) -> Steps[None]:
        blocks = None if parts is None else outgoing(parts)
        view = EMPTY if received is None else received.view
        room = memoryview(bytearray(received.nbytes)) if received and view is None else view
        mine = None if received is None else room
        if call.is_inter:
            data = EMPTY if mine is None else mine
            there = root_there(root)
            yield from scatter_between(call.state.sides, port, blocks, data, there)
        else:
            size = None if vector or mine is None else len(mine)
            layout = call.layout_of(way)
            yield from scatter_blocks(layout, port, blocks, mine, root, size=size)
        if received is not None and view is None and room is not None:
            received.unpack(room)

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        mine = b"" if parts is None else b"".join([part.pack() for part in parts])
        found = yield from spread(tree, say, mine, root)
        if received is not None:
            each = len(found) // call.size
            received.unpack(found[call.rank * each : (call.rank + 1) * each])

    return CollectivePlan(
        kind_of(name, way),
        steps,
        root=call.common(root),
        brief=briefly if way == SHORT else None,
        size=block_size,
        spreads=True,
    )


def _size_of_block(call: CollectiveCall, own: Spec | None, parts: list[Spec] | None) -> int | None:
    """Return the bytes of this process's own block, which has to be as large at all members."""
    if call.is_inter:
        return None
    block = own if own is not None else parts[call.rank] if parts else None
    return None if block is None else block.nbytes


@planned("Allgather", vector="Allgatherv")
def allgather(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, *, vector: bool = False
) -> CollectivePlan[None]:
    """Plan an allgather."""
    parts = read_parts(recvbuf, call.size, vector=vector, readonly=False)
    in_place = not call.is_inter and is_in_place(sendbuf)
    sent = None if in_place else read(sendbuf, readonly=True)
    if sent and not call.is_inter and is_aliased(sent, parts[call.rank]):
        return call.refused(MPI.ERR_BUFFER)
    name = "Allgatherv" if vector else "Allgather"
    size = None if vector else _size_of_block(call, sent, parts)
    way = way_of(call, name, size)

    def steps(port: NativePort) -> Steps[None]:
        landing = BlockLanding.of(parts)
        mine = None if sent is None else sent.pack()
        if call.is_inter:
            data = EMPTY if mine is None else mine
            blobs = yield from allgather_between(call.state.sides, port, data)
            for part, blob in zip(parts, blobs, strict=True):
                part.unpack(blob)
            return
        if mine is None and landing.parts is not None:
            mine = parts[call.rank].pack()
        own = None if mine is None else fitted(mine, landing.blocks.sizes[call.rank])
        if way.plan == COMPONENTS:
            block = landing.blocks[call.rank] if own is None else own
            _fill(landing.blocks, (yield from through(port, JOIN, block)))
        elif way.plan == ROTATION:
            yield from rotation_allgather(call.layout, port, own, landing.blocks)
        else:
            yield from allgather_blocks(call.layout, port, own, landing.blocks, way.segment)
        if mine and own is not None and len(mine) > len(own):
            raise MPI.Exception(MPI.ERR_TRUNCATE)  # not earlier: the others wait for this block
        landing.unpack(but=call.rank if in_place else -1)

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        block = (parts[call.rank] if sent is None else sent).pack()
        for which, data in enumerate((yield from collected(tree, say, bytes(block)))):
            if which != call.rank or sent is not None:
                parts[which].unpack(data)

    brief = briefly if way.plan == SHORT else None
    return CollectivePlan(kind_of(name, way.plan), steps, brief=brief, size=size)


@planned("Alltoall", vector="Alltoallv")
def alltoall(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, *, vector: bool = False
) -> CollectivePlan[None]:
    """Plan an alltoall."""
    parts = read_parts(recvbuf, call.size, vector=vector, readonly=False)
    in_place = not call.is_inter and is_in_place(sendbuf)
    sent = None if in_place else read_parts(sendbuf, call.size, vector=vector, readonly=True)
    if sent and not vector and is_aliased(sent[0], parts[0]):
        return call.refused(MPI.ERR_BUFFER)
    size = None if vector else parts[0].nbytes
    return _alltoall(call, "Alltoallv" if vector else "Alltoall", sent, parts, size)


@planned("Alltoallw")
def alltoallw(call: CollectiveCall, sendbuf: Any, recvbuf: Any) -> CollectivePlan[None]:
    """Plan an alltoall with a datatype for every block."""
    parts = own_parts(read_vector_w(recvbuf, call.size, readonly=False))
    in_place = not call.is_inter and is_in_place(sendbuf)
    sent = None if in_place else own_parts(read_vector_w(sendbuf, call.size, readonly=True))
    return _alltoall(call, "Alltoallw", sent, parts, None)


def _alltoall(
    call: CollectiveCall, name: str, sent: list[Spec] | None, parts: list[Spec], size: int | None
) -> CollectivePlan[None]:
    common = call.common_size(size)
    way = way_of(call, name, common).plan

    def steps(port: NativePort) -> Steps[None]:
        landing = BlockLanding.of(parts)
        blocks = copied(parts) if sent is None else outgoing(sent)
        if call.is_inter:
            there = call.state.sides.theirs
            yield from exchange(port, _by_rank(blocks, there), _by_rank(landing.blocks, there))
        elif way == ROTATION:
            yield from rotation_alltoall(call.layout, port, blocks, landing.blocks)
        else:
            yield from alltoall_blocks(call.layout, port, blocks, landing.blocks, size)
        landing.unpack()

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        blocks = [part.pack() for part in (parts if sent is None else sent)]
        if any(len(block) != size for block in blocks):
            raise MPI.Exception(MPI.ERR_TRUNCATE)
        landing = BlockLanding.of(parts)
        landing.blocks.fill(memoryview((yield from exchanged(tree, say, b"".join(blocks)))))
        landing.unpack()

    brief = briefly if way == SHORT else None
    return CollectivePlan(kind_of(name, way), steps, brief=brief, size=common)


def way_of(
    call: CollectiveCall, name: str, size: int | None, *, may_be_short: bool = True
) -> Choice:
    """Return the plan of an operation; one without a name if there is nothing to choose."""
    if name not in PLANS or size is None:
        return Choice("")
    return call.chosen(name, size, may_be_short=may_be_short)


def _fill(blocks: Blocks, joined: memoryview) -> None:
    """Distribute what components have joined."""
    if len(joined) != blocks.total:
        raise MPI.Exception(MPI.ERR_TRUNCATE)
    blocks.fill(joined)


def _by_rank(blocks: Blocks, ranks: tuple[int, ...]) -> list[tuple[int, memoryview]]:
    return [(rank, blocks[which]) for which, rank in enumerate(ranks)]
