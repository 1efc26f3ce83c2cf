"""Reduction operations on memory: MPI's own, user-defined ones, and `MPI.AVG`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.values.raised_errors import errors_raised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runtime.collectives.parcels import Blob
else:
    np = LazyModule("numpy")  # imported for means of buffers only

Operator: TypeAlias = "Callable[[Any, Any], Any]"

_OPERATIONS = {
    getattr(MPI, name).handle: name
    for name in (
        *("SUM", "PROD", "MAX", "MIN", "LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR"),
        *("MAXLOC", "MINLOC", "REPLACE", "NO_OP"),
    )
}
_KINDS = {"f": "float", "c": "complex", "i": "int", "u": "uint"}
_TYPES = ("", *(f"{kind}{bits}" for kind in _KINDS.values() for bits in (16, 32, 64, 128)))

REDUCTIONS = (
    *("", *(f"{op} {kind}".strip() for op in _OPERATIONS.values() for kind in _TYPES)),
    "AVG",
)
"""The operations of MPI on its types, by number: alike in each MPI, unlike the handles. Those on
objects have no type.
"""

_ON_OBJECTS = {handle: REDUCTIONS.index(name) for handle, name in _OPERATIONS.items()}


def operation_of(op: MPI.Op) -> str:
    """Return the name of an operation of MPI; "" for others."""
    return _OPERATIONS.get(op.handle, "")


def number_on_objects(op: MPI.Op | Operator) -> int:
    """Return the number of an operation on objects; 0 for one of the program.

    >>> REDUCTIONS[number_on_objects(MPI.MAX)], number_on_objects(max)
    ('MAX', 0)
    """
    if isinstance(op, Average):
        return len(REDUCTIONS) - 1
    return _ON_OBJECTS.get(op.handle, 0) if isinstance(op, MPI.Op) else 0


@cache
def element_type(handle: int) -> str:
    """Return the type of the elements of a datatype of MPI; "" for bytes and for pairs.

    >>> element_type(MPI.DOUBLE.handle), element_type(MPI.INT64_T.handle)
    ('float64', 'int64')
    >>> element_type(MPI.BYTE.handle), element_type(MPI.DOUBLE_INT.handle)
    ('', '')
    """
    datatype = MPI.Datatype.fromhandle(handle)
    kind = f"{_KINDS.get(datatype.typestr[:1], '-')}{8 * datatype.size}"
    return kind if kind in _TYPES else ""


class Average(MPI.Op):
    """The arithmetic mean of the values of all members, or of those that a scan covers.

    Floating-point and complex values are added as `MPI.SUM` adds them, and the sum is divided once.
    Integers are averaged exactly, whatever their sum: no intermediate result can overflow, and the
    mean is rounded towards zero, as C divides. Objects are added and divided as Python does.

    The mean of means is not the mean, so this cannot be an operation of MPI itself: it works in the
    collectives of communicators made by this package, not in those of plain mpi4py, nor in
    `Reduce_local`.
    """

    def __new__(cls) -> Self:
        """Return the operation."""
        return super().__new__(cls)

    def __call__(self, x: Any, y: Any) -> Any:
        """Return the mean of two values."""
        return (x + y) / 2

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Support pickling."""
        return _average, ()

    def __repr__(self) -> str:
        return "MPI.AVG"


def _average() -> Average:
    return AVG


AVG = Average()


