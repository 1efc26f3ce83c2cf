"""The arguments of accesses, read as mpi4py reads them: a buffer here, a place at the target."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from mpi4py import MPI

from gcm.records import dataclass
from runtime.mpi.values.faults import Wrong, WrongArgument
from runtime.mpi.values.numbers import count as as_count
from runtime.mpi.values.numbers import is_integral
from runtime.mpi.values.specs import Spec, read
from runtime.mpi.windows.layouts import basic_type, layout_of, names_of_basics
from runtime.mpi.windows.reducing import is_defined, reductions
from runtime.windows.requests import BASIC_TYPES, REDUCTIONS
from runtime.windows.runs import Run, repeated, size_of


@dataclass(slots=True)
class TargetPlace:
    """Memory of a target: runs of bytes relative to a displacement in its units."""

    displacement: int
    runs: Sequence[Run]
    size: int
    basics: frozenset[int]


def place_of(origin: Spec, target: Any) -> TargetPlace:
    """Return the place that the argument `target` describes; what it leaves out is as `origin`."""
    displacement, number, datatype = 0, origin.count, origin.datatype
    if target is None:
        pass
    elif is_integral(target):
        displacement = as_count(target)
    elif isinstance(target, list | tuple):
        if len(target) > 3:
            raise ValueError("target: expecting 3 items at most")
        given = (*target, *(displacement, number, datatype)[len(target) :])
        displacement, number, datatype = as_count(given[0]), as_count(given[1]), given[2]
        if not isinstance(datatype, MPI.Datatype):
            datatype = MPI.Datatype.fromcode(datatype)
    else:
        raise ValueError("target: expecting integral or list/tuple")
    if number < 0:
        raise WrongArgument(Wrong.COUNT, f"the target has a negative count, {number}")
    if displacement < 0:
        text = f"the target has a negative displacement, {displacement}"
        raise WrongArgument(Wrong.DISPLACEMENT, text)
    layout = layout_of(datatype)
    runs = repeated(layout.runs, number, layout.extent) if number else []
    return TargetPlace(displacement, runs, size_of(runs), layout.basics)


def check_sizes(size: int, place: TargetPlace, what: str) -> None:
    """Raise for a target that has more or fewer bytes than what is here."""
    if size != place.size:
        raise WrongArgument(
            Wrong.TYPE, f"{what} has {size} bytes, the place at the target {place.size}"
        )


@cache
def _dense(handle: int) -> int | None:
    return names_of_basics().get(handle)


def basic_of(basics: frozenset[int]) -> int:
    """Return the place in `BASIC_TYPES` of the one predefined type that elements have."""
    if len(basics) != 1:
        text = f"elements of {len(basics)} predefined types cannot be reduced together"
        raise WrongArgument(Wrong.TYPE, text)
    found = _dense(next(iter(basics)))
    if found is None:
        raise WrongArgument(Wrong.TYPE, "elements of this type cannot be reduced at a target")
    return found


def operation_of(op: Any, basic: int) -> int:
    """Return the place in `REDUCTIONS` of an operation that is defined for a basic type."""
    if not isinstance(op, MPI.Op):
        raise TypeError(f"expected an operation of MPI, got {type(op).__name__}")
    found = reductions().get(op.handle)
    if found is None:
        raise WrongArgument(Wrong.OPERATION, "a target knows the predefined operations only")
    if not is_defined(found, basic):
        text = f"{REDUCTIONS[found]} is not defined for elements of type {BASIC_TYPES[basic]}"
        raise WrongArgument(Wrong.OPERATION, text)
    return found


def unit_of(basic: int) -> int:
    """Return how many bytes an element of a basic type has when it is packed."""
    return basic_type(basic).size


def single(message: Any, *, readonly: bool, what: str) -> Spec:
    """Read a buffer of exactly one element of a predefined type; raises ValueError."""
    found = read(message, readonly=readonly)
    if found.count != 1:
        raise ValueError(f"{what}: expecting a single element, got {found.count}")
    return found
