"""What reductions have to give: a fold in rank order, exact whatever the order of the work."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.calls import COLLECTIVES
from tools.random_programs.exchanges import View, base_name, is_root
from tools.random_programs.payload import random_number
from tools.random_programs.program import Step

Numbers = NDArray[Any]

REDUCTIONS = tuple(
    name for name, one in COLLECTIVES.items() if one.takes("reduction") and not one.takes_objects
)
NUMPY_TYPES: dict[str, type[np.generic]] = {
    "INT8_T": np.int8,
    "INT16_T": np.int16,
    "INT32_T": np.int32,
    "INT64_T": np.int64,
    "UINT32_T": np.uint32,
    "FLOAT": np.float32,
    "DOUBLE": np.float64,
}
INTEGERS = [name for name in NUMPY_TYPES if "INT" in name]
AFFINE, MODULAR = "affine", "modular"
MODULUS = 1009


def affine(first: Numbers, second: Numbers) -> Numbers:
    """Compose linear functions, kept as pairs of numbers: associative, but not commutative."""
    a, b = first.reshape(-1, 2), second.reshape(-1, 2)
    return np.stack([a[:, 0] * b[:, 0], a[:, 1] * b[:, 0] + b[:, 1]], axis=1).reshape(-1)


def modular(first: Numbers, second: Numbers) -> Numbers:
    """Add up and keep the rest of a division: commutative."""
    return np.asarray((first + second) % MODULUS, first.dtype)


def _located(first: Numbers, second: Numbers, *, greatest: bool) -> Numbers:
    a, b = first.reshape(-1, 2), second.reshape(-1, 2)
    better = a[:, 0] > b[:, 0] if greatest else a[:, 0] < b[:, 0]
    same = a[:, 0] == b[:, 0]
    found = np.where(better[:, None], a, b)
    found[same, 1] = np.minimum(a[same, 1], b[same, 1])
    return found.reshape(-1)


def _logical(what: Callable[..., Any]) -> Callable[[Numbers, Numbers], Numbers]:
    return lambda first, second: what(first != 0, second != 0).astype(first.dtype)


FOLDS: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
    "LAND": _logical(np.logical_and),
    "LOR": _logical(np.logical_or),
    "LXOR": _logical(np.logical_xor),
    "MAXLOC": lambda a, b: _located(a, b, greatest=True),
    "MINLOC": lambda a, b: _located(a, b, greatest=False),
    AFFINE: affine,
    MODULAR: modular,
}
PAIRS = ("MAXLOC", "MINLOC", AFFINE)
"""Operations whose items are two numbers each."""


def width(step: Step) -> int:
    """Return how many numbers an item has."""
    return 2 if step["operation"] in PAIRS else 1


def counts(step: Step, size: int) -> list[int]:
    """Return how many items of the result each of `size` processes gets from a reduce_scatter."""
    total: int = step["count"]
    if base_name(step) == "Reduce_scatter_block":
        return [total // size] * size
    marks = sorted(random_number(total, step["seed"], size, index) for index in range(size - 1))
    shares = [end - begin for begin, end in zip([0, *marks], [*marks, total], strict=True)]
    # In place, MPICH 5.0.2 fails where the share of a process overlaps the place where it goes.
    return sorted(shares, reverse=True) if step["in_place"] else shares


def contribution(step: Step, side: int, rank: int) -> Numbers:
    """Return what one process puts into a reduction: whole numbers so small that sums are exact."""
    dice = np.random.default_rng([step["seed"], side, rank])
    high = 3 if step["operation"] == "PROD" else 100
    count = step["count"] * width(step)
    return np.asarray(dice.integers(0, high, count), NUMPY_TYPES[step["basic"]])


def object_contribution(step: Step, side: int, rank: int) -> Any:
    """Return the object that one process puts into a reduction."""
    number = random_number(5, step["seed"], side, rank)
    match step["operation"]:
        case "SUM":
            return [rank, number]  # lists are joined in the order of the ranks
        case "MAXLOC" | "MINLOC":
            return (number, rank)
        case _:
            return number


def fold_objects(operation: str, first: Any, second: Any) -> Any:
    """Combine two objects as mpi4py's operations do."""
    match operation:
        case "SUM":
            return first + second
        case "MAXLOC" | "MINLOC":
            key = (lambda pair: (pair[0], -pair[1])) if operation == "MAXLOC" else None
            return (max if operation == "MAXLOC" else min)(first, second, key=key)
        case _:
            return max(first, second) if operation == "MAX" else min(first, second)


def result(step: Step, view: View) -> Any:
    """Return what a process has to get; None when it gets nothing, or nothing that is defined."""
    name = base_name(step)
    if name == "Reduce" and not is_root(step, view):
        return None
    through = {"Scan": view.rank + 1, "Exscan": view.rank}.get(name, view.peers)
    if not through:
        return None
    make = object_contribution if step["object"] else contribution
    given = [make(step, view.far_side, rank) for rank in range(through)]
    if step["object"]:
        return reduce(lambda a, b: fold_objects(step["operation"], a, b), given)
    whole = reduce(FOLDS[step["operation"]], given)
    if not name.startswith("Reduce_scatter"):
        return whole
    shares = counts(step, view.size)
    begin = sum(shares[: view.rank]) * width(step)
    return whole[begin : begin + shares[view.rank] * width(step)]
