"""Plans of reductions, from their arguments, for one group and for two."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from gcm.records import dataclass
from runtime.collectives.between import (
    allreduce_between,
    reduce_between,
    reduce_scatter_between,
)
from runtime.collectives.blocks import Blocks
from runtime.collectives.brief import collected, combined, converged
from runtime.collectives.choice import (
    BINOMIAL,
    BUTTERFLY,
    COMPONENTS,
    FLAT,
    SHORT,
    SPREAD,
    kind_of,
)
from runtime.collectives.components import folding, through
from runtime.collectives.ranks_only import binomial_reduce, butterfly_allreduce
from runtime.collectives.reducing import allreduce as allreduce_data
from runtime.collectives.reducing import reduce as reduce_data
from runtime.collectives.reducing import reduce_scatter as reduce_scatter_data
from runtime.collectives.runs import allreduce_ordered, reduce_ordered, scan_ordered
from runtime.mpi.collectives.memory import (
    elements,
    is_aliased,
    is_in_place,
    put_elements,
    read,
)
from runtime.mpi.collectives.plans import root_there, way_of
from runtime.mpi.collectives.reductions import Average, Averaging, ElementReduction, reduction
from runtime.mpi.collectives.state import CollectiveCall, CollectivePlan, nothing, planned
from runtime.mpi.errors import report
from runtime.mpi.values.faults import check_kind
from runtime.mpi.values.numbers import counts as read_counts
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.specs import Spec

if TYPE_CHECKING:
    from runtime.collectives.brief import MemberTree, Say
    from runtime.collectives.port import Data, Steps
    from runtime.mpi.collectives.port import NativePort


@dataclass(frozen=True, slots=True)
class Work:
    """An operation on data of one datatype: what is reduced, and how results are written back."""

    reduction: ElementReduction
    width: int
    """Bytes that are reduced for each element."""
    averaging: Averaging | None = None

    def taken(self, spec: Spec) -> memoryview:
        """Return what this process contributes; it may be the program's memory."""
        values = elements(spec)
        return values if self.averaging is None else self.averaging.encoded(values)

    def room(self, spec: Spec) -> memoryview:
        """Return where to compute the result: in the program's memory if possible."""
        if self.averaging is None and spec.view is not None:
            return elements(spec)
        return memoryview(bytearray(spec.count * self.width))

    def give(self, spec: Spec, result: memoryview, members: int) -> None:
        """Copy a result, computed in `room` or elsewhere, to the program's memory."""
        if self.averaging is not None:
            result = self.averaging.decoded(result, members)
        put_elements(spec, result)

    def keeps_order(self, call: CollectiveCall) -> bool:
        """Return whether values must be folded in rank order: ranks are not in index order."""
        return not self.reduction.commutative and not call.layout.in_order

    def size(self, spec: Spec) -> int:
        """Return the number of bytes to reduce."""
        return spec.count * self.width

    @property
    def rule(self) -> str:
        """How the components of the machine reduce it; nothing if they cannot."""
        if self.averaging is not None or not self.reduction.is_predefined:
            return ""
        return _rule(self.reduction)

    def may_be_short(self, call: CollectiveCall, name: str) -> bool:
        """Return whether the brief algorithm can be used for little data; alike at all members."""
        return (
            self.reduction.is_predefined
            and self.averaging is None
            and (name in ("Scan", "Exscan") or not self.keeps_order(call))
        )


_FOLDS = {MPI.SUM.handle: "sum", MPI.PROD.handle: "prod", MPI.MAX.handle: "max",
          MPI.MIN.handle: "min"}  # fmt: skip


@cache
def _rule(reduction: ElementReduction) -> str:
    try:
        return folding(_FOLDS.get(reduction.op.handle, ""), reduction.datatype.tocode())
    except ValueError:
        return ""  # of pairs of a value and an index


def work_on(call: CollectiveCall, op: MPI.Op, spec: Spec) -> Work:
    """Return the operation on this data; raises MPI's errors."""
    check_kind(op, MPI.Op, "op")
    if isinstance(op, Average):
        members = call.members.size + (call.size if call.is_inter else 0)
        averaging = Averaging(spec.datatype, members)
        return Work(averaging.reduction, averaging.width, averaging)
    try:
        found = reduction(op, spec.datatype)
    except MPI.Exception as error:
        report(call.comm, error)
    return _predefined(found) if found.is_predefined else Work(found, found.grain)


@cache
def _predefined(found: ElementReduction) -> Work:
    return Work(found, found.grain)


def _check_alike(sent: Spec, received: Spec) -> None:
    if sent.datatype != received.datatype:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if sent.count != received.count:
        raise ValueError(f"mismatch in send count {sent.count} and receive count {received.count}")


def _send_and_receive(call: CollectiveCall, sendbuf: Any, recvbuf: Any) -> tuple[Spec, Spec]:
    """Read the arguments of a reduction with its result at all members."""
    received = read(recvbuf, readonly=False, blocks=0)
    if not call.is_inter and is_in_place(sendbuf):
        return received, received
    sent = read(sendbuf, readonly=True, blocks=0)
    _check_alike(sent, received)
    return sent, received


