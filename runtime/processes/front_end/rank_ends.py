"""How the ranks of a job end, and are started again: what is observed, until the launcher knows it.

The rank itself, its parent, its connection and its host tell of its end in any order, and some of
it late. `JobEnds` makes one death of that, which is reported from here; here is also waited for
what may still come, though not for long. A rank may then be started again in another incarnation.
"""

from __future__ import annotations

import logging
import signal
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from runtime.errors import GridError
from runtime.launchers.base import Exit
from runtime.launchers.mpiexec import MANAGER_BROKEN
from runtime.machine.contracts import Facts, Reports
from runtime.machine.deaths import (
    BY_REQUEST,
    Observation,
    RankDeath,
    UnreadableReport,
    Witness,
)
from runtime.processes.configuration import FrontEndSettings
from runtime.processes.front_end import rank_faults
from runtime.processes.front_end.cluster_ranks import ClusterRanks, RankEntry, RankHosts
from runtime.processes.front_end.job_ends import IN_TIME, JobEnds, sight_of
from runtime.processes.front_end.native_job_life import (
    NativeJobEvent,
    NativeJobLife,
    NativeJobStage,
)
from runtime.step_name import StepKind, StepName
from runtime.transport.lean import HOST_SILENCE
from runtime.transport.reactor import Reactor

if TYPE_CHECKING:
    from runtime.native_mpi import JobPart
    from runtime.processes.front_end.gate import Gate
    from runtime.processes.front_end.ranks_job import RanksJob

_log = logging.getLogger(__name__)

WORDS_TIMEOUT = 0.5
"""Seconds for what a rank wrote last to come, where that takes another way than its end."""

END_TIMEOUT = 2.0
"""Seconds to wait for the cause when a rank is gone."""

LOCAL_PAUSE, REMOTE_PAUSE = 0.1, 1.0
"""Seconds in which the last bytes of a rank arrive: from this host, from afar."""


