"""Lets front-ends and ranks of this machine part from processes that have loaded what they need.

Another Python that loads it all again would be most of the time that a machine takes to start.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
from collections.abc import Mapping
from typing import NoReturn, Self

from runtime.deployment.commands import RANKS_MODULE
from runtime.engine import front_end
from runtime.launchers.base import Command, Process
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.local import LocalLauncher

FRONT_END = "front-end"
"""What the guard of a warm start calls the program of a front-end."""

RANKS = "ranks"
"""What it calls the process of which ranks part."""


class WarmStart:
    """A launcher for this machine whose guard can become the front-ends, and what ranks part of.

    To be made before any thread is started; where there are threads, front-ends are started as
    processes of their own.

    >>> with WarmStart() as warm:                              # doctest: +SKIP
    ...     outcome = deploy(plan, listener, warm=warm)
    """

    def __init__(self) -> None:
        self._is_warm = threading.active_count() == 1
        guard = ForkedGuard({FRONT_END: _run, RANKS: _become_ranks}) if self._is_warm else None
        self.launcher = LocalLauncher(guard=guard)

    def start(self, command: Command) -> Process:
        """Start the front-ends that a command would start; raises LaunchError."""
        if self._is_warm and command.argv[0] == sys.executable:
            command = Command((FRONT_END,), command.environment, command.cwd, command.first_input)
        return self.launcher.start(command)

    def start_ranks(
        self, path: str, comm_world: str, environment: Mapping[str, str], cwd: str
    ) -> Process | None:
        """Start the process of which ranks part, which listens at once at the socket `path`.

        Return None where that cannot be: ranks start as processes of their own then.
        """
        if not self._is_warm or sys.platform != "linux":
            return None
        told = f"{path}\n{comm_world}\n".encode()
        process = self.launcher.start(Command((RANKS,), environment, cwd, told))
        process.close_input()
        return process

    def close(self) -> None:
        """End everything; twice is once."""
        self.launcher.close()

    def __enter__(self) -> Self:
        """Return it, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _run() -> int:
    gc.enable()  # whoever loaded all this may have had a reason to switch it off
    return front_end.main()


def _become_ranks() -> NoReturn:
    """Listen, and begin anew with little, which will be in every rank."""
    path, comm_world = sys.stdin.read().splitlines()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(socket.SOMAXCONN)
    listener.set_inheritable(True)
    words = [sys.executable, "-m", RANKS_MODULE, str(listener.fileno()), comm_world]
    os.execv(sys.executable, words)
