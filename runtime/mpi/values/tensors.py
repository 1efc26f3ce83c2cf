"""The item type of a DLPack tensor, which mpi4py reads and Python itself does not."""

from __future__ import annotations

import ctypes

_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


class _Tensor(ctypes.Structure):
    """The beginning of what a capsule with the name `dltensor` points to."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("dimensions", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


def format_of_tensor(capsule: object) -> str:
    """Return the type string, such as `f8`, of the tensor in an unused capsule.

    Items without a datatype of MPI are bytes, as for mpi4py.
    """
    look = ctypes.pythonapi.PyCapsule_GetPointer
    look.restype, look.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(look(capsule, b"dltensor"))
    kind, lanes = _KINDS.get(tensor.kind), tensor.lanes
    if kind == "f" and lanes == 2:  # mpi4py takes pairs of numbers for complex ones
        return f"c{tensor.bits // 4}"
    return "B" if kind is None or lanes != 1 else f"{kind}{tensor.bits // 8}"
