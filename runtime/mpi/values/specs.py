"""Message specifications: read as mpi4py reads them, packed and unpacked."""

from __future__ import annotations

import sys
from functools import cache
from struct import calcsize
from typing import Any, TypeAlias

from mpi4py import MPI

from gcm.records import dataclass
from runtime.mpi.values.loop import pack_natively, unpack_natively
from runtime.mpi.values.numbers import count as as_count
from runtime.mpi.values.numbers import counts as as_counts
from runtime.mpi.values.numbers import is_integral
from runtime.mpi.values.tensors import format_of_tensor

Data: TypeAlias = "bytes | bytearray | memoryview"

_PLAIN_CODES = "bBhHiIlLqQfd"

_FOREIGN_ORDER = ">" if sys.byteorder == "little" else "<"

EMPTY = memoryview(bytearray(0))


class Spec:
    """One message in memory: `count` entries of a datatype, `offset` bytes from the beginning.

    `memory` is the whole buffer, or empty for MPI.BOTTOM and None. It `is_plain` if exactly that
    memory is sent.
    """

    __slots__ = ("buffer", "count", "datatype", "is_plain", "memory", "offset")

    def __init__(
        self,
        buffer: Any,
        memory: memoryview,
        count: int,
        datatype: MPI.Datatype,
        offset: int = 0,
        *,
        is_plain: bool = False,
    ) -> None:
        self.buffer = buffer
        self.memory = memory
        self.count = count
        self.datatype = datatype
        self.offset = offset
        self.is_plain = is_plain

    @property
    def nbytes(self) -> int:
        """The number of bytes to send."""
        return len(self.memory) if self.is_plain else self.count * _size(self.datatype)

    def resized(self, count: int) -> Spec:
        """Return another number of entries at the same place."""
        return Spec(self.buffer, self.memory, count, self.datatype, self.offset)

    @property
    def view(self) -> memoryview | None:
        """Its bytes in place, or None if they are not contiguous."""
        if self.is_plain:
            return self.memory
        nbytes = self.nbytes
        if nbytes == 0:
            return EMPTY
        end = self.offset + nbytes
        if end > len(self.memory) or not is_dense(self.datatype):
            return None
        return self.memory[self.offset : end]

    def pack(self) -> memoryview:
        """Return its bytes: its own memory if contiguous, a copy otherwise."""
        view = self.view
        return pack_natively(self.native()) if view is None else view

    def unpack(self, data: Data) -> int:
        """Unpack bytes into it; return how many.

        Raises MPI.Exception with class ERR_TRUNCATE if they are too many.
        """
        if len(data) > self.nbytes:
            raise MPI.Exception(MPI.ERR_TRUNCATE)
        view = self.view
        if view is None:
            unpack_natively(self.native(), data)
        else:
            view[: len(data)] = data
        return len(data)

    def copied(self) -> Spec:
        """Return the same message in memory of its own: native MPI compares types, also packed."""
        if not self.memory:  # it has nothing, or is somewhere else, by addresses
            packed = bytearray(self.pack())
            return Spec(packed, memoryview(packed), len(packed), MPI.BYTE)
        last = self.offset + max(0, (self.count - 1) * self.datatype.extent)
        image = bytearray(self.memory[: last + sum(self.datatype.Get_true_extent())])
        return Spec(image, memoryview(image), self.count, self.datatype, self.offset)

    def native(self) -> tuple[Any, int, MPI.Datatype]:
        """Return the specification for mpi4py."""
        buffer = self.memory[self.offset :] if self.offset else self.buffer
        return buffer, self.count, self.datatype


class Given(list[Any]):
    """A message that need not be read: memory, count and datatype for mpi4py, with their `spec`.

    Calls of C programs have such ones, made once for each address, count and type.
    """

    __slots__ = ("spec",)

    def __init__(self, spec: Spec) -> None:
        super().__init__((spec.buffer, spec.count, spec.datatype))
        self.spec = spec


def read(message: Any, *, readonly: bool, blocks: int = 1) -> Spec:
    """Read the specification of a message to or from one process, or of `blocks` equal parts.

    What it does not say is inferred from the buffer. Raises what mpi4py raises.
    """
    if type(message) is Given:
        return message.spec
    found = plain(message, readonly=readonly) if blocks < 2 else None
    if found is not None:
        return found
    buffer, count, displacement, kind = _simple_parts(message)
    memory, datatype = _memory_and_type(buffer, kind, readonly)
    offset = _offset(displacement, datatype, len(memory))
    if count is not None:
        number = as_count(count)
        if number < 0:
            raise ValueError(f"message: negative count {number}")
        if number > 0 and buffer is None:
            raise ValueError(f"message: buffer is None but count is {number}")
    else:
        number = _inferred(len(memory) - offset, datatype, blocks)
    return Spec(buffer, memory, number, datatype, offset)