def _sent_to_root(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, *, at_root: bool
) -> tuple[Spec, Spec | None]:
    """Read the arguments of a reduction with its result at the root."""
    received = read(recvbuf, readonly=False, blocks=0) if at_root else None
    if received is not None and (call.is_inter or is_in_place(sendbuf)):
        return received, received
    sent = read(sendbuf, readonly=True, blocks=0)
    if received is not None:
        _check_alike(sent, received)
    return sent, received


@planned("Reduce")
def reduce(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, root: int = 0
) -> CollectivePlan[None]:
    """Plan a reduction to one process."""
    root = integer(root)
    if not call.has_root(root):
        return call.refused(MPI.ERR_ROOT)
    if root == MPI.PROC_NULL:
        return CollectivePlan("Reduce", nothing)
    at_root = root == (MPI.ROOT if call.is_inter else call.rank)
    sent, received = _sent_to_root(call, sendbuf, recvbuf, at_root=at_root)
    if received is not None and is_aliased(sent, received):
        return call.refused(MPI.ERR_BUFFER)
    work = work_on(call, op, sent)
    there = root_there(root)
    size = call.common_size(work.size(sent))
    way = way_of(call, "Reduce", size, may_be_short=work.may_be_short(call, "Reduce"))

    def steps(port: NativePort) -> Steps[None]:
        mine = memoryview(b"") if call.is_inter and at_root else work.taken(sent)
        result: Any = None
        if call.is_inter:
            sides = call.state.sides
            result = yield from reduce_between(sides, port, mine, work.reduction.merge, there)
        elif way.plan == COMPONENTS and work.rule:
            result = yield from through(port, work.rule, mine, root)
        elif work.keeps_order(call) and way.plan not in (FLAT, BINOMIAL):
            result = yield from reduce_ordered(call.layout, port, mine, work.reduction.merge, root)
        else:
            if received is not None:
                result = mine if sent is received else work.room(received)
            if way.plan == BINOMIAL:
                yield from binomial_reduce(call.layout, port, mine, result, root)
            else:
                yield from reduce_data(
                    call.layout_of(way.plan),
                    port,
                    mine,
                    result,
                    root,
                    grain=work.width,
                    segment=way.segment,
                )
        if received is not None:
            work.give(received, memoryview(result), call.size)

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        mine, merge = bytes(work.taken(sent)), work.reduction.merge
        result = yield from converged(tree, say, mine, merge, root)
        if received is not None:
            work.give(received, memoryview(result), call.size)

    return CollectivePlan(
        kind_of("Reduce", way.plan),
        steps,
        work.reduction,
        call.common(root),
        brief=briefly if way.plan == SHORT else None,
        size=size,
    )


@planned("Allreduce")
def allreduce(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM
) -> CollectivePlan[None]:
    """Plan a reduction to all."""
    sent, received = _send_and_receive(call, sendbuf, recvbuf)
    if is_aliased(sent, received):
        return call.refused(MPI.ERR_BUFFER)
    work = work_on(call, op, sent)
    may_be_short = work.may_be_short(call, "Allreduce")
    way = call.chosen("Allreduce", work.size(sent), may_be_short=may_be_short)

    def steps(port: NativePort) -> Steps[None]:
        mine = work.taken(sent)
        result: Any
        if call.is_inter:
            sides = call.state.sides
            result = yield from allreduce_between(sides, port, mine, work.reduction.merge)
        elif way.plan == COMPONENTS and work.rule:
            result = yield from through(port, work.rule, mine)
        elif work.keeps_order(call) and way.plan not in (FLAT, BUTTERFLY):
            merge = work.reduction.merge
            result = yield from allreduce_ordered(call.layout, port, mine, merge)
        else:
            result = mine if sent is received else work.room(received)
            if way.plan == BUTTERFLY:
                yield from butterfly_allreduce(call.layout, port, mine, result)
            else:
                yield from allreduce_data(
                    call.layout_of(way.plan),
                    port,
                    mine,
                    result,
                    grain=work.width,
                    segment=way.segment,
                    is_spread=way.plan == SPREAD,
                )
        work.give(received, memoryview(result), call.size)

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        result = yield from combined(tree, say, bytes(work.taken(sent)), work.reduction.merge)
        work.give(received, memoryview(result), call.size)

    brief = briefly if way.plan == SHORT else None
    size = call.common_size(work.size(sent))
    name = kind_of("Allreduce", way.plan)
    return CollectivePlan(name, steps, work.reduction, brief=brief, size=size)


