"""The native MPI job of a cluster as its front-end sees it: started, listened to, ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial

from runtime.launchers.base import Command, Exit, OutputStream, Reach
from runtime.launchers.blocks import LastLines
from runtime.launchers.errors import CommandNotFound, LaunchError
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.guarded import GuardedProcess
from runtime.launchers.local import LocalLauncher
from runtime.launchers.mpiexec import detect_native_mpi, missing_mpiexec, mpi_command
from runtime.launchers.rank_lines import RankLines
from runtime.native_mpi import AUTO, Job, JobPart, NativeMpi, native_mpi, room_words
from runtime.processes.front_end.end_pipe import EndPipe, Saw
from runtime.processes.front_end.head_count import helpers_between, living_ranks
from runtime.processes.front_end.job_ends import IN_TIME
from runtime.processes.front_end.output_room import OutputRoom
from runtime.processes.front_end.rank_pipes import MOST_RANKS, Block, RankPipes
from runtime.transport.reactor import READ, Reactor

EXPLAINED = 1.0
"""Seconds in which a rank's failure, if there is one, explains what `mpiexec` says."""

Said = tuple[int | None, str, bytes]
"""Whole lines with their rank, None for `mpiexec` itself, and the name of their stream."""


class RanksJob:
    """The parts of a job, each with its `mpiexec`: one, or one for each host.

    `say` gets lines in order, `done` how it ended and why it could not run.
    What is said takes `room`; without any, the ranks have to wait.
    `saw` is told how each rank ended, `lost` the name of a process of `mpiexec` that ended, and
    when, `host_lost` a part whose `mpiexec` has ended while the others go on, and why, and
    `output_follows` that it is over but for output that is not taken yet; all on the
    reactor's thread. It runs under `guard` if there is one, else under a guard that is started with
    it.
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
        host_lost: Callable[[JobPart, str], None],
        output_follows: Callable[[], None],
        guard: ForkedGuard | None = None,
    ) -> None:
        self._job = job
        self._over: tuple[Exit, str] | None = None  # how the first one ended
        self._is_told_over = False
        self._host_lost, self._output_follows = host_lost, output_follows
        self._output_room = room
        self._room = job.program.room
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
        self._processes: dict[JobPart, GuardedProcess] = {}
        self._has_started = False
        self._native = native_mpi(job.flavour)
        self._batch: list[Said] = []
        self._last = LastLines()
        self._own = LastLines()
        self._is_stopping = False
        self._unexplained: list[bytes] = []
        self.signal_told = 0
        """The signal by which `mpiexec` says that a rank has ended."""
        self.has_failed = False
        """Whether a rank is known to have failed, which explains what `mpiexec` says then."""
        self.may_lose_hosts = False
        """Whether the end of one of several `mpiexec` is not that of the job."""

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
        launcher = self._launcher = LocalLauncher(timeout=60.0, guard=self._guard)
        if self._is_closed:  # while there was no launcher to close
            launcher.close()
        if job.flavour == AUTO:
            self._native = detect_native_mpi(launcher, job.mpiexec)
        self._pipes, self._ends = self._new_pipes(), self._new_end_pipe()
        try:
            for part in job.parts:
                if self._processes and self._is_stopping:  # another one has failed
                    break
                self._start_part(launcher, part)
        except LaunchError:
            self._reactor.soon(lambda: self._finish(lambda: None))
            raise

    def start_again(self, rank: int, incarnation: int, host: str) -> None:
        """Start one rank again, on a host if each host is a part; raises LaunchError."""
        if self._launcher is None or self._is_stopping:
            raise LaunchError("its cluster ends")
        self._start_part(self._launcher, self._job.restarted(rank, incarnation, host))

    def _start_part(self, launcher: LocalLauncher, part: JobPart) -> None:
        process = launcher.start(self._command(launcher, part), _Output(self, part, self._native))
        self._processes[part], self._has_started = process, True
        process.close_input()
        process.when_done(partial(self._ended, part, process))
        if self._is_stopping:  # perhaps before there was anything to stop
            process.signal(signal.SIGKILL, Reach.TREE)

    def _command(self, launcher: LocalLauncher, part: JobPart) -> Command:
        """Return the command that starts the ranks of a part."""
        there = "" if self._job.is_elsewhere else self._room
        world = self._job.world(part, self._native.tidiness(there, os.environ))
        if not part.has_mpiexec:
            return Command(world.argv, world.environment, self._folder)
        is_root = launcher.ready().user == 0
        return mpi_command(world, self._native, is_root=is_root, cwd=self._folder)

    def give_up(self, rank: int, incarnation: int) -> None:
        """End what was to start a rank again."""
        for part, process in tuple(self._processes.items()):
            if (part.first, part.incarnation) == (rank, incarnation):
                process.signal(signal.SIGKILL, Reach.TREE)

    def ranks_beside(self, rank: int) -> int:
        """Return how many ranks the native MPI of a rank has."""
        return next(one.ranks for one in self._job.parts if rank < one.first + one.ranks)

    def _new_pipes(self) -> RankPipes | None:
        """Return pipes for what the ranks write; None where they cannot reach them."""
        if self._job.is_elsewhere or self._job.ranks > MOST_RANKS:
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
        if self._job.is_elsewhere:
            return None
        try:
            return EndPipe(self._reactor, self._room, self._saw)
        except OSError as fault:
            raise LaunchError(
                f"no pipe can be made for the ends of ranks: {fault}",
                cure="Name another folder for temporary files, with rights and space",
            ) from fault

    @property
    def _pid(self) -> int | None:
        """The process number of the `mpiexec` of all ranks; None if there are several."""
        first, *others = self._job.parts
        return None if others or first not in self._processes else self._processes[first].pid

    def are_some_missing(self) -> bool:
        """Tell whether fewer ranks run here than were started; False where nobody can tell."""
        pid = self._pid
        if pid is None or self._job.is_elsewhere:
            return False
        alive = living_ranks(pid, " ".join(room_words(self._room)))
        return alive is not None and 0 < alive < self._job.ranks

    def watch_helpers(self) -> None:
        """Look after the processes between `mpiexec` and its ranks; on the reactor's thread."""
        pid = self._pid
        if pid is None or self._job.for_each_host or not hasattr(os, "pidfd_open"):
            return
        for helper, name in helpers_between(pid, " ".join(room_words(self._room))).items():
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
        return self._has_started

    def stop(self) -> None:
        """End all ranks at once."""
        self._wait_no_more()
        for process in tuple(self._processes.values()):
            process.signal(signal.SIGKILL, Reach.TREE)
        if self._has_started:  # each `mpiexec` may have ended before
            self._reactor.soon(self._over_if_none_is_left)

    def close(self) -> None:
        """End everything and let go; waits until that is so. Nothing starts afterwards."""
        self._is_closed = True
        self._wait_no_more()
        if self._launcher is not None:
            self._launcher.close()

    def _wait_no_more(self) -> None:
        self._is_stopping = True
        self._output_room.wake()

    # --- from the launcher's thread -------------------------------------------------------------

    def pass_on(self) -> None:
        """Pass on the lines that are complete."""
        batch, self._batch = self._batch, []
        if batch:
            self._say(batch)

    def wait_for_room(self) -> None:
        """Wait until more may be said: nobody else uses this launcher."""
        self._output_room.wait(lambda: self._is_stopping)

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

    def heard(self, rank: int | None, stream: OutputStream, block: bytes) -> None:
        """Take what a rank says, or `mpiexec` itself."""
        if rank is not None:
            self._batch.append((rank, str(stream), block))
        if stream is OutputStream.ERROR or rank is None:
            self._last.add(block)
        if rank is None:
            words = block.decode("utf-8", errors="replace")
            self.signal_told = self._native.signal_in(words) or self.signal_told
            self._own.add(block)
            self._reactor.soon(lambda: self._unexplained.append(block))
            self._reactor.later(EXPLAINED, self._pass_on_own_words)

    def heard_alone(self, rank: int | None, stream: OutputStream, block: bytes) -> None:
        """Take what a rank says that has no `mpiexec`, and so also what nobody else can say."""
        self._batch.append((rank, str(stream), block))

    def _pass_on_own_words(self) -> None:
        """Say what `mpiexec` said, unless that is only about a rank that has failed."""
        blocks, self._unexplained = self._unexplained, []
        if blocks and not self.has_failed:
            self._say([(None, str(OutputStream.ERROR), block) for block in blocks])

    def _ended(self, part: JobPart, process: GuardedProcess) -> None:
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
        if not part.has_mpiexec:  # its parent tells how it has ended
            return
        if self._job.for_each_host and self.may_lose_hosts and not self._is_stopping:
            words = self._native.reason_in(last_lines)
            told = f"the mpiexec for {part.host} ended with {ended}" + (words and f": {words}")
            self._host_lost(part, why or told)
            return
        if ended.ok:
            self._pass_on_own_words()
        self._over = self._over or (ended, why)
        if self._is_stopping:
            self._over_if_none_is_left()
        else:
            self.stop()

    def _over_if_none_is_left(self) -> None:
        if self._is_told_over or any(part.has_mpiexec for part in self._processes):
            return
        self._is_told_over = True
        ended, why = self._over or (Exit(code=0), "")
        self._finish(lambda: self._done(ended, why))

    def _finish(self, then: Callable[[], None]) -> None:
        """Do something behind all that the ranks have written and all that was told of them."""
        if self._pipes is not None:
            self._pipes.finish()
        self._output_room.say(0, lambda: self._finish_ends(then))
        if self._output_room.holds_any:
            self._output_follows()

    def _finish_ends(self, then: Callable[[], None]) -> None:
        for descriptor in tuple(self._helpers):
            self._forget_helper(descriptor)
        if self._ends is not None:
            self._ends.read()
            self._ends.close()
        then()


class _Output:
    """Takes what the ranks of a part write, and its `mpiexec`, if it has one."""

    def __init__(self, job: RanksJob, part: JobPart, native: NativeMpi) -> None:
        self._job = job
        heard = job.heard if part.has_mpiexec else job.heard_alone
        self._lines = RankLines(heard, job.told, first=part.first, tag=native.tag)

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take what comes."""
        self._lines.received(stream, data)
        self._job.pass_on()
        self._job.wait_for_room()

    def finished(self) -> None:
        """Take what never got its newline."""
        self._lines.finished()
        self._job.pass_on()


def no_pipes(fault: OSError) -> LaunchError:
    """Return what is raised where no pipes can be made."""
    return LaunchError(
        f"no pipes can be made for what the ranks read and write: {fault}",
        cure="Name another folder for temporary files, with rights and space",
    )
