"""Reads the arguments of a call as far as they have to fit those of other ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mpi4py import MPI

from runtime.calls import COLLECTIVES
from runtime.checks.reports import NO_ROOT, OBJECT
from runtime.mpi.collectives.reductions import Average, element_type, operation_of
from runtime.mpi.values.specs import Spec, read, read_vector

Data = tuple[str, int | None]
"""The type of elements, "" if it fits all others, and the bytes; None if they are not known."""

UNKNOWN: Data = ("", None)
PICKLED: Data = (OBJECT, None)


def collective(
    operation: str, args: Sequence[Any], options: Mapping[str, Any], rank: int, size: int
) -> tuple[int, str, int | None, str]:
    """Return root, type, bytes and reduction of a call on a communicator of one group.

    What is not understood is left out: the call itself will refuse it.
    """
    call = COLLECTIVES.get(operation)
    if call is None:
        return NO_ROOT, *UNKNOWN, ""
    given = call.named(args, options)
    root = given.get("root", 0) if call.takes("root") else NO_ROOT
    root = root if isinstance(root, int) else NO_ROOT
    reduction = _reduction(given.get("op", MPI.SUM)) if call.takes("reduction") else ""
    try:
        kind, nbytes = _data_of(operation, given, rank == root, size)
    except Exception:  # whatever is wrong with it, the call will say
        kind, nbytes = UNKNOWN
    return root, kind, nbytes, reduction


def contribution(operation: str, args: Sequence[Any], options: Mapping[str, Any], rank: int) -> Any:
    """Return the buffer that a call only reads, as the program gives it; None if there is none."""
    given = COLLECTIVES[operation].named(args, options)
    is_vector = operation.endswith(("v", "w"))
    is_elsewhere = operation in {"Bcast", "Scatter"} and given.get("root", 0) != rank
    if operation[0].islower() or is_vector or is_elsewhere:
        return None
    return given.get("buf" if operation == "Bcast" else "sendbuf")


def _data_of(operation: str, given: Mapping[str, Any], is_root: bool, size: int) -> Data:
    if operation[0].islower() or operation == "Barrier":
        return UNKNOWN
    if operation == "Bcast":
        return data(given["buf"])
    mine, other = given.get("sendbuf"), given.get("recvbuf")
    if operation.startswith("Scatter"):
        mine, other = other, mine
    is_in_place = mine is MPI.IN_PLACE
    if operation.endswith(("v", "w")):
        if operation.endswith("w") or operation.startswith("Neighbor"):
            return UNKNOWN
        if is_in_place:
            return UNKNOWN if operation in {"Gatherv", "Scatterv"} else _of_vector(other, size)
        return _of_vector(mine, size) if operation == "Alltoallv" else (data(mine)[0], None)
    if operation.startswith("Neighbor"):
        return data(mine)[0], None
    kind, nbytes = data(other if is_in_place else mine)
    has_parts = is_in_place and COLLECTIVES[operation].has("parts")
    if has_parts and (is_root or operation == "Allgather") and nbytes is not None:
        nbytes //= size
    return kind, nbytes


def _of_vector(message: Any, size: int) -> Data:
    return kind_of(read_vector(message, size, readonly=True).datatype), None


def data(message: Any) -> Data:
    """Return what a buffer holds; raises what mpi4py raises."""
    spec = read(message, readonly=True)
    return kind_of(spec.datatype), spec.nbytes


def buffer(message: Any) -> Data:
    """Return what a buffer holds, or that it is not known."""
    try:
        return data(message)
    except Exception:  # whatever is wrong with it, the call will say
        return UNKNOWN


def in_bytes(message: Any) -> Any:
    """Return a buffer to receive into as bytes, if its elements follow each other in memory.

    Native MPI ends a process that receives a part of an element, before anything can be told.
    """
    try:
        spec = read(message, readonly=False)
        is_row = spec.is_plain or memoryview(spec.buffer).c_contiguous
    except Exception:  # whatever is wrong with it, the call will say
        return message
    return message if not is_row or (view := spec.view) is None else [view, MPI.BYTE]


def spec_of(message: Any) -> Spec | None:
    """Return where a buffer is; None if it is not understood."""
    try:
        return read(message, readonly=True)
    except Exception:  # whatever is wrong with it, the call will say
        return None


def kind_of(datatype: MPI.Datatype) -> str:
    """Return the type of the elements of a datatype, "" for bytes and for several types.

    >>> kind_of(MPI.DOUBLE), kind_of(MPI.INT64_T) == kind_of(MPI.LONG), kind_of(MPI.BYTE)
    ('float64', True, '')
    """
    return element_type(datatype.handle) if datatype.is_predefined else _kind_of_parts(datatype)


def _kind_of_parts(datatype: MPI.Datatype) -> str:
    """Return the type of all parts of a derived datatype, "" if they differ."""
    *_, parts = datatype.Get_contents()
    kinds = set()
    for part in parts:
        kinds.add(kind_of(part))
        if not part.is_predefined:
            part.Free()
    return kinds.pop() if len(kinds) == 1 else ""


def _reduction(op: Any) -> str:
    if isinstance(op, MPI.Op):
        return "AVG" if isinstance(op, Average) else operation_of(op)
    code = getattr(op, "__code__", None)
    if code is None:
        return str(getattr(op, "__name__", ""))
    return f"{op.__name__} ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"
