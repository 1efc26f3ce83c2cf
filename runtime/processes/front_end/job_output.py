"""What the ranks of a job and their `mpiexec` write, on its way to the launcher.

A part of a job has two outputs. Ranks on the host of the front-end write into pipes of their own,
and their parents tell their ends through one more. What ranks on other hosts write, and how they
end, comes as records among the lines of their `mpiexec`. What that says itself is kept for a
moment: a rank that has failed explains it, and then nobody needs to read it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runtime.launchers.base import OutputStream
from runtime.launchers.errors import LaunchError
from runtime.launchers.lines import Tail
from runtime.launchers.rank_lines import RankLines
from runtime.native_mpi import Job, JobPart, MpiAbort, NativeMpi
from runtime.processes.front_end.job_ends import IN_TIME
from runtime.processes.front_end.output_credit import OutputCredit
from runtime.processes.front_end.rank_pipes import MOST_RANKS, Block, EndPipe, RankPipes
from runtime.transport.reactor import Reactor

EXPLAINED = 1.0
"""Seconds in which a rank's failure, if there is one, explains what `mpiexec` says."""

WrittenLines = tuple[int | None, str, bytes]
"""Whole lines with their rank, None for `mpiexec` itself, and the name of their stream."""


class OutputListener(Protocol):
    """Receives what is written by ranks."""

    def job_wrote(self, lines: list[WrittenLines]) -> None:
        """Take the next lines, in order, on the reactor's thread or that of the launcher."""

    def output_follows(self) -> None:
        """Take note that the job is over but for output that the launcher has not taken yet."""


class EndListener(Protocol):
    """Receives what is observed of the ends of ranks, on the reactor's thread."""

    def process_ended(self, number: int, status: int, at: float, incarnation: int) -> None:
        """Take the wait status with which the process of a rank has ended."""

    def helper_lost(self, name: str, at: float) -> None:
        """Take note of the end of a process between `mpiexec` and its ranks."""

    def host_lost(self, part: JobPart, why: str) -> None:
        """Take note that a part has ended while the others go on."""


