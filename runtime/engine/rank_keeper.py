"""Keeps a rank's connection to `mpiexec` open until the rank's end is known.

When a rank dies, MPICH sees its connection close before it learns how the process ended, and kills
what is left of it: every crash would look like a SIGKILL. So the process that `mpiexec` started
stays behind, holds the connection, and ends as the rank did.
"""

from __future__ import annotations

import os
import signal


def keep_connection() -> None:
    """Return in a child of this process, which waits for it and ends as it did.

    To be called first of all: before threads, before MPI, before anything large is imported.
    """
    child = os.fork()
    if child == 0:
        return
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