class ElementReduction:
    """An operation on contiguous elements of one datatype.

    `grain` are the bytes from one element to the next; it `is_predefined` if operation and datatype
    are MPI's own, and has a `number` in `REDUCTIONS` then.
    """

    def __init__(
        self,
        op: MPI.Op,
        datatype: MPI.Datatype,
        grain: int,
        commutative: bool,
        *,
        is_predefined: bool = False,
    ) -> None:
        self.is_predefined = is_predefined
        self.number = 0
        if is_predefined:
            name = f"{operation_of(op)} {element_type(datatype.handle)}"
            self.number = REDUCTIONS.index(name.strip())
        self.op = op
        self.datatype = datatype
        self.grain = grain
        self.commutative = commutative

    def spec(self, memory: memoryview) -> list[object]:
        """Return elements in memory as a message specification of mpi4py."""
        return [memory, len(memory) // self.grain, self.datatype]

    def combine(self, left: memoryview, right: memoryview) -> None:
        """Set `right` to `left` operation `right`."""
        self.op.Reduce_local(self.spec(left), self.spec(right))

    def merge(self, blobs: Sequence[Blob]) -> Blob:
        """Return the fold of values from left to right."""
        combine, datatype, grain = self.op.Reduce_local, self.datatype, self.grain
        left = bytearray(blobs[0])
        for blob in blobs[1:]:
            right = bytearray(blob)
            # mpi4py compares the two counts, and trusts both of them
            combine([left, len(left) // grain, datatype], [right, len(right) // grain, datatype])
            left = right
        return memoryview(left)


def reduction(op: MPI.Op, datatype: MPI.Datatype) -> ElementReduction:
    """Return the reduction for an operation and a datatype; raises MPI's error if undefined."""
    handle = datatype.handle
    if op.is_predefined and datatype.is_predefined:
        return _predefined(op.handle, handle)
    return ElementReduction(op, datatype, datatype.extent, op.Is_commutative())


@cache
def _predefined(op_handle: int, type_handle: int) -> ElementReduction:
    """Try the operation once, so that an undefined one fails at every member alike."""
    op, datatype = MPI.Op.fromhandle(op_handle), MPI.Datatype.fromhandle(type_handle)
    extent = datatype.extent
    tried = [bytearray(extent), 1, datatype]
    with errors_raised():
        op.Reduce_local(tried, [bytearray(extent), 1, datatype])
    return ElementReduction(op, datatype, extent, op.Is_commutative(), is_predefined=True)


class Averaging:
    """How the mean of elements of one datatype is computed: by sums of other elements.

    An integer v of n members is encoded as two 64-bit integers, v // n and v % n, whose sums cannot
    overflow. Integers of up to 32 bits are summed as 64 bits, so that half as much is sent.
    """

    def __init__(self, datatype: MPI.Datatype, members: int) -> None:
        """Raise MPI's error for a datatype whose values cannot be added and divided."""
        try:
            self._type = np.dtype(datatype.tocode())
        except (TypeError, ValueError):
            raise MPI.Exception(MPI.ERR_OP) from None
        if self._type.kind not in "iufc":
            raise MPI.Exception(MPI.ERR_OP)
        self._members = members
        self._split = self._type.kind in "iu" and self._type.itemsize > 4
        wide = MPI.INT64_T if self._type.kind in "iu" else datatype
        if self._split and self._type.kind == "u":
            wide = MPI.UINT64_T
        self.reduction = reduction(MPI.SUM, wide)

    def encoded(self, values: memoryview) -> memoryview:
        """Return what is to be summed; one value may become two."""
        found = np.frombuffer(values, self._type)
        if self._split:
            wide = found.astype(f"{self._type.kind}8")
            return _bytes_of(np.stack([wide // self._members, wide % self._members], axis=1))
        if self._type.kind in "iu":
            return _bytes_of(found.astype("i8"))
        return _bytes_of(found.copy())

    @property
    def width(self) -> int:
        """Return the encoded size of a value in bytes."""
        return self.reduction.grain * (2 if self._split else 1)

    def decoded(self, sums: memoryview, count: int) -> memoryview:
        """Return the means of `count` values each."""
        if self._type.kind in "iu":
            return _bytes_of(self._integers(sums, count))
        found = np.frombuffer(sums, self._type)
        return _bytes_of((found / found.dtype.type(count)).astype(self._type))

    def _integers(self, sums: memoryview, count: int) -> NDArray[Any]:
        wide = np.frombuffer(sums, "u8" if self._split and self._type.kind == "u" else "i8")
        if self._split:
            quotients, rest = wide.reshape(-1, 2).T
            if count != self._members:
                exact = [
                    _towards_zero(int(q) * self._members + int(r), count)
                    for q, r in zip(quotients, rest, strict=True)
                ]
                return np.array(exact, dtype=self._type)
            mean, left = quotients + rest // wide.dtype.type(count), rest % wide.dtype.type(count)
        else:
            mean, left = wide // count, wide % count
        means: NDArray[Any] = mean + ((mean < 0) & (left > 0)).astype(wide.dtype)
        return means.astype(self._type)


def _towards_zero(total: int, count: int) -> int:
    return total // count if total >= 0 else -(-total // count)


def _bytes_of(values: NDArray[Any]) -> memoryview:
    return memoryview(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
