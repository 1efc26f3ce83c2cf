"""Plans that know nothing of clusters: members send by their ranks alone, to compare with.

* `4-ary` barrier: every member waits for four others, tells its parent, and is released by it.
* `binomial` broadcast (`runtime.collectives.broadcast`) and reduction: members double each round.
* `butterfly` barrier and allreduce: in each round members exchange with others twice as far away.
* `rotation` of allgather and alltoall: all messages at once, each member begins with the next one.

Reductions keep the order of ranks. With n members and V bytes a message may cross a link between
sites up to n times, and ⌈log₂ n⌉ latencies may follow one another.
"""

from __future__ import annotations

from runtime.collectives.blocks import Blocks
from runtime.collectives.layout import Layout
from runtime.collectives.neighbours import exchange
from runtime.collectives.port import CollectivePort, ReducingPort, Steps

_CHILDREN = 4


def four_ary_barrier(layout: Layout, port: CollectivePort) -> Steps[None]:
    """Return when every member has come, by a tree."""
    me, nothing = layout.me, memoryview(bytearray())
    first = _CHILDREN * me + 1
    children = range(first, min(first + _CHILDREN, layout.size))
    if children:
        yield [port.receive(child, nothing) for child in children]
    if me:
        parent = (me - 1) // _CHILDREN
        yield [port.send(parent, b""), port.receive(parent, nothing)]
    if children:
        yield [port.send(child, b"") for child in children]


def butterfly_barrier(layout: Layout, port: CollectivePort) -> Steps[None]:
    """Return when every member has come, in rounds."""
    size, me, nothing = layout.size, layout.me, memoryview(bytearray())
    step = 1
    while step < size:
        yield [port.send((me + step) % size, b""), port.receive((me - step) % size, nothing)]
        step *= 2


def binomial_reduce(
    layout: Layout, port: ReducingPort, mine: memoryview, result: memoryview | None, root: int
) -> Steps[None]:
    """Reduce to rank 0, which passes the result on to the root; its `result` may be `mine`."""
    size, me, step = layout.size, layout.me, 1
    total = memoryview(bytearray(mine))
    while step < size and not me & step:
        if me + step < size:
            other = memoryview(bytearray(len(mine)))
            yield (port.receive(me + step, other),)
            port.combine(total, other)
            total = other
        step *= 2
    if me:
        yield (port.send(me & (me - 1), total),)
    elif root:
        yield (port.send(root, total),)
    if result is not None:
        if me:
            yield (port.receive(0, result),)
        else:
            result[:] = total


def butterfly_allreduce(
    layout: Layout, port: ReducingPort, mine: memoryview, result: memoryview
) -> Steps[None]:
    """Reduce to all; `result` may be `mine`. Pairs act as one where n is no power of two."""
    size, me = layout.size, layout.me
    most = 1 << (size.bit_length() - 1)
    pairs = size - most
    total = memoryview(bytearray(mine))
    if me < 2 * pairs and me % 2:
        yield [port.send(me - 1, total), port.receive(me - 1, result)]
        return
    actor = me // 2 if me < 2 * pairs else me - pairs
    if me < 2 * pairs:
        total = yield from _folded_with(port, me, me + 1, total, sends=False)
    step = 1
    while step < most:
        other = actor ^ step
        total = yield from _folded_with(
            port, me, 2 * other if other < pairs else other + pairs, total
        )
        step *= 2
    result[:] = total
    if me < 2 * pairs:
        yield (port.send(me + 1, total),)


def _folded_with(
    port: ReducingPort, me: int, other: int, mine: memoryview, *, sends: bool = True
) -> Steps[memoryview]:
    """Receive another member's values, and return them folded with `mine` in rank order."""
    theirs = memoryview(bytearray(len(mine)))
    sent = [port.send(other, mine)] if sends else []
    yield [*sent, port.receive(other, theirs)]
    left, right = (theirs, mine) if other < me else (mine, theirs)
    port.combine(left, right)
    return right


def rotation_allgather(
    layout: Layout, port: CollectivePort, mine: memoryview | None, into: Blocks
) -> Steps[None]:
    """Bring every member's block to all; None for `mine` means in place."""
    own = into[layout.me]
    if mine is not None:
        own[:] = mine
    ahead, behind = _in_rotation(layout)
    yield from exchange(
        port, [(rank, own) for rank in ahead], [(rank, into[rank]) for rank in behind]
    )


def rotation_alltoall(
    layout: Layout, port: CollectivePort, outgoing: Blocks, incoming: Blocks
) -> Steps[None]:
    """Bring block j of every member i to j as block i."""
    incoming[layout.me][:] = outgoing[layout.me]
    ahead, behind = _in_rotation(layout)
    yield from exchange(
        port,
        [(rank, outgoing[rank]) for rank in ahead],
        [(rank, incoming[rank]) for rank in behind],
    )


def _in_rotation(layout: Layout) -> tuple[list[int], list[int]]:
    """Return the others, the next one first, and the others from the one before."""
    size, me = layout.size, layout.me
    return (
        [(me + step) % size for step in range(1, size)],
        [(me - step) % size for step in range(1, size)],
    )
