"""The native MPI job of a cluster as its front-end sees it: its parts started, watched, ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol

from runtime.home import OWN_FRAMES
from runtime.launchers import spawning
from runtime.launchers.base import Command, Exit, Reach
from runtime.launchers.errors import CommandNotFound, LaunchError
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.guarded import GuardedProcess
from runtime.launchers.local import LocalLauncher
from runtime.launchers.mpiexec import (
    MANAGER_NAME,
    detect_native_mpi,
    is_script,
    manager_command,
    missing_mpiexec,
    mpi_command,
    mpiexec_here,
)
from runtime.membership.run_directory import crash_file
from runtime.native_mpi import AUTO, Job, JobPart, ManagedRanks, native_mpi
from runtime.processes.front_end.head_count import HeadCount
from runtime.processes.front_end.job_ends import crash_of
from runtime.processes.front_end.job_output import EndListener, JobOutput, OutputListener
from runtime.processes.front_end.memory_kills import MemoryKills
from runtime.processes.front_end.output_credit import OutputCredit
from runtime.processes.front_end.ranks_on_hosts import (
    NOT_PASSED_ON,
    HostSessions,
    RanksOnHosts,
    are_reached,
    kvs_name,
)
from runtime.transport.reactor import Reactor


class JobListener(OutputListener, Protocol):
    """Receives the events of a job."""

    def compiles(self) -> None:
        """Take note that ranks wait for a compiler; on the thread that starts them."""

    def job_ended(self, ended: Exit, why: str) -> None:
        """Take note that all parts have ended, how the first one did, and why it could not run.

        It is called on the reactor's thread.
        """


class RanksJob:
    """The parts of a job, each started by its `mpiexec`: one, or one for each host.

    They work in `folder`, and run under `guard` if there is one, else under a guard that is started
    with them. A part without `mpiexec` is a single rank beside the front-end, which was started
    again: it ends with the others, and of its end its parent tells.
    """

    def __init__(
        self,
        job: Job,
        folder: str,
        listener: JobListener,
        reactor: Reactor,
        *,
        credit: OutputCredit,
        guard: ForkedGuard | None = None,
    ) -> None:
        self.output = JobOutput(job, listener, reactor, credit)
        self._job, self._native = job, native_mpi(job.flavour)
        self._folder = folder
        self._listener = listener
        self._reactor = reactor
        self._guard = guard
        self._memory_kills = MemoryKills()
        self._heads = HeadCount(reactor, job.program.run_directory, self._helper_lost)
        self._launcher: LocalLauncher | None = None
        self._hosts: HostSessions | None = None
        self._processes: dict[JobPart, GuardedProcess | RanksOnHosts] = {}
        self._first_end: tuple[Exit, str] | None = None
        self._is_over = self._is_stopping = self._is_closed = False
        self.has_started = False
        """Whether there is anything to stop, and its end will be told."""
        self.can_start_again = False
        """Whether single ranks can be started."""
        self.is_managed = False
        """Whether our process manager starts the ranks, and no `mpiexec`."""
        self.may_lose_hosts = False
        """Whether the end of one of several `mpiexec` is not that of the job."""

    def attach(self, ends: EndListener) -> None:
        """Let somebody know how ranks end; before they are started."""
        self.output.ends = ends

    def start(self) -> None:
        """Start the ranks; raises LaunchError, such as MissingMpiexec, or LauncherClosed."""
        job = self._job
        job = replace(job, mpiexec=mpiexec_here(job.mpiexec, job.environment))
        if job.program.needs_shim:  # few front-ends compile a library: the others do not load how
            from runtime.processes.front_end.c_library import with_c_library

            job = with_c_library(job, self._folder, self._listener.compiles)
        self._job = job
        launcher = self._launcher = LocalLauncher(timeout=60.0, guard=self._guard)
        if self._is_closed:  # while there was no launcher to close
            launcher.close()
        if job.flavour == AUTO:
            self._native = detect_native_mpi(launcher, job.mpiexec)
        self.output.native = self._native
        self.is_managed = self._can_be_managed()
        try:
            self.output.open_pipes()
            for part in job.parts:
                if self._processes and self._is_stopping:  # another one has failed
                    break
                self._start_part(launcher, part)
            self.can_start_again = True
        except LaunchError:
            self._reactor.soon(lambda: self.output.finish(self._heads.close))
            raise

    def _can_be_managed(self) -> bool:
        """Tell whether nothing but the `mpiexec` of an MPICH as it comes would start the ranks."""
        job = self._job
        if job.options or (job.hosts and not are_reached(os.environ)):
            return False
        _, path = spawning.activated(sys.executable, os.environ.get("PATH", os.defpath))
        is_plain = self._native.is_managed({**os.environ, **job.environment})
        return is_plain and not is_script(job.mpiexec, path)

    def start_again(self, rank: int, incarnation: int, host: str) -> None:
        """Start one rank again, on a host if each host is a part; raises LaunchError."""
        if self._launcher is None or self._is_stopping:
            raise LaunchError("its cluster ends")
        self._start_part(self._launcher, self._job.restarted(rank, incarnation, host))

    def give_up(self, rank: int, incarnation: int) -> None:
        """End what was to start a rank again."""
        for part, process in tuple(self._processes.items()):
            if (part.first, part.incarnation) == (rank, incarnation):
                process.signal(signal.SIGKILL, Reach.TREE)

    def ranks_beside(self, rank: int) -> int:
        """Return how many ranks the native MPI of a rank has."""
        parts = (one.ranks for one in self._job.parts if rank < one.first + one.ranks)
        return next(parts, 1)  # one that came late has it to itself

    def are_some_missing(self) -> bool:
        """Tell whether fewer ranks run here than were started; False where nobody can tell."""
        if self._job.is_elsewhere or self.is_managed or self._first_pid is None:
            return False
        alive = self._heads.living_ranks(self._first_pid)
        return alive is not None and 0 < alive < self._job.ranks

    def watch_helpers(self) -> None:
        """Look after what is between `mpiexec` and its ranks; on the reactor's thread."""
        if self._first_pid is None or self.is_managed:
            return
        if not self._job.for_each_host:
            self._heads.watch_helpers(self._first_pid)

    @property
    def starter(self) -> str:
        """What messages call the process that has started the ranks."""
        return f"{MANAGER_NAME}, which had started the ranks," if self.is_managed else "mpiexec"

    @property
    def _first_pid(self) -> int | None:
        """The process number of the `mpiexec` of the first part that has not ended."""
        return next((one.pid for one in self._processes.values()), None)

    @staticmethod
    def kill_rank(pid: int) -> None:
        """End the process of one rank on this host."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def crash_of(self, number: int) -> str:
        """Return what a rank has left of its crash: why, and the calls of its program."""
        return crash_of(crash_file(self._job.program.run_directory, number), OWN_FRAMES)

    def why_killed(self, host: str) -> str:
        """Return whether the kernel has killed processes of a host for lack of memory."""
        return self._memory_kills.words(host)

    def stop(self) -> None:
        """End all ranks at once."""
        self._stop_waiting()
        for process in tuple(self._processes.values()):
            process.signal(signal.SIGKILL, Reach.TREE)
        if self.has_started:  # each `mpiexec` may have ended before
            self._reactor.soon(self._end_with_the_last_part)

    def close(self) -> None:
        """End everything and let go; waits until that is so. Nothing starts afterwards."""
        self._is_closed = True
        self._stop_waiting()
        if self._hosts is not None:
            self._hosts.close()
        if self._launcher is not None:
            self._launcher.close()

    def _stop_waiting(self) -> None:
        self._is_stopping = True
        self.output.wait_no_more()

    def _start_part(self, launcher: LocalLauncher, part: JobPart) -> None:
        process = self._started(launcher, part)
        self._processes[part], self.has_started = process, True
        process.close_input()
        process.when_done(partial(self._ended, part, process))
        if self._is_stopping:  # perhaps before there was anything to stop
            process.signal(signal.SIGKILL, Reach.TREE)

    def _started(self, launcher: LocalLauncher, part: JobPart) -> GuardedProcess | RanksOnHosts:
        sink = partial(self.output.of_part, part, self._native)
        if not (self.is_managed and part.hosts):
            return launcher.start(self._command(launcher, part), sink())
        if self._hosts is None:
            self._hosts = HostSessions(launcher, self._job.program.python)
        passed = {name: one for name, one in os.environ.items() if name not in NOT_PASSED_ON}
        managed = self._job.managed_on_hosts(part, kvs_name())
        return RanksOnHosts(
            [
                (self._hosts[host], self._managed(ranks, {**passed, **self._job.environment}))
                for (host, _), ranks in zip(part.hosts, managed, strict=False)
            ],
            sink,
        )

    def _managed(
        self, ranks: ManagedRanks, environment: Mapping[str, str], *, is_loaded: bool = False
    ) -> Command:
        python = self._job.program.python
        return manager_command(
            ranks, environment, python=python, cwd=self._folder, is_loaded=is_loaded
        )

    def _command(self, launcher: LocalLauncher, part: JobPart) -> Command:
        """Return the command that starts the ranks of a part."""
        if self.is_managed and part.has_mpiexec:
            ranks = self._job.managed(part, tells_ends=self.output.has_pipes)
            is_loaded = self._guard is not None
            return self._managed(ranks, self._job.environment, is_loaded=is_loaded)
        there = "" if self._job.is_elsewhere else self._job.program.run_directory
        own = self._native.tidiness(there, os.environ)
        if there and not self._job.options:
            own = {**own, **self._native.without_network(os.environ)}
        world = self._job.world(part, own)
        if not part.has_mpiexec:
            return Command(world.argv, world.environment, self._folder)
        is_root = launcher.ready().user == 0
        return mpi_command(world, self._native, is_root=is_root, cwd=self._folder)

    def _helper_lost(self, name: str, at: float) -> None:
        self.output.read_ends()  # a rank that has failed before was told of before
        self.output.ends.helper_lost(name, at)

    def _ended(self, part: JobPart, process: GuardedProcess | RanksOnHosts) -> None:
        """Take the end of a part, on the launcher's thread."""
        why = ""
        try:
            ended = process.wait(0)
        except LaunchError as fault:
            ended = Exit(code=1)
            why = str(fault)
            if isinstance(fault, CommandNotFound) and part.has_mpiexec:
                why = str(missing_mpiexec(self._job.mpiexec, fault))
        self._reactor.soon(lambda: self._part_is_over(part, ended, why, process.tail))

    def _part_is_over(
        self, part: JobPart, ended: Exit, why: str, last_lines: tuple[str, ...]
    ) -> None:
        """Record that a part has ended, on the reactor's thread.

        Before the program runs, that ends the others; and so it does where nobody survives a loss.
        """
        self._processes.pop(part)
        if not part.has_mpiexec:
            return
        if self._job.for_each_host and self.may_lose_hosts and not self._is_stopping:
            words = self._native.reason_in(last_lines)
            ending = f"the mpiexec for {part.host} ended with {ended}" + (words and f": {words}")
            self.output.ends.host_lost(part, why or ending)
            return
        if ended.ok:
            self.output.pass_on_own_words()
        self._first_end = self._first_end or (ended, why)
        if self._is_stopping:
            self._end_with_the_last_part()
        else:
            self.stop()

    def _end_with_the_last_part(self) -> None:
        if self._is_over or any(part.has_mpiexec for part in self._processes):
            return
        self._is_over = True
        self.output.finish(self._end)

    def _end(self) -> None:
        self._heads.close()
        self._listener.job_ended(*(self._first_end or (Exit(code=0), "")))
