"""Lets front-ends and ranks of this machine part from processes that have loaded what they need.

Another Python that loads it all again would be most of the time that a machine takes to start.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
from typing import NoReturn, Self

from runtime.deployment.model import ProgramKind
from runtime.deployment.planning.commands import RANKS_MODULE
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.home import python_path
from runtime.launchers.base import Command, Process
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.local import LocalLauncher
from runtime.membership.room import LONGEST_SOCKET_PATH
from runtime.native_mpi import python_module
from runtime.processes.front_end import main as front_end

FRONT_END = "front-end"
"""What the guard of a warm start calls the program of a front-end."""

RANKS = "ranks"
"""What it calls the process of which ranks part, and how the socket of that is called."""

FEWEST = 2
"""With one rank there is nothing to share."""


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
        self.ranks = ""
        """Where stand-ins of ranks find the process of which ranks part; empty without one."""
        self._has_loaded = False

    def start(self, command: Command) -> Process:
        """Start the front-ends that a command would start; raises LaunchError."""
        if self._is_warm and command.argv[0] == sys.executable:
            command = Command((FRONT_END,), command.environment, command.cwd, command.first_input)
        return self.launcher.start(command)

    def load_ranks(self, plan: DeploymentPlan) -> None:
        """Start the process of which ranks can part, if some can; raises LaunchError.

        It listens at `ranks` at once, and loads meanwhile. Twice is once.
        """
        if not self._is_warm or self._has_loaded or sys.platform != "linux":
            return
        self._has_loaded = True
        worlds = _worlds_of_ranks_here(plan)
        path = os.path.join(self.launcher.make_folder(), RANKS) if len(worlds) >= FEWEST else ""
        if not path or len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
            return
        told = f"{path}\n{'grid' if 'grid' in worlds else 'cluster'}\n".encode()
        command = Command((RANKS,), python_path(), first_input=told)
        self.launcher.start(command).close_input()
        self.ranks = path

    def close(self) -> None:
        """End everything; twice is once."""
        self.launcher.close()

    def __enter__(self) -> Self:
        """Return it, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _worlds_of_ranks_here(plan: DeploymentPlan) -> list[str]:
    """Return what COMM_WORLD means to each rank that may part."""
    applications = {one.name: one for one in plan.deployment.applications}
    return [
        applications[one.application].comm_world
        for one in plan.deployment.clusters()
        for _ in range(one.ranks if one.application else 0)
        if one.is_local
        and not one.mpi.options
        and one.front_end.python == sys.executable
        and applications[one.application].kind is not ProgramKind.EXECUTABLE
    ]


def _run() -> int:
    gc.enable()  # the one who loaded all this may have had a reason to switch it off
    return front_end.main()


def _become_ranks() -> NoReturn:
    """Listen, and begin anew with little, which will be in every rank."""
    path, comm_world = sys.stdin.read().splitlines()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(socket.SOMAXCONN)
    listener.set_inheritable(True)
    words = [
        *python_module(sys.executable, RANKS_MODULE),
        str(listener.fileno()),
        comm_world,
    ]
    os.execv(sys.executable, words)
