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

    told = Preload(options.shim, libpython(), sys.executable, ("-P", "-m", MODULE, *words))
    environment = told.environment(os.environ)
    if options.is_on_one_host:
        from runtime.mpi.process.native import without_network

        environment = {**without_network(os.environ), **environment}
    try:
        os.execvpe(options.path, [options.path, *options.arguments], environment)
    except OSError as fault:
        os.write(2, f"{options.path}: {fault.strerror}\n".encode())
        os._exit(127 if isinstance(fault, FileNotFoundError) else 126)


def libpython() -> str:
    """Return the shared library of this Python; "" if it has none."""
    import sysconfig

    folder = sysconfig.get_config_var("LIBDIR") or ""
    for name in ("INSTSONAME", "LDLIBRARY"):
        path = os.path.join(folder, sysconfig.get_config_var(name) or "")
        if ".so" in os.path.basename(path) and os.path.exists(path):
            return path
    return ""


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
