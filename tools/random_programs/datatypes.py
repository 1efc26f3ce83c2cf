"""MPI datatypes made from layouts; each is made once and freed at the end."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from mpi4py import MPI

from tools.random_programs.layouts import Bytes, Layout
from tools.random_programs.reductions import AFFINE, FOLDS, MODULAR, NUMPY_TYPES


class Datatypes:
    """The datatypes and operations of one run."""

    def __init__(self) -> None:
        self._made: dict[str, MPI.Datatype] = {}
        self._operations: dict[str, MPI.Op] = {}

    def of(self, layout: Layout) -> MPI.Datatype:
        """Return the committed datatype of a layout."""
        key = json.dumps(layout, sort_keys=True)
        if key not in self._made:
            self._made[key] = _build(layout).Commit()
        return self._made[key]

    def pair(self, basic: str) -> MPI.Datatype:
        """Return the datatype of two numbers that belong together."""
        return self.of({"shape": "contiguous", "basic": basic, "count": 2})

    def operation(self, name: str, basic: str) -> MPI.Op:
        """Return a predefined operation, or one of ours, made once for each basic type."""
        if name not in (AFFINE, MODULAR):
            found: MPI.Op = getattr(MPI, name)
            return found
        key = f"{name} {basic}"
        if key not in self._operations:
            dtype, fold = NUMPY_TYPES[basic], FOLDS[name]

            def function(given: Any, into: Any, _: MPI.Datatype) -> None:
                first, second = np.frombuffer(given, dtype), np.frombuffer(into, dtype)
                second[:] = fold(first, second)

            self._operations[key] = MPI.Op.Create(function, commute=name == MODULAR)
        return self._operations[key]

    def close(self) -> None:
        """Free everything."""
        for kind in self._made.values():
            kind.Free()
        for operation in self._operations.values():
            operation.Free()


def _build(layout: Layout) -> MPI.Datatype:
    basic: MPI.Datatype = getattr(MPI, layout["basic"])
    match layout["shape"]:
        case "plain":
            return basic.Dup()
        case "contiguous":
            return basic.Create_contiguous(layout["count"])
        case "vector":
            return basic.Create_vector(layout["count"], layout["length"], layout["stride"])
        case "indexed":
            return basic.Create_indexed(layout["lengths"], layout["places"])
        case "spaced":
            return basic.Create_resized(0, layout["extent"])
        case "struct":
            names, lengths = zip(*layout["members"], strict=True)
            kinds = [getattr(MPI, name) for name in names]
            inner = MPI.Datatype.Create_struct(list(lengths), layout["places"], kinds)
            outer = inner.Create_resized(0, layout["extent"])
            inner.Free()
            return outer
        case _:
            return basic.Create_subarray(layout["sizes"], layout["part"], layout["start"])


def spec(image: Bytes, count: int, kind: MPI.Datatype) -> list[object]:
    """Return how mpi4py is told of memory with items of a datatype."""
    return [image, count, kind]
