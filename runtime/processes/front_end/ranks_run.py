"""One run of the ranks of a cluster, from their start to the end of their native MPI."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any

from runtime.errors import GridError
from runtime.launchers.base import Exit, OutputStream
from runtime.launchers.family import holders_of
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.segments import remove_segments
from runtime.machine.calls import Send, reports_of
from runtime.machine.contracts import Control, Facts, Views
from runtime.machine.deaths import UnreadableReport
from runtime.machine.paths import FIRST_CLUSTER
from runtime.membership.bind_address import AdvertisedAddresses
from runtime.membership.whereabouts import RankArrival
from runtime.part_names import site_of
from runtime.processes.configuration import FrontEndSettings
from runtime.processes.front_end import rank_faults
from runtime.processes.front_end.cluster_ranks import ClusterRanks
from runtime.processes.front_end.gate import Gate
from runtime.processes.front_end.job_output import WrittenLines, no_pipes
from runtime.processes.front_end.native_job_life import (
    NativeJobEvent,
    NativeJobLife,
    NativeJobStage,
)
from runtime.processes.front_end.output_credit import OutputCredit
from runtime.processes.front_end.rank_ends import END_TIMEOUT, RankEnds
from runtime.processes.front_end.rank_pipes import RankInput
from runtime.processes.front_end.ranks_job import RanksJob
from runtime.processes.front_end.shared_routes import SharedRoutes
from runtime.shown_text import listed, shown
from runtime.step_name import StepKind, StepName
from runtime.transport.channel import Channel, Relay
from runtime.transport.keys import member_name
from runtime.transport.reactor import Reactor
from runtime.transport.transports import UNIX

if TYPE_CHECKING:
    from runtime.forwarding.distance import DistantListeners
    from runtime.native_mpi import Job
    from runtime.processes.front_end.components import Components
    from runtime.topology import Wan

COUNT_INTERVAL = 1.0
"""Seconds between two counts of the ranks until all have come."""

MISSING_COUNTS = 2
"""In so many counts in a row a rank has to be missing."""


class RanksRun:
    """Starts the ranks, gathers them, and tells the launcher what becomes of them.

    `tell` sends what the launcher is told, `relay` says where messages of ranks for other codes go.
    `over` is called once the native MPI has ended and everything that its ranks had said has been
    passed on. `components` are what ranks are bound to. `routes` keeps what they know of routes,
    for later runs too. All methods but `close` are for the reactor's thread.
    """

    def __init__(
        self,
        configuration: FrontEndSettings,
        reactor: Reactor,
        tell: Send,
        relay: Relay,
        over: Callable[[], None],
        *,
        components: Components,
        routes: SharedRoutes,
        credit: OutputCredit,
        incarnation: int,
        guard: ForkedGuard | None = None,
    ) -> None:
        assert configuration.job is not None
        self.incarnation, self.cluster = incarnation, configuration.cluster
        self._configuration = configuration
        self._ranks = configuration.job
        self._reactor = reactor
        self._launcher = reports_of(member_name(configuration.cluster, incarnation), tell)
        self._components = components
        self._relay = relay
        self._over = over
        self._routes = routes
        self._table = ClusterRanks(configuration.cluster, configuration.job.ranks)
        self._job = self._new_job(configuration.job, credit, guard)
        self._life = NativeJobLife()
        self.ends = RankEnds(
            configuration, reactor, self._launcher, self._table, job=self._job, life=self._life
        )
        """How its ranks end, and are started again."""
        self._credit = credit
        self._gate: Gate | None = None
        self._distant: DistantListeners | None = None
        self._input: RankInput | None = None
        self._last: tuple[Exit, str] | None = None
        self._starting: threading.Thread | None = None
        self._killed = threading.Event()

    @property
    def arrivals(self) -> dict[str, RankArrival]:
        """What the ranks that are ready have told about themselves."""
        return self._table.arrivals

    @property
    def traffic(self) -> tuple[int, int, int]:
        """What went between the front-end and these ranks; see `Gate.traffic`."""
        return (0, 0, 0) if self._gate is None else self._gate.traffic

    @property
    def has_begun(self) -> bool:
        """Whether its ranks were asked for."""
        return self._life.stage is not NativeJobStage.OPEN

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left; it may be without ever having begun."""
        return self._life.is_over

    @property
    def is_released(self) -> bool:
        """Whether the program runs."""
        return self._gate is not None and self._gate.released

    def open(self, *, reads_input: bool = False) -> bool:
        """Let ranks report; tell the launcher if they cannot.

        With `reads_input` the first rank of all reads the standard input of the run, else no rank.
        """
        configuration = self._configuration
        ranks = self._table.names
        try:
            self._gate = self._new_gate(ranks)
            self._routes.gate = self._gate
            self.ends.open(self._gate)
            self._gate.publish_key(configuration.bootstrap(self._gate.address, self.incarnation))
            if (
                reads_input
                and configuration.cluster == FIRST_CLUSTER
                and not self._ranks.is_elsewhere
            ):
                self._input = self._new_input()
        except GridError as fault:
            self._fail(StepKind.FRONT_END, fault)
            return False
        return True

    def _new_job(self, job: Job, credit: OutputCredit, guard: ForkedGuard | None) -> RanksJob:
        """Return what starts the ranks."""
        folder = self._configuration.folder
        return RanksJob(job, folder, self, self._reactor, credit=credit, guard=guard)

    def _new_gate(self, ranks: Sequence[str]) -> Gate:
        """Return where the ranks report; raises Unreachable."""
        configuration = self._configuration
        return Gate(
            self._reactor,
            configuration.run_directory,
            configuration.port,
            configuration.credentials,
            self,
            dispatch=self._components.from_ranks,
            ranks=ranks,
            incarnation=self.incarnation,
            relay=self._relay,
            names=configuration.names,
            stays=self._ranks.goes_on,
            patience=configuration.ranks_limit,
        )

    def _new_input(self) -> RankInput:
        try:
            return RankInput(
                self._reactor, self._configuration.run_directory, self._launcher.input_wanted
            )
        except OSError as fault:
            raise no_pipes(fault) from fault

    def read(self, data: bytes) -> None:
        """Pass on what rank 0 is to read, b"" for the end."""
        if self._input is not None:
            self._input.put(data)

    def show_prompts(self) -> None:
        """Pass on what rank 0 writes also without a newline, since somebody types what it reads."""
        self._job.output.show_prompts()

    def start(self, before: Sequence[RanksRun] = ()) -> None:
        """Start the ranks, unless they are killed; what is left of the runs `before` goes first."""
        self._life.advance(NativeJobEvent.STARTED, f"in incarnation {self.incarnation}")
        self._start_beside(before)

    def _start_beside(self, before: Sequence[RanksRun]) -> None:
        """Start the job on a thread of its own: that waits for processes."""
        starting = threading.Thread(
            target=self._start_job, args=(before,), name="starting ranks", daemon=True
        )
        starting.start()
        self._starting = starting

    def go(self, table: bytes, lost: list[Facts]) -> None:
        """Let the program run, with the table of who is where, and who is lost already."""
        self._job.may_lose_hosts = True
        if self._gate is not None:
            self._gate.release()
            self._let_run(self._components.views, self._components.control, table, lost)
        if self._input is not None:
            self._input.begin()
        self._tell_if_ready_to_fill()

    def _tell_if_ready_to_fill(self) -> None:
        """Tell once the ranks of a cluster that is late can be started one by one."""
        if self._ranks.is_late and self._job.can_start_again and self.is_released:
            self._launcher.ranks_up()

    def admit(self, rank: str, table: bytes, lost: list[Facts]) -> None:
        """Let the program of a rank run that was started again, with all that is known."""
        assert self._gate is not None  # it has come through this
        if found := self._gate.interfaces(rank):
            self._let_run(*found, table, lost)

    def _let_run(self, views: Views, control: Control, table: bytes, lost: list[Facts]) -> None:
        views.view(table)
        if lost:
            views.lost(lost)
        control.configure(self._configuration.settings.plain(), self._routes.experiences())
        control.go()

    def find(self, rank: str) -> Channel | None:
        """Return the way to a rank; None if it is not there."""
        return self._gate.find(rank) if self._gate is not None else None

    def signal_ranks(self, number: int) -> None:
        """Send all ranks a signal."""
        if self._gate is not None:
            self._components.control.signal(number)

    def tell_states(self, number: int, with_stacks: bool) -> None:
        """Ask the ranks what they are doing."""
        if self.is_released:
            self._components.control.tell_state(number, with_stacks)

    def count_messages(self) -> None:
        """Tell what the ranks have sent, and ask them again: the launcher will, too."""
        if self.is_released:
            self._launcher.counted(self._routes.sample())

    def ask_to_end(self) -> None:
        """Ask every rank to end."""
        self._life.advance(NativeJobEvent.STOPPED, "they are asked to end")
        self.ends.stopping()
        if self._gate is not None:
            self._components.control.stop()
        self.ends.end_parents()

    def stop_ranks(self, grace: float) -> None:
        """Ask every rank to end, and kill those that have not after a while."""
        self.ask_to_end()
        self._reactor.later(grace, self.kill_ranks)

    def kill_ranks(self) -> None:
        """End the ranks at once; that their job is over is told in any case."""
        is_running = self._job.has_started and not self.is_over
        self._life.advance(NativeJobEvent.STOPPED, "they are killed")
        self.ends.stopping()
        self._killed.set()  # before looking for a job: who starts one looks at this afterwards
        if is_running:
            self._job.stop()
        else:
            self.job_ended(Exit(code=1), "")

    def shut(self) -> None:
        """Let no rank in any more, and hear nothing more of those that came."""
        if self._gate is not None:
            self._gate.close()
            self._gate.forget()

    def close(self) -> None:
        """End everything and let go; waits until that is so."""
        self.ends.stopping()
        self.shut()
        if self._input is not None:
            self._reactor.soon(self._input.close)
        if self._distant is not None:
            self._distant.close()
        # First, because who ends this process may not wait for the rest.
        remove_segments(self._table.segments)
        self._killed.set()
        self._job.stop()
        self._job.close()
        if self._starting is not None:  # what it still does is to close runs before this one
            self._starting.join()

    # --- the job ----------------------------------------------------------------------------------

    def _start_job(self, before: Sequence[RanksRun]) -> None:
        for run in before:
            run.close()
        if self._killed.is_set():  # while runs before were closed, which takes a while
            return
        try:
            self._job.start()
        except GridError as fault:
            if not self._killed.is_set():  # else its end is told, and another run may have begun
                self._fail(StepKind.RANKS, fault)
            return
        if self._killed.is_set():  # perhaps before there was anything to kill
            self._job.stop()
        else:
            self._reactor.soon(self._tell_if_ready_to_fill)
            self._reactor.later(COUNT_INTERVAL, lambda: self._check_progress(0))

    def _check_progress(self, suspicions: int) -> None:
        """Count the ranks until all have come: one that dies early may go unnoticed."""
        if not self._life.is_wanted or not self._table.missing:
            return
        suspicions = suspicions + 1 if self._job.are_some_missing() else 0
        if suspicions < MISSING_COUNTS:
            self._reactor.later(COUNT_INTERVAL, lambda: self._check_progress(suspicions))
            return
        lines = self._job.output.last_lines
        fault = rank_faults.some_died_early(self._configuration.names, self._table.unheard, lines)
        self._fail(StepKind.RANKS, fault)

    def _fail(self, kind: StepKind, fault: GridError) -> None:
        step = StepName(kind, self._configuration.cluster)
        self._launcher.failed(str(step), self._at_home(fault))

    def _at_home(self, fault: GridError) -> str:
        return rank_faults.at_home(self._configuration.path, fault)

    def compiles(self) -> None:
        """Let the launcher show for what the ranks wait."""
        self._launcher.compiles()

    def job_wrote(self, lines: list[WrittenLines]) -> None:
        """Pass on lines of ranks, once the launcher takes them."""
        # A large block goes on its way as it is, not copied into the message.
        blocks = [(rank, str(stream), PickleBuffer(block)) for rank, stream, block in lines]
        size = sum(len(block) for _, _, block in lines)
        self._credit.put(size, lambda: self._launcher.lines(blocks), len(blocks))

    def output_follows(self) -> None:
        """Pass on that only output is left of the job."""
        self._life.advance(NativeJobEvent.OUTPUT_LEFT)
        self._launcher.output_follows()

    def job_ended(self, ended: Exit, why: str) -> None:
        """Take note that the native MPI has ended, and why it could not run."""
        self._reactor.soon(lambda: self._drain_connections(ended, why))

    def _drain_connections(self, ended: Exit, why: str, received: int = -1) -> None:
        """Wait until what the ranks had sent has been passed on, as long as more of that comes.

        A child of a rank may keep its connection open, and say nothing.
        """
        self._last = self._last or (ended, why)
        now = 0 if self._gate is None else self._gate.traffic[2]
        is_quiet = now == received and not (self._gate is not None and self._gate.is_held)
        if self._gate is None or self._gate.is_empty:
            self._job_is_over()
        elif is_quiet:
            self._name_holders(self._gate.connected)
            self._job_is_over()
        else:
            again = partial(self._drain_connections, ended, why, now)
            self._reactor.later(END_TIMEOUT, again)

    def _name_holders(self, ranks: Sequence[str]) -> None:
        """Tell which processes ranks have left that keep the connections of these open."""
        configuration = self._configuration
        for rank in ranks if not self._ranks.is_elsewhere else ():
            number = self._table[rank].number
            found = holders_of(os.path.join(configuration.run_directory, f"{number}."))
            if found:
                who = configuration.names.name(rank)
                held = [f"process {pid} ({shown(words)})" for pid, words in found.items()]
                what = listed(held)
                said = (
                    f"{who} has ended, and left what keeps its connection open: {what}. After"
                    f" {END_TIMEOUT:g} s without a word of it the run ends, and that with it\n"
                )
                self.job_wrote([(None, OutputStream.ERROR, said.encode(errors="replace"))])

    def _job_is_over(self) -> None:
        if self.is_over or self._last is None:
            return
        if self._input is not None:
            self._input.close()
        ended, why = self._last
        code, fault = self.ends.job_ended(ended, why)
        if not self.is_released:
            names, lines = self._configuration.names, self._job.output.last_lines
            early = rank_faults.all_ended(names, code, self._table.unheard, lines)
            why = why or self._at_home(early)
        elif fault:
            why = self._at_home(GridError(fault))
        self._launcher.job_ended(code, why, bool(fault) and self.is_released)
        self._over()

    # --- what the gate sees -----------------------------------------------------------------------

    def rank_here(self, rank: str, channel: Channel) -> None:
        """Bind a rank that has come, and pass that on."""
        self._components.join(rank, channel)
        self._table[rank].come()
        self._launcher.rank_here(rank)

    def rank_left(self, rank: str, *, is_silence: bool) -> None:
        """Let it be found out how a rank ended that is gone without a word."""
        self.ends.connection_ended(rank, is_silence=is_silence)

    def all_left(self) -> None:
        """Record that nothing more will be heard of any rank."""
        self._job_is_over()

    # --- what ranks say: the contracts of `runtime.machine` ---------------------------------------

    def ready(self, member: str, reports: list[Facts]) -> None:
        """Take note of a rank, and tell once all are there."""
        try:
            arrival = RankArrival.parse(reports[0] if len(reports) == 1 else None)
        except UnreadableReport as fault:
            self.ends.expel(member, f"what it tells of itself is not understood: {fault}")
            return
        entry = self._table[member]
        self._table.segments.update(arrival.segments)
        expected = self._job.ranks_beside(entry.number)
        if arrival.size not in (None, expected):
            self._fail(
                StepKind.RANKS, rank_faults.of_another_mpi(self._ranks.mpiexec, expected, arrival)
            )
            return
        advertised = arrival.doors
        if self._configuration.wan is not None:
            advertised = self._at_a_distance(self._configuration.wan, advertised)
        present = entry.incarnation if entry.was_restarted else self.incarnation
        entry.arrival = replace(arrival, incarnation=present, doors=advertised)
        self._launcher.rank_ready(member, entry.arrival.plain)
        if entry.was_restarted:
            return
        self._components.is_ready(member)
        if not self._table.missing:
            self._job.watch_helpers()
            self._launcher.ranks_up()

    def _at_a_distance(self, wan: Wan, advertised: AdvertisedAddresses) -> AdvertisedAddresses:
        """Return how others find a rank: those of other sites over the emulated line.

        To them it is on another machine, whose Unix sockets are of no use.
        """
        machine, addresses = advertised
        if not machine:
            return advertised
        if self._distant is None:
            from runtime.forwarding.distance import (
                DistantListeners,  # only where sites are emulated
            )

            self._distant = DistantListeners(wan)
        site = site_of(self._configuration.cluster)
        over = [
            self._distant.before(one.removeprefix(UNIX))
            for one in addresses
            if one.startswith(UNIX)
        ]
        return f"{machine} site {site}", (*addresses, *over)

    def unable(self, member: str, why: str, python: str) -> None:
        """Tell why a rank cannot run."""
        self._fail(
            StepKind.RANKS, rank_faults.unable(self._configuration.names, member, why, python)
        )

    def ended(self, member: str, observed: Facts) -> None:
        """Pass on how a rank ended by its own word."""
        self.ends.reported(member, observed)

    def aborted(self, member: str, observed: Facts) -> None:
        """Pass on that a rank wants everything to end."""
        self.ends.reported(member, observed, is_abort=True)
        self._launcher.rank_aborted(member)

    def counted(self, member: str, rows: list[Any], figures: dict[str, int]) -> None:
        """Take note of what a rank has sent to others, and how it found them."""
        self._routes.counted(member, rows, figures)

    def exchanged(self, member: str, rows: list[Any], figures: dict[str, int]) -> None:
        """Take note of that once more at the end, and pass it on."""
        self._routes.counted(member, rows, figures)
        self._launcher.rank_exchanged(member, rows, figures)

    def learned(self, member: str, experiences: list[Any]) -> None:
        """Let others know what a rank has learned of routes."""
        self._routes.learned(member, experiences)
