"""Starts the processes that load much before anybody needs them, beside what the launcher loads.

There are two: one that forks the front-ends of this machine, and one that forks its ranks. Both
begin as soon as a plan is known, in copies of a guard that has loaded nothing else.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
from typing import NoReturn, Self

from runtime.deployment.planning.commands import RANKS_MODULE
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.home import python_path
from runtime.launchers.base import Command, Process
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.local import LocalLauncher
from runtime.membership.run_directory import LONGEST_SOCKET_PATH
from runtime.native_mpi import Job, python_module

FRONT_END = "front-end"
"""What the guard of a warm start calls the program of a front-end."""

RANKS = "ranks"
"""What it calls the process that forks ranks, and how the socket of that is called."""

FEWEST = 2
"""With one rank there is nothing to share."""


class WarmStart:
    """A launcher for this machine whose guard can become the front-ends, and what forks ranks.

    To be made before any thread is started; where there are threads, front-ends are started as
    processes of their own.

    >>> with WarmStart() as warm:                              # doctest: +SKIP
    ...     warm.load(plan)
    ...     outcome = Machine(plan, listener, warm=warm).run()
    """

    def __init__(self) -> None:
        self._is_warm = threading.active_count() == 1
        guard = ForkedGuard({FRONT_END: _run, RANKS: _become_ranks}) if self._is_warm else None
        self.launcher = LocalLauncher(guard=guard)
        self.ranks = ""
        """Where proxies of ranks find the process that forks ranks; empty without one."""
        self._front_ends: Process | None = None
        self._has_loaded = False

    def load(self, plan: DeploymentPlan) -> None:
        """Start what forks front-ends and ranks of a plan; raises LaunchError. Twice is once."""
        if not self._is_warm or self._has_loaded:
            return
        self._has_loaded = True
        here = {one.identifier: one for one in plan.deployment.clusters() if one.is_local}
        if any(one.front_end.python == sys.executable for one in here.values()):
            self._front_ends = self.launcher.start(Command((FRONT_END,), python_path()))
        jobs = [step.job for step in plan.steps if step.job is not None and can_fork(step.job)]
        jobs = [job for job in jobs if job.program.cluster in here]
        is_worth_it = sum(job.ranks for job in jobs) >= FEWEST and sys.platform == "linux"
        path = os.path.join(self.launcher.make_folder(), RANKS) if is_worth_it else ""
        if not path or len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
            return
        worlds = {job.program.comm_world for job in jobs}
        first_input = f"{path}\n{'grid' if 'grid' in worlds else 'cluster'}\n".encode()
        command = Command((RANKS,), python_path(), first_input=first_input)
        self.launcher.start(command)
        self.ranks = path

    def start(self, command: Command) -> Process:
        """Start the front-ends that a command would start; raises LaunchError."""
        waiting, self._front_ends = self._front_ends, None
        if waiting is None or command.argv[0] != sys.executable:
            return self.launcher.start(command)
        waiting.write(command.first_input)
        return waiting

    def close(self) -> None:
        """End everything; twice is once."""
        self.launcher.close()

    def __enter__(self) -> Self:
        """Return it, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def can_fork(job: Job) -> bool:
    """Return whether a process that listens here can fork the ranks of a job on this machine.

    They have to be Pythons like this one, here, and nothing may lie between: an option of `mpiexec`
    may name a program that is to run the ranks.
    """
    program = job.program
    is_like_this = program.python == sys.executable and program.kind != "executable"
    return is_like_this and not job.is_elsewhere and not job.options


def _run() -> int:
    from runtime.processes.front_end import main  # here, where the launcher loads other things

    gc.enable()
    return main.main()


def _become_ranks() -> NoReturn:
    """Listen, and begin anew with little, which will be in every rank."""
    path, comm_world = (sys.stdin.readline().rstrip("\n") for _ in range(2))
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