class JobOutput:
    """The output of all parts of a job. Ranks wait while there is no `credit` for it."""

    def __init__(
        self, job: Job, listener: OutputListener, reactor: Reactor, credit: OutputCredit
    ) -> None:
        self._job = job
        self._listener = listener
        self._reactor = reactor
        self._credit = credit
        self.ends: EndListener
        """Who is told how ranks end; to be set before any does."""
        self._pipes: RankPipes | None = None
        self._ends: EndPipe | None = None
        self._last, self._own = Tail(), Tail()
        self._unexplained: list[bytes] = []
        self._is_over = False
        self.signal_printed = 0
        """The signal by which `mpiexec` says that a rank has ended."""
        self.native = NativeMpi()
        """The MPI of the ranks, once it is known."""
        self._are_aborts_read = False
        self.aborts: dict[int, MpiAbort] = {}
        """Ranks whose MPI aborts, by its own words."""
        self.has_failed = False
        """Whether a rank is known to have failed, which explains what `mpiexec` says then."""

    @property
    def last_lines(self) -> str:
        """What ranks and `mpiexec` said last on stderr, for an error message."""
        return "\n".join(self._last.lines)

    @property
    def own_words(self) -> str:
        """What `mpiexec` itself said last."""
        return "\n".join(self._own.lines)

    def open_pipes(self) -> None:
        """Make the pipes of ranks on this host, before there are any; raises LaunchError."""
        if self._job.is_elsewhere:
            return
        directory, ranks = self._job.program.run_directory, self._job.ranks
        try:
            if ranks <= MOST_RANKS:
                self._pipes = RankPipes(
                    self._reactor, directory, ranks, self._written, self._credit
                )
            self._ends = EndPipe(self._reactor, directory, self.ends.process_ended)
        except OSError as fault:
            raise no_pipes(fault) from fault

    @property
    def has_pipes(self) -> bool:
        """Whether ranks write into pipes of this process."""
        return self._pipes is not None

    def of_part(self, part: JobPart, native: NativeMpi) -> PartSink:
        """Return what takes the lines of a part's `mpiexec`, or those of its only rank."""
        return PartSink(self, part, native)

    def show_prompts(self) -> None:
        """Pass on what rank 0 writes also without a newline, if it stays without for a while."""
        if self._pipes is not None:
            self._pipes.show_prompts()

    def read_ends(self) -> None:
        """Pass on what has been told until now of the ends of ranks; on the reactor's thread."""
        if self._ends is not None:
            self._ends.read()

    def read_pipes(self) -> None:
        """Take what ranks on this host have written until now; on the reactor's thread."""
        if self._pipes is not None:
            self._pipes.read_now()

    def read_aborts(self, rank: int) -> None:
        """Take note why the MPI of a rank that has failed has aborted; on the reactor's thread.

        That of another one may have, which ends the first one that fails.
        """
        if self._pipes is not None:
            ranks = {rank} if self._are_aborts_read else range(self._job.ranks)
            self._are_aborts_read = True
            self._pipes.read_errors(ranks)

    def wait_no_more(self) -> None:
        """End the waits for credit: the ranks are being ended."""
        self._is_over = True
        self._credit.wake()

    def finish(self, then: Callable[[], None]) -> None:
        """Call `then` behind all that the ranks have written and all that was told of them."""
        if self._pipes is not None:
            self._pipes.finish()
        self._credit.put(0, lambda: self._finish_ends(then))
        if self._credit.holds_any:
            self._listener.output_follows()

    def _finish_ends(self, then: Callable[[], None]) -> None:
        self.read_ends()
        if self._ends is not None:
            self._ends.close()
        then()

    def _written(self, blocks: list[Block]) -> None:
        """Take what ranks wrote into their pipes, on the reactor's thread."""
        self.pass_on([(rank, str(stream), block) for rank, stream, block in blocks])

    # --- on the launcher's thread ---------------------------------------------------------------

    def pass_on(self, lines: list[WrittenLines]) -> None:
        """Pass lines of ranks on."""
        written = [self._noticed(*line) for line in lines]
        if written:
            self._listener.job_wrote(written)

    def _noticed(self, rank: int | None, stream: str, block: bytes) -> WrittenLines:
        """Take note of what lines say on stderr; an abort is told without a rank of the cluster."""
        if stream == OutputStream.ERROR:
            if rank is not None:
                block, abort = self.native.abort_in(block)
                if abort is not None:
                    self.aborts[rank] = abort
            self._last.feed(block)
        return rank, stream, block

    def wait_for_room(self) -> None:
        """Wait until more may be said: nobody else uses this launcher."""
        self._credit.wait(lambda: self._is_over)

    def record_end(self, rank: int, words: str) -> None:
        """Take the wait status that the parent of a rank on another host tells."""
        status, incarnation = map(int, words.split())
        self._reactor.soon(lambda: self.ends.process_ended(rank, status, IN_TIME, incarnation))

    def keep_own_words(self, block: bytes, signal: int) -> None:
        """Keep what an `mpiexec` says itself, and the signal that it names, if it does."""
        self.signal_printed = signal or self.signal_printed
        self._last.feed(block)
        self._own.feed(block)
        self._reactor.soon(lambda: self._unexplained.append(block))
        self._reactor.later(EXPLAINED, self.pass_on_own_words)

    def pass_on_own_words(self) -> None:
        """Say what `mpiexec` said, unless that is only about a rank that has failed."""
        blocks, self._unexplained = self._unexplained, []
        if blocks and not self.has_failed:
            self._listener.job_wrote([(None, str(OutputStream.ERROR), block) for block in blocks])


class PartSink:
    """Takes what the ranks of a part write, and its `mpiexec`, if it has one."""

    def __init__(self, output: JobOutput, part: JobPart, native: NativeMpi) -> None:
        self._output = output
        self._part, self._native = part, native
        self._lines = RankLines(self._wrote, output.record_end, first=part.first, tag=native.tag)
        self._batch: list[WrittenLines] = []

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take what comes."""
        self._lines.received(stream, data)
        self._pass_on()
        self._output.wait_for_room()

    def finished(self) -> None:
        """Take what never got its newline."""
        self._lines.finished()
        self._pass_on()

    def _wrote(self, rank: int | None, stream: OutputStream, block: bytes) -> None:
        if rank is None and self._part.has_mpiexec:
            words = block.decode("utf-8", errors="replace")
            self._output.keep_own_words(block, self._native.signal_in(words))
        else:
            self._batch.append((rank, str(stream), block))

    def _pass_on(self) -> None:
        batch, self._batch = self._batch, []
        self._output.pass_on(batch)


def no_pipes(fault: OSError) -> LaunchError:
    """Return what is raised where no pipes can be made."""
    return LaunchError(
        f"no pipes can be made for what the ranks read and write: {fault}",
        cure="Name another folder for temporary files, with rights and space",
    )
