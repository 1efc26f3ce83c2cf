"""One run of the ranks of a cluster, from their start to the end of their native MPI."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any, Protocol

from runtime.errors import GridError
from runtime.home import OWN_FRAMES
from runtime.launchers.base import Exit
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.segments import remove_segments
from runtime.machine.calls import Send, Served, reports_of
from runtime.machine.contracts import Control, Facts, Views
from runtime.machine.deaths import (
    BY_REQUEST,
    Observation,
    RankDeath,
    UnreadableReport,
    Witness,
)
from runtime.machine.paths import FIRST_CLUSTER
from runtime.membership.doorstep import Found
from runtime.membership.room import UNIX, Entrance, crash_file, write_key
from runtime.membership.whereabouts import RankArrival
from runtime.native_mpi import JobPart
from runtime.processes.configuration import Configuration
from runtime.processes.front_end import rank_faults
from runtime.processes.front_end.cluster_ranks import ClusterRanks, RankEntry, RankHosts
from runtime.processes.front_end.gate import Gate
from runtime.processes.front_end.job_ends import IN_TIME, JobEnds, crash_of, sight_of
from runtime.processes.front_end.job_output import Said, no_pipes
from runtime.processes.front_end.memory_kills import MemoryKills
from runtime.processes.front_end.output_room import OutputRoom
from runtime.processes.front_end.rank_pipes import RankInput
from runtime.processes.front_end.ranks_job import RanksJob
from runtime.processes.front_end.shared_routes import SharedRoutes
from runtime.transport.channel import Channel, Relay
from runtime.transport.keys import member_name
from runtime.transport.reactor import Reactor

if TYPE_CHECKING:
    from runtime.forwarding.distance import DistantDoors
    from runtime.topology import Wan

_log = logging.getLogger(__name__)

END_TIMEOUT = 2.0  # seconds to wait for the cause when a rank is gone
COUNT_INTERVAL = 1.0  # seconds between two counts of the ranks until all have come
LOCAL_PAUSE, REMOTE_PAUSE = 0.1, 1.0  # seconds in which the last bytes arrive: from here, from afar
START_TIMEOUT = 60.0  # seconds for a rank that is started again until it is ready
MISSING_COUNTS = 2  # counts in a row in which a rank has to be missing


class RanksParent(Protocol):
    """What ranks are bound to: the clustering component of their cluster."""

    from_ranks: Served

    @property
    def views(self) -> Views:
        """The views of all ranks that are here."""
        ...

    @property
    def control(self) -> Control:
        """The control of all ranks that are here."""
        ...

    def join(self, rank: str, channel: Channel) -> None:
        """Bind a rank for as long as its connection lives."""
        ...

    def is_ready(self, rank: str) -> None:
        """Let a rank take part in the round of its cluster."""
        ...


class RanksRun:
    """Starts the ranks, gathers them, and tells the launcher what becomes of them.

    `tell` sends what the launcher is told, `relay` says where messages of ranks for other codes go.
    `over` is called once the native MPI has ended and everything that its ranks had said has been
    passed on. `components` are what ranks are bound to. `routes` keeps what they know of routes,
    for later runs too. All methods but `close` are for the reactor's thread.
    """

    def __init__(
        self,
        told: Configuration,
        reactor: Reactor,
        tell: Send,
        relay: Relay,
        over: Callable[[], None],
        *,
        components: RanksParent,
        routes: SharedRoutes,
        room: OutputRoom,
        incarnation: int,
        guard: ForkedGuard | None = None,
    ) -> None:
        assert told.job is not None
        self.incarnation = incarnation
        self._told = told
        self._ranks = told.job
        self._reactor = reactor
        self._launcher = reports_of(member_name(told.cluster, incarnation), tell)
        self._components = components
        self._relay = relay
        self._over = over
        self._routes = routes
        self._table = ClusterRanks(told.cluster, told.job.ranks)
        self._ends = JobEnds(told.cluster, goes_on=told.job.goes_on)
        self._memory_kills = MemoryKills()
        self._job = RanksJob(
            told.job,
            told.folder,
            self,
            reactor,
            room=room,
            guard=guard,
        )
        # otherwise no rank is lost with its host alone, and all are restarted beside this process
        job = told.job
        self._hosts = RankHosts(job.hosts, job.spares) if job.for_each_host else None
        self._room = room
        self._gate: Gate | None = None
        self._distant: DistantDoors | None = None
        self._input: RankInput | None = None
        self._last: tuple[Exit, str] | None = None
        self._stopping = False
        self._awaits_output = False  # and nothing else: `mpiexec` has ended
        self._has_ended_as_one = False  # the parents of its ranks were ended with the last one
        self._starting: threading.Thread | None = None
        self._killed = threading.Event()
        self.has_begun = False
        self.is_over = False

    @property
    def arrivals(self) -> dict[str, RankArrival]:
        """What the ranks that are ready have told about themselves."""
        return self._table.arrivals

    @property
    def traffic(self) -> tuple[int, int, int]:
        """What went between the front-end and these ranks; see `Gate.traffic`."""
        return (0, 0, 0) if self._gate is None else self._gate.traffic

    @property
    def is_released(self) -> bool:
        """Whether the program runs."""
        return self._gate is not None and self._gate.released

    def open(self, *, reads_input: bool = False) -> bool:
        """Let ranks report; tell the launcher if they cannot.

        With `reads_input` the first rank of all reads the standard input of the run, else no rank.
        """
        told = self._told
        ranks = self._table.names
        try:
            self._gate = Gate(
                self._reactor,
                told.room,
                told.port,
                told.credentials,
                self,
                served=self._components.from_ranks,
                ranks=ranks,
                incarnation=self.incarnation,
                relay=self._relay,
                names=told.names,
            )
            self._routes.gate = self._gate
            write_key(told.room, ranks, self._entrance(self._gate.address, self.incarnation))
            if reads_input and told.cluster == FIRST_CLUSTER and not self._ranks.is_elsewhere:
                self._input = self._new_input()
        except GridError as fault:
            self._fail("front-end", fault)
            return False
        return True

    def _new_input(self) -> RankInput:
        try:
            return RankInput(self._reactor, self._told.room, self._launcher.input_wanted)
        except OSError as fault:
            raise no_pipes(fault) from fault

    def read_input(self, data: bytes) -> None:
        """Pass on what rank 0 is to read, b"" for the end."""
        if self._input is not None:
            self._input.put(data)

    def show_prompts(self) -> None:
        """Pass on what rank 0 writes also without a newline, since somebody types what it reads."""
        self._job.output.show_prompts()

    def start(self, before: Sequence[RanksRun] = ()) -> None:
        """Start the ranks, unless they are killed; what is left of the runs `before` goes first."""
        _log.info("the ranks start, in incarnation %d", self.incarnation)
        self.has_begun = True
        starting = threading.Thread(
            target=self._start_job, args=(before,), name="starting ranks", daemon=True
        )
        starting.start()
        self._starting = starting

    def go(self, table: bytes) -> None:
        """Let the program run, with the table of who is where."""
        self._job.may_lose_hosts = True
        if self._gate is not None:
            self._gate.release()
            self._components.views.view(table)
            self._components.control.configure(self._settings())
            self._components.control.go()
        if self._input is not None:
            self._input.begin()

    def start_again(self, rank: str, incarnation: int) -> None:
        """Start one rank again in place of one that is lost; tell the launcher if that fails.

        That is on another host if nobody on its own has told how it ended, or it never got ready
        there.
        """
        entry = self._table[rank]
        works = self._ends.was_told_there(rank) and entry.is_ready
        if self._hosts is not None and not works:
            self._hosts.lose(self._hosts.host_of(entry.number))
        _log.info("%s starts again, in incarnation %d", self._told.names.name(rank), incarnation)
        self._ends.again(rank)
        entry.restart(incarnation)
        try:
            if self._gate is None or self._last is not None or self._stopping:
                raise GridError("its cluster has ended")
            host = "" if self._hosts is None else self._hosts.place_again(entry.number)
            address = self._gate.expect_again(rank, incarnation)
            entrance = self._entrance(address, incarnation)
            write_key(self._told.room, [rank], entrance, alone=rank)
            self._job.start_again(entry.number, incarnation, host)
        except GridError as fault:
            self._cannot_start(entry, str(fault))
            return
        self._reactor.later(START_TIMEOUT, partial(self._look_after_one, entry, incarnation))

    def _look_after_one(self, entry: RankEntry, incarnation: int) -> None:
        is_present = entry.incarnation == incarnation
        if is_present and not entry.is_ready and entry.name not in self._ends.told:
            self._job.give_up(entry.number, incarnation)
            why = f"it was not ready within {START_TIMEOUT:g} s{self._where(entry)}"
            self._cannot_start(entry, why)

    def _where(self, entry: RankEntry) -> str:
        return "" if self._hosts is None else f" on {self._hosts.host_of(entry.number)}"

    def _cannot_start(self, entry: RankEntry, why: str) -> None:
        if self._gate is not None:
            self._gate.expect_no_more(entry.name, entry.incarnation)
        self._pass_on(self._ends.concluded(entry.name, f"could not be started again: {why}"))

    def end_rank(self, rank: str) -> None:
        """End one rank that others have lost; its parent tells how.

        One on another host loses its connection: it ends when it notices that, if it is stopped
        now, as soon as it goes on.
        """
        entry = self._table[rank]
        if entry.arrival is None or rank in self._ends.told:
            return
        if self._ranks.is_elsewhere and self._gate is not None:
            self._abandon(entry, f"was ended: others cannot reach it{self._where(entry)}")
        else:
            with suppress(ProcessLookupError):
                os.kill(entry.arrival.pid, signal.SIGKILL)

    def _abandon(self, entry: RankEntry, why: str) -> None:
        """Hang up on a rank of another host, of whose end nobody there will tell."""
        self._hang_up(entry)
        self._pass_on(self._ends.host_gone(entry.name, why))
        self._pass_on(self._ends.give_up(entry.name))

    def _hang_up(self, entry: RankEntry) -> None:
        if self._gate is not None:
            self._gate.dismiss(entry.name)
        entry.is_connected = False

    def admit(self, rank: str, table: bytes, lost: list[Facts]) -> None:
        """Let the program of a rank run that was started again, with all that is known."""
        assert self._gate is not None  # it has come through this
        views, control = self._gate.views(rank), self._gate.control(rank)
        if views is not None and control is not None:
            views.view(table)
            views.lost(lost)
            control.configure(self._settings())
            control.go()

    def _settings(self) -> dict[str, Any]:
        """Return what ranks need to know before they run."""
        return {
            "machine": self._told.machine,
            "routes": self._routes.known(),
            "named-classes": list(self._told.named_classes),
            "explain-waits": self._told.explain_waits,
            "observed": self._told.observed,
            "traced": self._told.traced,
        }

    def find(self, rank: str) -> Channel | None:
        """Return the way to a rank; None if it is not there."""
        return self._gate.find(rank) if self._gate is not None else None

    def signal(self, number: int) -> None:
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
        _log.info("the ranks are asked to end")
        self._stopping = True
        self._ends.stopping(time.monotonic())
        if self._gate is not None:
            self._components.control.stop()
        if self._ranks.goes_on and self._have_all_ended and not self._has_ended_as_one:
            self._has_ended_as_one = True
            self._end_parents()

    def kill(self) -> None:
        """End the ranks at once; that their job is over is told in any case."""
        _log.info("the ranks are killed")
        self._stopping = True
        self._ends.stopping(time.monotonic())
        self._killed.set()  # before looking for a job: who starts one looks at this afterwards
        if self.has_begun and self._job.has_started and not self.is_over:
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
        self._ends.stopping(time.monotonic())
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
                self._fail("ranks", fault)
            return
        if self._killed.is_set():  # perhaps before there was anything to kill
            self._job.stop()
        else:
            self._reactor.later(COUNT_INTERVAL, lambda: self._look_after(0))

    def _look_after(self, suspicions: int) -> None:
        """Count the ranks until all have come: one that dies early may go unnoticed."""
        if self._stopping or self.is_over or not self._table.missing:
            return
        suspicions = suspicions + 1 if self._job.are_some_missing() else 0
        if suspicions < MISSING_COUNTS:
            self._reactor.later(COUNT_INTERVAL, lambda: self._look_after(suspicions))
            return
        lines = self._job.output.last_lines
        fault = rank_faults.some_died_early(self._told.names, self._table.unheard, lines)
        self._fail("ranks", fault)

    def _fail(self, step: str, fault: GridError) -> None:
        self._launcher.failed(f"{step}:{self._told.cluster}", self._at_home(fault))

    def _entrance(self, address: str, incarnation: int) -> Entrance:
        told = self._told
        certificate = told.certificate(f"{told.cluster}:0")
        return Entrance(address, told.reach, incarnation, told.keys, certificate)

    def _at_home(self, fault: GridError) -> str:
        return rank_faults.at_home(self._told.path, fault)

    def job_said(self, lines: list[Said]) -> None:
        """Pass on lines of ranks, once the launcher takes them."""
        # A large block goes on its way as it is, not copied into the message.
        blocks = [(rank, str(stream), PickleBuffer(block)) for rank, stream, block in lines]
        size = sum(len(block) for _, _, block in lines)
        self._room.say(size, lambda: self._launcher.lines(blocks), len(blocks))

    def output_follows(self) -> None:
        """Pass on that only output is left of the job."""
        self._awaits_output = True
        self._launcher.output_follows()

    def job_ended(self, ended: Exit, why: str) -> None:
        """Take note that the native MPI has ended, and why it could not run."""
        self._reactor.soon(lambda: self._hear_them_out(ended, why))

    def _hear_them_out(self, ended: Exit, why: str) -> None:
        """Wait, not for long, until what the ranks had sent has been passed on."""
        self._last = self._last or (ended, why)
        if self._gate is None or self._gate.is_empty:
            self._job_is_over()
        else:
            self._reactor.later(END_TIMEOUT, self._job_is_over)

    def _job_is_over(self) -> None:
        if self.is_over or self._last is None:
            return
        self.is_over = True
        if self._input is not None:
            self._input.close()
        for entry in self._table:
            is_starting = entry.was_restarted and not entry.is_ready
            if is_starting and entry.name not in self._ends.told:
                self._cannot_start(entry, "its cluster has ended")
        ended, why = self._last
        said, come = self._job.output, self._table.arrived
        found, fault = self._ends.job_over(ended, said.own_words, come, said.signal_told)
        code = self._ends.first_code or (0 if self._has_ended_as_one else ended.shell_code)
        if self.is_released:
            for end in found:
                self._pass_on(end)
            why = self._at_home(GridError(fault)) if fault else why
        else:
            why = why or self._what_happened(code)
        is_fault = bool(fault) and self.is_released
        self._launcher.job_ended(code, why, is_fault)
        self._over()

    def _pass_on(self, death: RankDeath | None) -> None:
        """Tell how a rank has ended; before the application runs that ends the deployment."""
        if death is None:
            return
        words = "%s %s, as its %s tells%s"
        after = death.after and f", after {death.after}"
        _log.info(words, self._told.names.name(death.who), death.how, death.observed.by, after)
        if self._ranks.goes_on and self.is_released:
            self._end_with_the_last()
        self._job.output.has_failed = self._job.output.has_failed or bool(death.code)
        seen = death.observed
        if seen.signal == signal.SIGKILL and not (seen.why or death.after):
            arrival = self._table[death.who].arrival
            why = self._memory_kills.words(arrival.host) if arrival is not None else ""
            death = replace(death, observed=replace(seen, why=why))
        if self.is_released:
            self._launcher.rank_ended(death.who, death.plain)
        elif not self._stopping and death.after != BY_REQUEST:
            lines = self._job.output.last_lines
            self._fail("ranks", rank_faults.died_early(self._told.names, death, lines))

    def _end_with_the_last(self) -> None:
        """End `mpiexec` once all ranks have: it waits for their parents, and these for its end.

        Where one was lost another one may be started in its place until the run ends.
        """
        if self._have_all_ended and not self._ends.are_some_lost and not self._stopping:
            self._stopping = self._has_ended_as_one = True
            self._reactor.later(
                REMOTE_PAUSE if self._ranks.is_elsewhere else LOCAL_PAUSE, self._end_parents
            )

    @property
    def _have_all_ended(self) -> bool:
        return len(self._ends.told) == len(self._table)

    def _end_parents(self) -> None:
        self._ends.stopping(time.monotonic())
        self._job.stop()

    def rank_died(self, rank: int, status: int, at: float, incarnation: int) -> None:
        """Take what the parent of a rank has seen of its end.

        That of a process in whose place another one was started may come late.
        """
        if not 0 <= rank < len(self._table):
            return  # the writer was no parent of a rank
        entry = self._table.at(rank)
        if incarnation != entry.incarnation:
            return
        crash = crash_of(crash_file(self._told.room, rank), OWN_FRAMES) if status else ""
        at = time.monotonic() if at == IN_TIME and self._stopping else at
        is_connected, sight = entry.is_connected, sight_of(status, at, crash)
        self._pass_on(self._ends.saw(entry.name, sight, is_connected=is_connected))
        if is_connected and entry.name not in self._ends.told:
            pause = REMOTE_PAUSE if self._ranks.is_elsewhere else LOCAL_PAUSE
            self._give_up_once_quiet(entry, incarnation, pause)

    def helper_lost(self, name: str, at: float) -> None:
        """End ranks whose `mpiexec` has lost a process: they may wait for each other for ever.

        At the end of a run, or when a rank has failed, `mpiexec` ends by itself within that time.
        """
        self._ends.helper_ended(name, at)
        self._reactor.later(END_TIMEOUT, self._end_broken_job)

    def host_lost(self, part: JobPart, why: str) -> None:
        """Record that ranks were lost with their host, or at least what `mpiexec` ran there."""
        assert self._hosts is not None
        self._hosts.lose(part.host)
        for number in range(part.first, part.first + part.ranks):
            entry = self._table.at(number)
            if entry.incarnation != part.incarnation or entry.name in self._ends.told:
                continue
            if entry.was_restarted and not entry.is_ready:
                self._cannot_start(entry, why)
                continue
            text = f"was lost with {part.host}: {why}"
            self._pass_on(self._ends.host_gone(entry.name, text))
            if entry.name not in self._ends.told:  # its last words may be on their way
                self._reactor.later(REMOTE_PAUSE, partial(self._abandon_later, entry, part, text))

    def _abandon_later(self, entry: RankEntry, part: JobPart, why: str) -> None:
        if entry.incarnation == part.incarnation and entry.name not in self._ends.told:
            self._abandon(entry, why)

    def _end_broken_job(self) -> None:
        # if no rank is left, only `mpiexec` is: it has output that nobody reads yet
        is_over = self.is_over or self._awaits_output
        if not is_over and not self._stopping and any(one.is_connected for one in self._table):
            self._ends.helper_is_outlived()
            self._job.stop()

    def _what_happened(self, code: int) -> str:
        unheard, lines = self._table.unheard, self._job.output.last_lines
        is_early = not self.is_released
        return self._at_home(
            rank_faults.all_ended(self._told.names, code, unheard, lines, is_early=is_early)
        )

    # --- what the gate sees -----------------------------------------------------------------------

    def rank_here(self, rank: str, channel: Channel) -> None:
        """Bind a rank that has come, and pass that on."""
        self._components.join(rank, channel)
        self._table[rank].come()
        self._launcher.rank_here(rank)

    def rank_left(self, rank: str) -> None:
        """Wait until it is known how a rank ended that is gone without a word, but not for long."""
        entry = self._table[rank]
        entry.is_connected = False
        if self.is_over:
            return
        end = self._ends.left(rank)
        self._pass_on(end)
        if end is None:
            self._reactor.later(END_TIMEOUT, partial(self._give_up, entry, entry.incarnation))

    def all_left(self) -> None:
        """Record that nothing more will be heard of any rank."""
        self._job_is_over()

    # --- what ranks say: the contracts of `runtime.machine` ---------------------------------------

    def ready(self, member: str, reports: list[Facts]) -> None:
        """Take note of a rank, and tell once all are there."""
        try:
            told = RankArrival.parse(reports[0] if len(reports) == 1 else None)
        except UnreadableReport as fault:
            self._end_for(member, f"what it tells of itself is not understood: {fault}")
            return
        entry = self._table[member]
        self._table.segments.update(told.segments)
        expected = self._job.ranks_beside(entry.number)
        if told.size not in (None, expected):
            self._fail("ranks", rank_faults.of_another_mpi(self._ranks.mpiexec, expected, told))
            return
        doors = told.doors
        if self._told.wan is not None:
            doors = self._at_a_distance(self._told.wan, doors)
        present = entry.incarnation if entry.was_restarted else self.incarnation
        entry.arrival = replace(told, incarnation=present, doors=doors)
        self._launcher.rank_ready(member, entry.arrival.plain)
        if entry.was_restarted:
            return
        self._components.is_ready(member)
        if not self._table.missing:
            self._job.watch_helpers()
            self._launcher.ranks_up()

    def _at_a_distance(self, wan: Wan, doors: Found) -> Found:
        """Return how others find a rank: those of other sites over the emulated line.

        To them it is on another machine, whose Unix sockets are of no use.
        """
        machine, addresses = doors
        if not machine:
            return doors
        if self._distant is None:
            from runtime.forwarding.distance import DistantDoors  # only where sites are emulated

            self._distant = DistantDoors(wan)
        site = self._told.cluster.partition(":")[0]
        over = [
            self._distant.before(one.removeprefix(UNIX))
            for one in addresses
            if one.startswith(UNIX)
        ]
        return f"{machine} site {site}", (*addresses, *over)

    def unable(self, member: str, why: str, python: str) -> None:
        """Tell why a rank cannot run."""
        self._fail("ranks", rank_faults.unable(self._told.names, member, why, python))

    def ended(self, member: str, observed: Facts) -> None:
        """Pass on how a rank ended by its own word."""
        try:
            said = Observation.parse(Witness.RANK, observed)
        except UnreadableReport as fault:
            self._end_for(member, f"what it tells of its end is not understood: {fault}")
        else:
            self._pass_on(self._ends.said(member, said))

    def aborted(self, member: str, observed: Facts) -> None:
        """Pass on that a rank wants everything to end."""
        self._ends.aborted(member)
        self.ended(member, observed)
        self._launcher.rank_aborted(member)

    def _end_for(self, member: str, why: str) -> None:
        """Count a rank as lost for what it has told; it ends with its connection."""
        death = self._ends.concluded(member, why)
        self._hang_up(self._table[member])
        self._pass_on(death)

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

    def _give_up_once_quiet(
        self, entry: RankEntry, incarnation: int, pause: float, received: int = -1
    ) -> None:
        """Wait for last words of a rank whose process has ended while more of them come.

        Its connection may live on for as long as a child of it does.
        """
        way = self.find(entry.name)
        now = 0 if way is None else way.received_bytes
        if now == received and not (way is not None and way.is_held):
            self._give_up(entry, incarnation)
        elif entry.name not in self._ends.told:
            again = partial(self._give_up_once_quiet, entry, incarnation, pause, now)
            self._reactor.later(pause, again)

    def _give_up(self, entry: RankEntry, incarnation: int) -> None:
        if not self.is_over and entry.incarnation == incarnation:  # else it was started again
            self._pass_on(self._ends.give_up(entry.name))
