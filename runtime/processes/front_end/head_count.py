"""Looking at a job from outside: how many ranks live, and what `mpiexec` runs them with."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial

from runtime.launchers.family import descendants, processes
from runtime.native_mpi import run_directory_arguments
from runtime.transport.reactor import READ, Reactor


class HeadCount:
    """Looks at the processes below the only `mpiexec` of a run, on this host.

    A rank is a process whose command line names the `run_directory` of the run, below one whose
    does not. `helper_lost` is told, on the reactor's thread, which process between `mpiexec` and
    its ranks has ended, and when.
    """

    def __init__(
        self, reactor: Reactor, run_directory: str, helper_lost: Callable[[str, float], None]
    ) -> None:
        self._reactor = reactor
        self._words = " ".join(run_directory_arguments(run_directory))
        self._helper_lost = helper_lost
        self._helpers: set[int] = set()

    def living_ranks(self, mpiexec: int) -> int | None:
        """Return how many ranks run; None where nobody can tell."""
        table = processes()
        if mpiexec not in table:
            return None
        ranks = self._ranks(descendants({mpiexec}, table))
        return sum(1 for pid in ranks if table[pid][0] not in ranks)

    def watch_helpers(self, mpiexec: int) -> None:
        """Look after the processes between `mpiexec` and its ranks, where the system can."""
        if not hasattr(os, "pidfd_open"):
            return
        table = processes()
        below = descendants({mpiexec}, table)
        ranks = self._ranks(below)
        for helper in {table[pid][0] for pid in ranks} & below - ranks:
            name = f"{os.path.basename(_words_of(helper)[0])} (process {helper})"
            try:
                descriptor = os.pidfd_open(helper)
            except OSError:
                continue  # it has just ended
            self._helpers.add(descriptor)
            self._reactor.watch(descriptor, READ, partial(self._ended, descriptor, name))

    def close(self) -> None:
        """Look after no process any more; on the reactor's thread."""
        for descriptor in tuple(self._helpers):
            self._forget(descriptor)

    def _ranks(self, pids: set[int]) -> set[int]:
        return {pid for pid in pids if self._words in " ".join(_words_of(pid))}

    def _ended(self, descriptor: int, name: str, _events: int) -> None:
        at = time.monotonic()
        self._forget(descriptor)
        self._helper_lost(name, at)

    def _forget(self, descriptor: int) -> None:
        if descriptor in self._helpers:
            self._helpers.discard(descriptor)
            self._reactor.watch(descriptor, 0, lambda _: None)
            os.close(descriptor)


def _words_of(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read()).split("\0")
    except OSError:
        return [""]