def plain(message: Any, *, readonly: bool) -> Spec | None:
    """Return the specification of a plain buffer with contiguous elements.

    Returns None for all others and for errors: this is a fast path for the most frequent messages.
    """
    try:
        view = memoryview(message)
    except (TypeError, ValueError, BufferError):
        return None
    known = _plain_type(view.format)
    if (
        known is None
        or view.obj is not message
        or not (view.nbytes and view.c_contiguous)
        or (view.readonly and not readonly)
    ):
        return None
    return Spec(message, view.cast("B"), view.nbytes // view.itemsize, known, is_plain=True)


@cache
def _plain_type(code: str) -> MPI.Datatype | None:
    """Return the datatype of a format code that memory can be cast from, if it is dense."""
    if len(code) != 1 or code not in _PLAIN_CODES:
        return None
    datatype = _type_of_code(code)
    is_alike = is_dense(datatype) and datatype.size == calcsize(code)
    return datatype if is_alike else None


@dataclass(slots=True)
class Vector:
    """Messages to or from several processes in one memory: `parts` has one for each."""

    parts: list[Spec]

    @property
    def datatype(self) -> MPI.Datatype:
        """The datatype of the first part, which all have unless each has its own."""
        return self.parts[0].datatype


def read_vector(message: Any, blocks: int, *, readonly: bool) -> Vector:
    """Read counts and displacements in entries of one datatype. Raises what mpi4py raises."""
    buffer, counts, displacements, kind = _vector_parts(message)
    memory, datatype = _memory_and_type(buffer, kind, readonly)
    if counts is None:
        entries = _entries(len(memory), datatype)
        numbers = [entries // blocks + (entries % blocks > place) for place in range(blocks)]
    else:
        numbers = _counts(counts, blocks)
    if displacements is None:
        places = [sum(numbers[:place]) for place in range(blocks)]
    elif is_integral(displacements):
        step = as_count(displacements)
        places = [step * place for place in range(blocks)]
    else:
        places = as_counts(displacements, blocks)
    extent = datatype.extent
    return Vector(
        [
            Spec(buffer, memory, number, datatype, place * extent)
            for number, place in zip(numbers, places, strict=True)
        ]
    )


def read_vector_w(message: Any, blocks: int, *, readonly: bool) -> Vector:
    """Read counts, displacements in bytes, and datatypes of their own."""
    counts: Any
    places: Any
    match len(message):
        case 2:
            (buffer, types), counts, places = message, None, None
        case 3:
            buffer, (counts, places), types = message
        case 4:
            buffer, counts, places, types = message
        case _:
            raise ValueError("message: expecting 2 to 4 items")
    if _is_bottom(buffer):
        for given, what in ((counts, "counts"), (places, "displs")):
            if given is None:
                raise ValueError(f"message: BOTTOM requires {what}")
    memory = EMPTY if _is_bottom(buffer) else memory_of(buffer, readonly)
    if counts is None and places is None:
        counts, places = [1] * blocks, [0] * blocks
    if len(types) != blocks:
        raise ValueError(f"expecting {blocks} items, got {len(types)}")
    several = zip(as_counts(counts, blocks), as_counts(places, blocks), types, strict=True)
    return Vector([Spec(buffer, memory, number, _typed(kind), at) for number, at, kind in several])


def memory_of(buffer: Any, readonly: bool) -> memoryview:
    """Return the bytes of a buffer; raises what mpi4py raises if it is none, or not writable."""
    try:
        view = memoryview(buffer)
    except (TypeError, ValueError, BufferError):
        view = EMPTY  # it may be one that only mpi4py can read, or rejects
    if view.f_contiguous and not view.c_contiguous and (readonly or not view.readonly):
        where = MPI.buffer.fromaddress(MPI.Get_address(buffer), view.nbytes, readonly)
    elif view.obj is buffer and view.format == "B" and view.ndim == 1 and not view.readonly:
        return view
    else:
        where = MPI.buffer.frombuffer(buffer, readonly)
    found: Any = where
    return memoryview(found)


def is_dense(datatype: MPI.Datatype) -> bool:
    """Return whether entries of a datatype are sent as they are in memory: predefined, no gaps."""
    handle = datatype.handle
    known = _dense.get(handle)
    if known is None:
        known = datatype.is_predefined and datatype.size == datatype.extent and datatype.lb == 0
        if datatype.is_predefined:  # handles of other types are reused
            _dense[handle] = known
            _sizes[handle] = datatype.size
    return known


_dense: dict[int, bool] = {}
_sizes: dict[int, int] = {}


def _size(datatype: MPI.Datatype) -> int:
    known = _sizes.get(datatype.handle)
    return datatype.size if known is None else known


def _simple_parts(message: Any) -> tuple[Any, Any, Any, Any]:
    """Return buffer, count, displacement and datatype as they were given."""
    if not isinstance(message, list | tuple):
        _check_buffer(message)
        return message, None, None, None
    match len(message):
        case 2:
            buffer, count = message
            if _names_type(count):
                return buffer, None, None, count
            return (buffer, *_pair(count, (list, tuple)), None)
        case 3:
            buffer, count, kind = message
            return (buffer, *_pair(count, (list, tuple)), kind)
        case 4:
            return message[0], message[1], message[2], message[3]
        case _:
            raise ValueError("message: expecting 2 to 4 items")


def _vector_parts(message: Any) -> tuple[Any, Any, Any, Any]:
    if not isinstance(message, list | tuple):
        _check_buffer(message)
        return message, None, None, None
    match len(message):
        case 2:
            buffer, counts = message
            if _names_type(counts):
                return buffer, None, None, counts
            return (buffer, *_pair(counts, tuple), None)
        case 3:
            buffer, counts, kind = message
            return (buffer, *_pair(counts, tuple), kind)
        case 4:
            return message[0], message[1], message[2], message[3]
        case _:
            raise ValueError("message: expecting 2 to 4 items")


def _pair(count: Any, kinds: Any) -> tuple[Any, Any]:
    if isinstance(count, kinds):
        one, other = count
        return one, other
    return count, None


def _check_buffer(message: Any) -> None:
    try:
        memoryview(message)
    except (TypeError, BufferError, ValueError) as error:
        if not hasattr(message, "__dlpack__") and not hasattr(message, "__cuda_array_interface__"):
            if isinstance(error, TypeError):
                raise TypeError("message: expecting buffer or list/tuple") from None
            raise


def _memory_and_type(buffer: Any, kind: Any, readonly: bool) -> tuple[memoryview, MPI.Datatype]:
    if _is_bottom(buffer):
        return EMPTY, _type(kind)
    memory = memory_of(buffer, readonly)
    return memory, _type(kind) if kind is not None else _inferred_type(buffer)


def _inferred_type(buffer: Any) -> MPI.Datatype:
    written = _format_of(buffer)
    if written[0] == _FOREIGN_ORDER:
        raise BufferError(f"format string {written!r} with non-native byte order")
    return _type(written[1:] if written[0] in "@<>" else written)


def _format_of(buffer: Any) -> str:
    """Return the code of the items of a buffer, by whichever protocol it has."""
    try:
        return memoryview(buffer).format
    except TypeError:
        if hasattr(buffer, "__dlpack__"):
            return format_of_tensor(buffer.__dlpack__())
        return str(buffer.__cuda_array_interface__["typestr"])


def _type(kind: Any) -> MPI.Datatype:
    if isinstance(kind, MPI.Datatype):
        return kind
    return _type_of_code(kind)


def _typed(kind: Any) -> MPI.Datatype:
    if isinstance(kind, MPI.Datatype):
        return kind
    raise TypeError(f"Cannot convert {type(kind).__name__} to {MPI.Datatype.__module__}.Datatype")


@cache
def _type_of_code(code: Any) -> MPI.Datatype:
    try:
        return MPI.Datatype.fromcode(code)
    except (KeyError, ValueError, TypeError):
        raise KeyError(f"cannot map {code!r} to MPI datatype") from None


def _offset(displacement: Any, datatype: MPI.Datatype, length: int) -> int:
    places = 0 if displacement is None else as_count(displacement)
    if places < 0:
        raise ValueError(f"message: negative displacement {places}")
    if places == 0:
        return 0
    extent = _extent(datatype, "handle displacement")
    if places * extent > length:
        raise ValueError(
            f"message: displacement {places} out of bounds, "
            f"number of datatype entries {length // extent}"
        )
    return places * extent


def _inferred(length: int, datatype: MPI.Datatype, blocks: int) -> int:
    entries = _entries(length, datatype)
    if blocks >= 2 and entries % blocks:
        raise ValueError(
            f"message: cannot infer count, number of entries {entries} is not a multiple of "
            f"required number of blocks {blocks}"
        )
    return entries // max(blocks, 1)


def _entries(length: int, datatype: MPI.Datatype) -> int:
    if length <= 0:
        return 0
    extent = _extent(datatype, "infer count")
    if length % extent:
        raise ValueError(
            f"message: cannot infer count, buffer length {length} is not a multiple of "
            f"datatype extent {extent} (lb:{datatype.lb}, ub:{datatype.ub})"
        )
    return length // extent


def _extent(datatype: MPI.Datatype, what: str) -> int:
    if datatype == MPI.DATATYPE_NULL:
        raise ValueError(f"message: cannot {what}, datatype is null")
    extent = datatype.extent
    if extent <= 0:
        raise ValueError(
            f"message: cannot {what}, datatype extent {extent} (lb:{datatype.lb}, ub:{datatype.ub})"
        )
    return extent


def _counts(given: Any, blocks: int) -> list[int]:
    return [as_count(given)] * blocks if is_integral(given) else as_counts(given, blocks)


def _names_type(given: Any) -> bool:
    return isinstance(given, MPI.Datatype | str)


def _is_bottom(buffer: Any) -> bool:
    return buffer is None or buffer is MPI.BOTTOM
