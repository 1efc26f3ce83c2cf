"""Extension modules that take communicators through mpi4py's C interface.

Native code sees one MPI only, and would take a communicator over several clusters for the part of
it that is in this cluster. C, C++ and Rust ask `PyMPIComm_Get` for the handle, which refuses such a
communicator here. Cython reads the handle from the object itself, where it cannot be missing, since
mpi4py's own `Datatype.Pack` reads it there, too: a warning names the module when it is imported.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from runtime.mpi.errors import NotOnTheGrid
from runtime.mpi.progress.predefined import running_engine
from runtime.mpi.values.handles import CURE, check_handle

ASKED_BY_ALL = "Grequest"
"""A class that imported Cython modules ask for, with all others, and programs rarely."""

_IMPORTERS = ("importlib._bootstrap", "_frozen_importlib")

_Getter = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)

_refusing: list[object] = []
"""The functions of capsules, which do not keep them alive."""


def c_interface(native: dict[str, Any]) -> dict[str, Any]:
    """Return mpi4py's C functions, of which ours give handles of communicators and groups."""
    return native | {name: _checked(native[name]) for name in ("PyMPIComm_Get", "PyMPIGroup_Get")}


def warn_of_importer() -> None:
    """Warn of a module that reads handles itself if the caller's caller is importing one."""
    importer = sys._getframe(2)
    if importer.f_globals.get("__name__") not in _IMPORTERS or running_engine() is None:
        return
    imported = importer.f_locals["args"][0]  # the module, or what it will be made of
    spec = getattr(imported, "__spec__", imported)
    with open(spec.origin, "rb") as file:
        if b"PyMPIComm_Get" in file.read():
            return
    import warnings

    warnings.warn(
        f"{spec.name} reads communicators through mpi4py's Cython interface: one over several "
        f"clusters looks to it like the processes of this cluster alone. {CURE}.",
        RuntimeWarning,
        stacklevel=3,  # the program: frames of `importlib` do not count
    )


def _checked(native: object) -> object:
    """Return a C function that gives a handle unless its object spans clusters, as a capsule.

    It cannot raise: ctypes has no way to leave an error behind. So it says why and returns NULL,
    and the error that Python makes of that is replaced by the reason where it arrives.
    """
    api = ctypes.PyDLL(None)  # programs set the types of functions of `ctypes.pythonapi`
    name_of, pointer_of, new = api.PyCapsule_GetName, api.PyCapsule_GetPointer, api.PyCapsule_New
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    signature = name_of(native)
    get: Callable[[object], int] = _Getter(pointer_of(native, signature))

    def checked(thing: object) -> int | None:
        try:
            check_handle(thing)
            return get(thing)
        except NotOnTheGrid as error:
            at = sys._getframe(1)
            place = f"{at.f_code.co_filename}, line {at.f_lineno}"
            # now: code that does not look at what it is given crashes
            sys.stderr.write(f"Native code was refused a handle ({place}). {error}\n")
            _fail_with(TypeError(f"Native code was refused a handle. {error}"), at)
        except TypeError as error:  # of mpi4py: it is no communicator at all
            _fail_with(error, sys._getframe(1))
        return None

    function = _Getter(checked)
    kept = ctypes.c_char_p(signature)
    _refusing.extend((function, get, kept))
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
