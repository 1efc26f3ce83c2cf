"""A guard that parts from a process which has loaded it, instead of starting another Python."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType

from runtime.launchers import guard, spawning
from runtime.launchers.bootstrap import new_marker
from runtime.launchers.forking import fork

with suppress(ImportError):
    import ctypes  # noqa: F401 - the guard uses it; loaded here, it is loaded once for all copies

Program = Callable[[], int]

_SIGKILL = 9
_LOOK_AGAIN = 0.001  # seconds between two looks at a guard that is about to end


class ForkedGuard:
    """The process of a guard, with what a `LocalLauncher` needs of it.

    To be made before any thread is started: a copy of a process has only one of its threads.
    """

    def __init__(self, programs: Mapping[str, Program] = MappingProxyType({})) -> None:
        """Part; raises OSError where no more processes or pipes can be made.

        `programs` are what it runs for a command of that name, in a copy of itself, which starts
        much faster than another Python. They return their exit code.
        """
        self.marker = new_marker()
        source, sink, complaints = os.pipe(), os.pipe(), os.pipe()
        self.pid = fork()
        if self.pid == 0:
            spawning.become(
                partial(_serve, "".join(self.marker), programs),
                [source[0], sink[1], complaints[1]],
                dict(os.environb),
            )
        for descriptor in (source[0], sink[1], complaints[1]):
            os.close(descriptor)
        self.stdin = open(source[1], "wb", buffering=0)  # noqa: SIM115 - the launcher closes them
        self.stdout = open(sink[0], "rb", buffering=0)  # noqa: SIM115
        self.stderr = open(complaints[0], "rb", buffering=0)  # noqa: SIM115
        self._code: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended, as `subprocess.Popen` does; raises TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._code is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self._code = os.waitstatus_to_exitcode(status)
            elif timeout is not None and deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("guard", timeout)
            else:
                time.sleep(_LOOK_AGAIN)
        return self._code

    def kill(self) -> None:
        """End it at once."""
        if self._code is None:
            os.kill(self.pid, _SIGKILL)


def _serve(marker: str, programs: Mapping[str, Program]) -> int:
    guard.serve(marker, {os.fsencode(name): run for name, run in programs.items()})
    return 0