class RankEnds:
    """Reports the death of each rank of a job once its program runs; before, that fails the start.

    All methods are for the reactor's thread.
    """

    def __init__(
        self,
        configuration: FrontEndSettings,
        reactor: Reactor,
        launcher: Reports,
        table: ClusterRanks,
        *,
        job: RanksJob,
        life: NativeJobLife,
    ) -> None:
        assert configuration.job is not None
        self._configuration = configuration
        self._reactor = reactor
        self._launcher = launcher
        self._table = table
        self._life = life
        self._ends = JobEnds(configuration.cluster, goes_on=configuration.job.goes_on)
        # otherwise no rank is lost with its host alone, and all are restarted beside this process
        ranks = configuration.job
        self._hosts = RankHosts(ranks.hosts, ranks.spares) if ranks.for_each_host else None
        self._goes_on, self._is_elsewhere = ranks.goes_on, ranks.is_elsewhere
        self._is_late = ranks.is_late
        self._pause = REMOTE_PAUSE if ranks.is_elsewhere else LOCAL_PAUSE
        self._job = job
        self._gate: Gate | None = None
        self._early: RankDeath | None = None
        job.attach(self)

    def open(self, gate: Gate) -> None:
        """Let ranks come and go through a gate from now on."""
        self._gate = gate

    # --- in the place of lost ones ----------------------------------------------------------------

    def start_again(self, rank: str, incarnation: int) -> None:
        """Start one rank again in place of one that is lost; tell the launcher if that fails.

        That is on another host if nobody on its own has told how it ended, or it never got ready
        there; not where it is the first one in a place that was kept.
        """
        entry = self._table[rank]
        is_first = self._is_late and not entry.was_restarted
        works = is_first or (self._ends.was_reported(rank) and entry.is_ready)
        if self._hosts is not None and not works:
            self._hosts.lose(self._hosts.host_of(entry.number))
        _log.info(
            "%s starts again, in incarnation %d", self._configuration.names.name(rank), incarnation
        )
        self._ends.again(rank)
        self._job.output.aborts.pop(entry.number, None)
        entry.restart(incarnation)
        try:
            if self._gate is None or not self._life.is_wanted:
                raise GridError("its cluster has ended")
            host = "" if self._hosts is None else self._hosts.place_again(entry.number)
            address = self._gate.expect_again(rank, incarnation)
            bootstrap = self._configuration.bootstrap(address, incarnation)
            self._gate.publish_key(bootstrap, alone=rank)
            self._job.start_again(entry.number, incarnation, host)
        except GridError as fault:
            self.cannot_start(entry, str(fault))
            return
        limit = self._configuration.ranks_limit
        self._reactor.later(limit, partial(self._check_start, entry, incarnation))

    def _check_start(self, entry: RankEntry, incarnation: int) -> None:
        is_present = entry.incarnation == incarnation
        if is_present and not entry.is_ready and not self._is_known(entry):
            self._job.give_up(entry.number, incarnation)
            limit = self._configuration.ranks_limit
            why = f"it was not ready within {limit:g} s{self._where(entry)}"
            self.cannot_start(entry, why)

    def cannot_start(self, entry: RankEntry, why: str) -> None:
        """Report that a rank is not started again."""
        if self._gate is not None:
            self._gate.expect_no_more(entry.name, entry.incarnation)
        self._report(self._ends.concluded(entry.name, f"could not be started again: {why}"))

    def _where(self, entry: RankEntry) -> str:
        return "" if self._hosts is None else f" on {self._hosts.host_of(entry.number)}"

    # --- ends that are wanted ---------------------------------------------------------------------

    def stopping(self) -> None:
        """Record that all ranks are asked to end: what is seen later follows from that."""
        self._ends.stopping(self._reactor.now())

    def end_rank(self, rank: str) -> None:
        """End one rank that others have lost; its parent tells how.

        One on another host loses its connection: it ends when it notices that, if it is stopped
        now, as soon as it goes on.
        """
        entry = self._table[rank]
        if entry.arrival is None or self._is_known(entry):
            return
        if self._is_elsewhere and self._gate is not None:
            self._abandon(entry, f"was ended: others cannot reach it{self._where(entry)}")
        else:
            self._job.kill_rank(entry.arrival.pid)

    def expel(self, rank: str, why: str) -> None:
        """Count a rank as lost for what it has told; it ends with its connection."""
        death = self._ends.concluded(rank, why)
        self._hang_up(self._table[rank])
        self._report(death)

    def _abandon(self, entry: RankEntry, why: str) -> None:
        """Hang up on a rank of another host, of whose end nobody there will tell.

        Nor is one started again there while others cannot reach it: its parent may still tell.
        """
        self._hang_up(entry)
        if self._hosts is not None:
            self._hosts.lose(self._hosts.host_of(entry.number))
        self._report(self._ends.host_gone(entry.name, why))
        self._report(self._ends.give_up(entry.name))

    def _hang_up(self, entry: RankEntry) -> None:
        if self._gate is not None:
            self._gate.dismiss(entry.name)
        entry.is_connected = False

    def end_parents(self) -> None:
        """End `mpiexec` once all ranks have, where these go on without lost ones."""
        if (
            self._goes_on
            and self._have_all_ended
            and self._life.stage is not NativeJobStage.DISMISSED
        ):
            self._life.advance(NativeJobEvent.ALL_ENDED)
            self._stop_job()

    def _end_with_the_last(self) -> None:
        """End `mpiexec` once all ranks have: it waits for their parents, and these for its end.

        Where one was lost another one may be started in its place until the run ends.
        """
        if self._have_all_ended and not self._ends.are_some_lost and self._life.is_wanted:
            self._life.advance(NativeJobEvent.ALL_ENDED)
            self._reactor.later(self._pause, self._stop_job)

    @property
    def _have_all_ended(self) -> bool:
        return len(self._ends.known) == len(self._table)

    def _stop_job(self) -> None:
        self.stopping()
        self._job.stop()

    # --- what is observed -------------------------------------------------------------------------

    def process_ended(self, number: int, status: int, at: float, incarnation: int) -> None:
        """Take what the parent of a rank has seen of its end.

        That of a process in whose place another one was started may come late.
        """
        if not 0 <= number < len(self._table):
            return  # the writer was no parent of a rank
        entry = self._table.at(number)
        if incarnation != entry.incarnation:
            return
        crash = self._job.crash_of(number) if status else ""
        at = self._reactor.now() if at == IN_TIME and not self._life.is_wanted else at
        is_connected, sight = entry.is_connected, sight_of(status, at, crash)
        if sight.code:
            sight = self._with_words_of_mpi(number, sight)
        self._report(self._ends.exited(entry.name, sight, is_connected=is_connected))
        if is_connected and not self._is_known(entry):
            self._give_up_once_quiet(entry, incarnation)

    def _with_words_of_mpi(self, number: int, sight: Observation) -> Observation:
        """Add why the MPI of a rank has aborted; the others then end with the same exit code."""
        output = self._job.output
        output.read_aborts(number)
        own = output.aborts.get(number)
        if own is not None and own.code == sight.code:
            return replace(sight, why=own.why)
        for aborting, abort in list(output.aborts.items()):
            if abort.code == sight.code and aborting != number:
                self._ends.mpi_aborted(self._table.at(aborting).name, abort.code)
        return sight

    def connection_ended(self, rank: str, *, is_silence: bool) -> None:
        """Wait until it is known how a rank ended that is gone without a word, but not for long.

        Nobody will tell that of a rank whose host does not answer.
        """
        entry = self._table[rank]
        entry.is_connected = False
        if self._life.is_over:
            return
        if is_silence and not self._is_known(entry):
            self._abandon(entry, f"was lost: its host has not answered for {HOST_SILENCE:g} s")
            return
        end = self._ends.left(rank)
        self._report(end)
        if end is None:
            self._reactor.later(END_TIMEOUT, partial(self._give_up, entry, entry.incarnation))

    def reported(self, rank: str, observed: Facts, *, is_abort: bool = False) -> None:
        """Report how a rank ended by its own word, perhaps as it wants everything to end."""
        if is_abort:
            self._ends.aborted(rank)
        try:
            seen = Observation.parse(Witness.RANK, observed)
        except UnreadableReport as fault:
            self.expel(rank, f"what it tells of its end is not understood: {fault}")
        else:
            self._report(self._ends.program_ended(rank, seen))

    def host_lost(self, part: JobPart, why: str) -> None:
        """Record that ranks were lost with their host, or at least what `mpiexec` ran there."""
        assert self._hosts is not None
        self._hosts.lose(part.host)
        for number in range(part.first, part.first + part.ranks):
            entry = self._table.at(number)
            if entry.incarnation != part.incarnation or self._is_known(entry):
                continue
            if entry.was_restarted and not entry.is_ready:
                self.cannot_start(entry, why)
                continue
            text = f"was lost with {part.host}: {why}"
            self._report(self._ends.host_gone(entry.name, text))
            if not self._is_known(entry):  # its last words may be on their way
                self._reactor.later(REMOTE_PAUSE, partial(self._abandon_later, entry, part, text))

    def _abandon_later(self, entry: RankEntry, part: JobPart, why: str) -> None:
        if entry.incarnation == part.incarnation and not self._is_known(entry):
            self._abandon(entry, why)

    def helper_lost(self, name: str, at: float) -> None:
        """End ranks whose `mpiexec` has lost a process: they may wait for each other for ever.

        At the end of a run, or when a rank has failed, `mpiexec` ends by itself within that time.
        """
        self._ends.helper_ended(name, at)
        self._reactor.later(END_TIMEOUT, self._end_broken_job)

    def _end_broken_job(self) -> None:
        # if no rank is left, only `mpiexec` is: it has output that nobody reads yet
        self._job.output.read_ends()
        connected = [one.name for one in self._table if one.is_connected]
        is_running = self._life.stage is NativeJobStage.STARTED
        if is_running and self._ends.is_helper_outlived_by(connected):
            self._job.stop()

    # --- what becomes of it -----------------------------------------------------------------------

    def _is_known(self, entry: RankEntry) -> bool:
        return entry.name in self._ends.known

    def _give_up_once_quiet(self, entry: RankEntry, incarnation: int, received: int = -1) -> None:
        """Wait for last words of a rank whose process has ended while more of them come.

        Its connection may live on for as long as a child of it does.
        """
        way = None if self._gate is None else self._gate.find(entry.name)
        now = 0 if way is None else way.received_bytes
        if now == received and not (way is not None and way.is_held):
            self._give_up(entry, incarnation)
        elif not self._is_known(entry):
            again = partial(self._give_up_once_quiet, entry, incarnation, now)
            self._reactor.later(self._pause, again)

    def _give_up(self, entry: RankEntry, incarnation: int) -> None:
        if not self._life.is_over and entry.incarnation == incarnation:  # else it started again
            self._report(self._ends.give_up(entry.name))

    def _report(self, death: RankDeath | None) -> None:
        if death is None:
            return
        words = "%s %s, as its %s tells%s"
        after = death.after and f", after {death.after}"
        _log.info(
            words, self._configuration.names.name(death.who), death.how, death.observed.by, after
        )
        if self._goes_on and self._is_released:
            self._end_with_the_last()
        output = self._job.output
        output.has_failed = output.has_failed or bool(death.code)
        seen = death.observed
        if seen.signal == signal.SIGKILL and not (seen.why or death.after):
            arrival = self._table[death.who].arrival
            why = self._job.why_killed(arrival.host) if arrival is not None else ""
            death = replace(death, observed=replace(seen, why=why))
        if self._is_released:
            self._launcher.rank_ended(death.who, death.plain)
        elif self._life.is_wanted and death.after != BY_REQUEST:
            output.read_pipes()  # what it wrote last was there before its end was told
            self._early = self._early or death
            if output.has_pipes or output.last_lines:
                self._tell_early_death()
            else:  # its words come another way, through the guard
                self._reactor.later(WORDS_TIMEOUT, self._tell_early_death)

    def _tell_early_death(self) -> None:
        """Tell which rank died first before the application started, with what was written."""
        death, self._early = self._early, None
        if death is None:
            return
        lines = self._job.output.last_lines
        fault = rank_faults.died_early(self._configuration.names, death, lines)
        why = rank_faults.at_home(self._configuration.path, fault)
        step = StepName(StepKind.RANKS, self._configuration.cluster)
        self._launcher.failed(str(step), why)

    @property
    def _is_released(self) -> bool:
        return self._gate is not None and self._gate.released

    def job_ended(self, ended: Exit, why: str) -> tuple[int, str]:
        """Report what follows for ranks from the end of `mpiexec`, or from `why` that is not known.

        Returns the exit code of the job, and the fault of `mpiexec` itself, if it had one.
        """
        self._tell_early_death()
        is_dismissed = self._life.stage is NativeJobStage.DISMISSED
        self._life.advance(NativeJobEvent.ENDED, f"its MPI has ended ({ended})")
        for entry in self._table:
            if entry.was_restarted and not entry.is_ready and not self._is_known(entry):
                self.cannot_start(entry, "its cluster has ended")
        output, come = self._job.output, self._table.arrived
        found, fault = self._ends.job_over(
            ended,
            why or output.own_words,
            come,
            output.signal_printed,
            starter=self._job.starter,
            is_broken=bool(why) or (self._job.is_managed and ended.code == MANAGER_BROKEN),
        )
        code = self._ends.first_code or (0 if is_dismissed else ended.shell_code)
        if self._is_released:
            for death in found:
                self._report(death)
        return code, fault