@planned("Reduce_scatter_block")
def reduce_scatter_block(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM
) -> CollectivePlan[None]:
    """Plan a reduction of which every member gets an equal block."""
    size = call.members.size
    if not call.is_inter and is_in_place(sendbuf):
        received = read(recvbuf, readonly=False, blocks=size)
        sent = received.resized(received.count * size)
    else:
        received = read(recvbuf, readonly=False, blocks=0)
        block = read(sendbuf, readonly=True, blocks=size)
        _check_alike(block, received)
        if is_aliased(block, received):
            return call.refused(MPI.ERR_BUFFER)
        sent = block.resized(block.count * size)
    counts = [received.count] * size
    return _reduce_scatter(
        call, "Reduce_scatter_block", work_on(call, op, sent), (sent, received), counts
    )


@planned("Reduce_scatter")
def reduce_scatter(
    call: CollectiveCall, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: MPI.Op = MPI.SUM
) -> CollectivePlan[None]:
    """Plan a reduction of which every member gets a block of its own size."""
    received = read(recvbuf, readonly=False, blocks=0)
    in_place = not call.is_inter and is_in_place(sendbuf)
    sent = received if in_place else read(sendbuf, readonly=True, blocks=0)
    if recvcounts is None and not call.is_inter and not in_place:
        counts = call.comm.allgather(received.count)
    else:
        counts = read_counts(recvcounts, call.members.size)
    total, rank = sum(counts), call.rank
    if in_place:
        if received.count != total:
            raise ValueError(f"mismatch in receive count {received.count} and sum(counts) {total}")
        received = received.resized(counts[rank])
    else:
        if sent.datatype != received.datatype:
            raise ValueError("mismatch in send and receive MPI datatypes")
        if sent.count != total:
            raise ValueError(f"mismatch in send count {sent.count} and sum(counts) {total}")
        if received.count != counts[rank]:
            raise ValueError(
                f"mismatch in receive count {received.count} and counts[{rank}] {counts[rank]}"
            )
        if is_aliased(sent, received):
            return call.refused(MPI.ERR_BUFFER)
    return _reduce_scatter(
        call, "Reduce_scatter", work_on(call, op, sent), (sent, received), counts
    )


def _reduce_scatter(
    call: CollectiveCall, name: str, work: Work, specs: tuple[Spec, Spec], counts: Sequence[int]
) -> CollectivePlan[None]:
    sent, received = specs
    sizes = [count * work.width for count in counts]

    def steps(port: NativePort) -> Steps[None]:
        mine = work.taken(sent)
        room = memoryview(bytearray(sizes[call.rank]))
        merge = work.reduction.merge
        if call.is_inter:
            yield from reduce_scatter_between(
                call.state.sides, port, mine, merge, sizes=sizes, mine=room
            )
        elif work.keeps_order(call):
            whole = yield from allreduce_ordered(call.layout, port, mine, merge)
            room = Blocks.in_a_row(sizes, memoryview(whole))[call.rank]
        else:
            blocks = Blocks.in_a_row(sizes, mine)
            yield from reduce_scatter_data(call.layout, port, blocks, room, grain=work.width)
        work.give(received, room, call.size)

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        whole = yield from combined(tree, say, bytes(work.taken(sent)), work.reduction.merge)
        work.give(received, Blocks.in_a_row(sizes, memoryview(whole))[call.rank], call.size)

    size = call.common_size(work.size(sent))
    way = way_of(call, name, size, may_be_short=work.may_be_short(call, name)).plan
    brief = briefly if way == SHORT else None
    return CollectivePlan(name, steps, work.reduction, brief=brief, size=size)


@planned("Scan", exclusive="Exscan")
def scan(
    call: CollectiveCall,
    sendbuf: Any,
    recvbuf: Any,
    op: MPI.Op = MPI.SUM,
    *,
    exclusive: bool = False,
) -> CollectivePlan[None]:
    """Plan a scan."""
    received = read(recvbuf, readonly=False, blocks=0)
    sent = received
    if not is_in_place(sendbuf):
        sent = read(sendbuf, readonly=True, blocks=0)
        _check_alike(sent, received)
        if is_aliased(sent, received):
            return call.refused(MPI.ERR_BUFFER)
    work = work_on(call, op, sent)
    covered = call.rank if exclusive else call.rank + 1

    def steps(port: NativePort) -> Steps[None]:
        mine = work.taken(sent)
        result = yield from scan_ordered(
            call.layout, port, mine, work.reduction.merge, exclusive=exclusive
        )
        if result is not None:
            work.give(received, memoryview(result), covered)

    def briefly(tree: MemberTree, say: Say) -> Generator[Sequence[int], list[Data], None]:
        values = yield from collected(tree, say, bytes(work.taken(sent)))
        if covered:
            work.give(received, memoryview(work.reduction.merge(values[:covered])), covered)

    name, size = "Exscan" if exclusive else "Scan", call.common_size(work.size(sent))
    way = way_of(call, name, size, may_be_short=work.may_be_short(call, name)).plan
    brief = briefly if way == SHORT else None
    return CollectivePlan(name, steps, work.reduction, brief=brief, size=size)
