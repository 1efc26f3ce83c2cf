"""The program's memory as blocks of bytes: in place where it is contiguous, copied otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from gcm.records import dataclass
from runtime.collectives.blocks import Blocks
from runtime.mpi.values import specs
from runtime.mpi.values.specs import Spec, Vector, is_dense


def is_in_place(message: Any) -> bool:
    """Return whether a buffer argument means in place; None does so too, as in mpi4py."""
    return message is None or message is MPI.IN_PLACE


def read(message: Any, *, readonly: bool, blocks: int = 1) -> Spec:
    """Read a message specification; one of a device array may lack its datatype."""
    found = specs.plain(message, readonly=readonly) if blocks < 2 else None
    return found or specs.read(_typed(message), readonly=readonly, blocks=blocks)


def read_vector(message: Any, blocks: int, *, readonly: bool) -> Vector:
    """Read a specification for several processes; one of a device array may lack its datatype."""
    return specs.read_vector(_typed(message), blocks, readonly=readonly)


def read_parts(message: Any, count: int, *, vector: bool, readonly: bool) -> list[Spec]:
    """Read a specification for each of `count` processes, of a vector or of equal blocks."""
    if vector:
        return read_vector(message, count, readonly=readonly).parts
    return parts_of(read(message, readonly=readonly, blocks=count), count)


def _typed(message: Any) -> Any:
    """Name the datatype of an array that has no Python buffer, if the message does not."""
    parts = list(message) if isinstance(message, list | tuple) else [message]
    named = len(parts) > 1 and isinstance(parts[-1], MPI.Datatype | str)
    if named or len(parts) > 2 or not parts:
        return message
    array = parts[0]
    if not (hasattr(array, "__cuda_array_interface__") or hasattr(array, "__dlpack__")):
        return message
    try:
        memoryview(array)
    except TypeError:
        return [*parts, _kind_of(array)]
    return message


def _kind_of(array: Any) -> MPI.Datatype:
    """Ask mpi4py for the datatype of an array: a reduction tells whether it is another one's."""
    for code in "bhilqBHILQfdgFDG?":
        kind = MPI.Datatype.fromcode(code)
        try:
            MPI.SUM.Reduce_local([array, 0], [bytearray(), 0, kind])
        except ValueError:
            continue
        except MPI.Exception:
            pass  # they are alike, and cannot be added
        return kind
    raise KeyError(f"cannot map the elements of {array!r} to MPI datatype")


def parts_of(spec: Spec | Vector, count: int) -> list[Spec]:
    """Return one specification for each of `count` processes; a plain one means equal blocks."""
    if isinstance(spec, Vector):
        return spec.parts
    stride = spec.count * spec.datatype.extent
    return [
        Spec(spec.buffer, spec.memory, spec.count, spec.datatype, spec.offset + which * stride)
        for which in range(count)
    ]


def own_parts(vector: Vector) -> list[Spec]:
    """Return the parts of a vector with displacements in bytes, possibly from MPI.BOTTOM."""
    return [_grounded(part) for part in vector.parts]


def _grounded(part: Spec) -> Spec:
    """Return a part at an absolute address as one relative to the memory there."""
    if not part.offset or not (part.buffer is None or part.buffer is MPI.BOTTOM):
        return part
    size = part.count * part.datatype.extent
    found: Any = MPI.buffer.fromaddress(part.offset, size)
    memory = memoryview(found)
    return Spec(memory, memory, part.count, part.datatype)


def _lie_in_memory(parts: Sequence[Spec]) -> bool:
    """Return whether all blocks are contiguous in one memory."""
    memory = parts[0].memory if parts else None
    return memory is not None and all(
        not part.nbytes
        or (
            part.memory is memory
            and is_dense(part.datatype)
            and 0 <= part.offset <= len(memory) - part.nbytes
        )
        for part in parts
    )


def outgoing(parts: Sequence[Spec]) -> Blocks:
    """Return the blocks to send."""
    sizes = [part.nbytes for part in parts]
    if _lie_in_memory(parts):
        return Blocks(parts[0].memory, [part.offset for part in parts], sizes)
    return Blocks.in_a_row(sizes, memoryview(b"".join(part.pack() for part in parts)))


def copied(parts: Sequence[Spec]) -> Blocks:
    """Return a copy of the blocks, for calls in place."""
    sizes = [part.nbytes for part in parts]
    return Blocks.in_a_row(sizes, memoryview(b"".join(part.pack() for part in parts)))


@dataclass(frozen=True, slots=True)
class BlockLanding:
    """Where blocks are received: the program's memory, or a buffer to be unpacked into it."""

    blocks: Blocks
    parts: Sequence[Spec] | None

    @classmethod
    def of(cls, parts: Sequence[Spec]) -> BlockLanding:
        """Return where the blocks that the specifications describe can be received."""
        sizes = [part.nbytes for part in parts]
        if _lie_in_memory(parts):
            return cls(Blocks(parts[0].memory, [part.offset for part in parts], sizes), None)
        return cls(Blocks.in_a_row(sizes), parts)

    def unpack(self, but: int = -1) -> None:
        """Put what was received where it belongs, except one block that is there already."""
        for which, part in enumerate(self.parts or ()):
            if which != but:
                part.unpack(self.blocks[which])


def fitted(block: memoryview, size: int) -> memoryview:
    """Return a block with the size of its room: truncated, or padded with zeros."""
    if len(block) >= size:
        return block[:size]
    return memoryview(bytes(block) + bytes(size - len(block)))


def is_aliased(sent: Spec, received: Spec) -> bool:
    """Return whether send and receive buffers begin at the same place; MPI forbids that."""
    if sent is received or not (len(sent.memory) and len(received.memory)):
        return False  # in place, or at absolute addresses with MPI.BOTTOM
    return _address(sent) == _address(received) and bool(sent.nbytes and received.nbytes)


def _address(spec: Spec) -> int:
    return MPI.Get_address(spec.memory) + spec.offset


def elements(spec: Spec) -> memoryview:
    """Return the contiguous elements of a reduction, including the gaps of their datatype.

    It is the program's memory where the datatype has no gaps, a copy otherwise.
    """
    if spec.is_plain:
        return spec.memory
    size = spec.count * spec.datatype.extent
    end = spec.offset + size
    if is_dense(spec.datatype) and end <= len(spec.memory):
        return spec.memory[spec.offset : end]
    room = memoryview(bytearray(size))
    Spec(room, room, spec.count, spec.datatype).unpack(spec.pack())
    return room


def put_elements(spec: Spec, values: memoryview) -> None:
    """Put the result of a reduction where it belongs, unless it was computed there."""
    if values.obj is spec.memory.obj and MPI.Get_address(values) == _address(spec):
        return
    view = spec.view
    if view is None:
        spec.unpack(Spec(values, values, spec.count, spec.datatype).pack())
    elif len(view) == len(values):
        view[:] = values
    else:
        spec.unpack(values)
