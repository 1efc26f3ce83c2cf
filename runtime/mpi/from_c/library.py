"""The C library that stands before MPI in this process, as Python calls it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

COMMUNICATOR, GROUP, TYPE, OPERATION, WINDOW, FILE = 1, 2, 3, 4, 5, 6
"""The kinds of tokens, as `core.c` numbers them."""

_TEXT = 4096
_WORD = ctypes.c_ssize_t


class ShimLibrary:
    """The library that was loaded or preloaded into this process."""

    def __init__(self, path: str | None = None) -> None:
        """Find it where it is loaded; `path` is None if it was preloaded."""
        self._library: Any = ctypes.CDLL(path)
        self._library.gcm_remember.argtypes = (_WORD, *[ctypes.c_int] * 3)
        self._library.gcm_forget.argtypes = (_WORD, ctypes.c_int)
        self._library.gcm_first_request.restype = _WORD
        self._library.gcm_where.argtypes = (
            *(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p),
            ctypes.POINTER(_WORD),
        )
        self._functions: Any = None
        self._kept: list[Callable[..., int]] = []

    def failure_classes(self) -> list[int]:
        """Return the error classes of failures in the header of this MPI; 0 for each it lacks."""
        found = (ctypes.c_int * 3)()
        self._library.gcm_failure_classes(found)
        return list(found)

    def install(self, functions: list[Callable[..., int]]) -> None:
        """Let the library ask these, by their numbers, from now on."""
        self._kept = functions
        self._functions = (ctypes.c_void_p * len(functions))(*map(id, functions))
        self._library.gcm_install(self._functions)

    def let_world_be_grid(self, rank: int, size: int, greatest_tag: int) -> None:
        """Let MPI_COMM_WORLD be what Python says."""
        self._library.gcm_let_world_be_grid(rank, size, greatest_tag)

    def remember(self, handle: int, kind: int, rank: int = 0, size: int = 0) -> None:
        """Let calls with a handle come to Python; raises MPI.Exception if there are too many."""
        if not self._library.gcm_remember(handle, kind, rank, size):
            raise MPI.Exception(MPI.ERR_NO_MEM)

    def forget(self, handle: int, kind: int) -> None:
        """Let a handle be native again, or of nothing."""
        self._library.gcm_forget(handle, kind)

    @property
    def first_request(self) -> int:
        """The handle of the request with the number 0."""
        found: int = self._library.gcm_first_request()
        return found

    def run(self) -> int:
        """Let the program begin; return its exit code when it ends."""
        found: int = self._library.gcm_run()
        return found

    def end(self) -> None:
        """Let the process end, which ends this thread."""
        self._library.gcm_end()

    def where(self, address: int) -> str:
        """Return what is at an address: a file and line if there are symbols, else a function."""
        text, file = ctypes.create_string_buffer(_TEXT), ctypes.create_string_buffer(_TEXT)
        offset = _WORD()
        self._library.gcm_where(address, text, _TEXT, file, ctypes.byref(offset))
        lines = _lines(file.value.decode(errors="replace"), offset.value - 1)
        return lines or text.value.decode(errors="replace")


def _lines(file: str, offset: int) -> str:
    """Return what `addr2line` says of a place in a file; "" if it is not there or knows nothing.

    That is the line of the program, where functions of `gcm.h` have become part of it.
    """
    import shutil
    import subprocess  # only after an error

    program = shutil.which("addr2line")
    if not file or program is None:
        return ""
    try:
        told = subprocess.run(
            [program, "-i", "-e", file, hex(offset)],
            capture_output=True, text=True, timeout=5, check=False, stdin=subprocess.DEVNULL,
        ).stdout.splitlines()  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    line = next((one for one in told if "/gcm.h:" not in one), "?")
    return "" if line.startswith("?") or line.endswith((":?", ":0")) else line.split(" (")[0]
