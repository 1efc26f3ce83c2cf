"""Extension modules that take communicators through mpi4py's C interface.

C, C++ and Rust ask `PyMPIComm_Get` for the handle, and Cython reads it from the object itself. The
library that stands before MPI is loaded for them. Where it cannot be had, code in C would take a
communicator over several clusters for the part of it that is in this cluster: `PyMPIComm_Get`
refuses it, and a warning names a module of Cython when it is imported.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from mpi4py import MPI

from runtime.mpi.communicators.attributes import face_of
from runtime.mpi.errors import NotOnTheGrid
from runtime.mpi.process import native_code
from runtime.mpi.progress.predefined import running_engine
from runtime.mpi.values.handles import CURE, with_handle

ASKED_BY_ALL = "Grequest"
"""A class that imported Cython modules ask for, with all others, and programs rarely."""

_IMPORTERS = ("importlib._bootstrap", "_frozen_importlib")

_Getter = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)

_kept: list[object] = []
"""The functions of capsules, which do not keep them alive."""


def c_interface(native: dict[str, Any]) -> dict[str, Any]:
    """Return mpi4py's C functions, of which ours give handles of communicators and groups."""
    checked = {name: _checked(native[name]) for name in ("PyMPIComm_Get", "PyMPIGroup_Get")}
    return native | checked | {"PyMPIComm_New": _with_face(native["PyMPIComm_New"])}


def warn_of_importer() -> None:
    """Warn of a module that reads handles itself if the caller's caller is importing one.

    It gets the grid behind them where that is possible.
    """
    importer = sys._getframe(2)
    if importer.f_globals.get("__name__") not in _IMPORTERS or running_engine() is None:
        return
    imported = importer.f_locals["args"][0]  # the module, or what it will be made of
    spec = getattr(imported, "__spec__", imported)
    with open(spec.origin, "rb") as file:
        if b"PyMPIComm_Get" in file.read():
            return
    if not (why := native_code.why_not()):
        return
    import warnings

    warnings.warn(
        f"{spec.name} reads communicators through mpi4py's Cython interface: one over several "
        f"clusters looks to it like the processes of this cluster alone: {why}. {CURE}.",
        RuntimeWarning,
        stacklevel=3,  # the program: frames of `importlib` do not count
    )


def _checked(native: object) -> object:
    """Return a C function that gives a handle unless its object spans clusters, as a capsule.

    It cannot raise: ctypes has no way to leave an error behind. So it says why and returns NULL,
    and the error that Python makes of that is replaced by the reason where it arrives.
    """
    address, signature = _opened(native)
    get: Callable[[object], int] = _Getter(address)

    def checked(thing: object) -> int | None:
        try:
            return get(with_handle(thing))
        except NotOnTheGrid as error:
            at = sys._getframe(1)
            place = f"{at.f_code.co_filename}, line {at.f_lineno}"
            # now: code that does not look at what it is given crashes
            sys.stderr.write(f"Native code was refused a handle ({place}). {error}\n")
            _fail_with(TypeError(f"Native code was refused a handle. {error}"), at)
        except TypeError as error:  # of mpi4py: it is no communicator at all
            _fail_with(error, sys._getframe(1))
        return None

    return _capsule(_Getter(checked), signature)


def _with_face(native: object) -> object:
    """Return the C function that makes an object of a handle: of several clusters, one of ours."""
    address, signature = _opened(native)
    handle = (
        ctypes.c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    )
    maker = ctypes.PYFUNCTYPE(ctypes.py_object, handle)
    new: Callable[[int], MPI.Comm] = maker(address)

    def with_face(given: int | None) -> MPI.Comm:
        return face_of(new(given or 0))

    return _capsule(maker(with_face), signature)


def _opened(capsule: object) -> tuple[int, bytes]:
    """Return the address in a capsule of mpi4py, and its name, which says the types."""
    api = ctypes.PyDLL(None)  # programs set the types of functions of `ctypes.pythonapi`
    name_of, pointer_of = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature: bytes = name_of(capsule)
    return pointer_of(capsule, signature), signature


def _capsule(function: Any, signature: bytes) -> object:
    new = ctypes.PyDLL(None).PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    kept = ctypes.c_char_p(signature)
    _kept.extend((function, kept))
    return new(ctypes.cast(function, ctypes.c_void_p), kept, None)


def _fail_with(reason: TypeError, program: FrameType) -> None:
    """Let the native code that a frame of Python runs fail with a reason, as it returns NULL.

    Python says "returned NULL without setting an exception". A trace function hears of that first,
    and what it raises takes its place; not where somebody else traces.
    """

    def replace(frame: FrameType, event: str, arg: Any) -> None:
        if frame is not program:
            return
        sys.settrace(None)
        program.f_trace = None
        if event == "exception" and issubclass(arg[0], SystemError):
            raise reason

    if sys.gettrace() is None and program.f_trace is None:
        program.f_trace = replace
        sys.settrace(replace)
