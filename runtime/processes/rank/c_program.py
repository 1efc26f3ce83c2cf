"""A rank that is a C program: the process becomes the program, with Python in a thread of it.

    python -m runtime.rank --shim LIBRARY --executable PROGRAM ...   opens the pipes of the rank
        └─► exec PROGRAM, with LIBRARY preloaded, which starts
              └─► python -m runtime.c_rank ...   in a thread: connects, starts MPI
                    └─► main of PROGRAM          in the first thread

So signals, exit codes and output are those of the program, and its parent sees how it ends.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from runtime.processes.rank.options import RankOptions

if TYPE_CHECKING:
    from runtime.mpi.from_c.program import CProgram

MODULE = "runtime.c_rank"

_program: CProgram | None = None


def become_program(options: RankOptions, words: list[str]) -> NoReturn:
    """Replace this process by the program; ends it if that cannot be started."""
    from runtime.shim import Preload

    words = ["-P", "-m", MODULE, *words]
    told = Preload(options.shim, libpython(), sys.executable, words, _lay_out_as_others())
    environment = told.environment(os.environ)
    if options.is_on_one_host:
        from runtime.mpi.process.native import without_network

        environment = {**without_network(os.environ), **environment}
    try:
        os.execvpe(options.path, [options.path, *options.arguments], environment)
    except OSError as fault:
        os.write(2, f"{options.path}: {fault.strerror}\n".encode())
        os._exit(127 if isinstance(fault, FileNotFoundError) else 126)


_NO_RANDOM_ADDRESSES, _ASK = 0x0040000, 0xFFFFFFFF  # of <sys/personality.h>


def _lay_out_as_others() -> int | None:
    """Have the program loaded at the addresses that the other ranks have; return what was before.

    Ranks that are forked have the same addresses, others random ones. Processors predict jumps by
    addresses: two ranks that take turns on one, as in a ping-pong, would each time find what the
    other one has left there, and take twice as long. None if nothing was changed.
    """
    import ctypes

    personality = ctypes.CDLL(None).personality
    personality.argtypes = (ctypes.c_ulong,)
    before: int = personality(_ASK)
    if before < 0 or before & _NO_RANDOM_ADDRESSES:
        return None
    return None if personality(before | _NO_RANDOM_ADDRESSES) < 0 else before  # may be forbidden


def libpython() -> str:
    """Return the shared library of this Python; "" if it has none."""
    import sysconfig

    folder = sysconfig.get_config_var("LIBDIR") or ""
    for name in ("INSTSONAME", "LDLIBRARY"):
        path = os.path.join(folder, sysconfig.get_config_var(name) or "")
        if ".so" in os.path.basename(path) and os.path.exists(path):
            return path
    return ""


def let_mpi4py_be_native() -> None:
    """Have mpi4py call MPI itself, and not what stands before it for the program."""
    import ctypes
    from importlib.util import find_spec

    found = find_spec("mpi4py.MPI")  # loads nothing of it yet
    if found is not None and found.origin is not None:  # what is missing is said where it is used
        ctypes.CDLL(None).gcm_load_native(found.origin.encode())


def use_classes_of_header() -> None:
    """Let errors about lost processes have the classes that the program compares with."""
    from runtime.mpi import errors
    from runtime.mpi.from_c.library import ShimLibrary

    errors.use_classes_of_header(ShimLibrary().failure_classes())


def run_program() -> int:
    """Run the program in this process to its end; return its exit code."""
    global _program  # noqa: PLW0603 - a process runs one program
    from runtime.mpi.from_c.program import CProgram

    _program = CProgram()
    return _program.run()


def finalise() -> None:
    """Finalise MPI, unless the program has."""
    assert _program is not None, "it has run"
    _program.finish()


def end() -> None:
    """End the process, unless the program could not begin."""
    if _program is not None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        _program.end()
