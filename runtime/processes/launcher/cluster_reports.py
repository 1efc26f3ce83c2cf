"""What front-ends tell the launcher: each operation of their contracts, and what becomes of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gcm.records import dataclass
from runtime.coupling.deployed_codes import Codes
from runtime.launchers.lines import Buffer
from runtime.lifecycle.events import (
    Aborted,
    JobEnded,
    OutputFollows,
    OutputPassedOn,
    RankHere,
    RankReady,
    StepFailed,
    StepUp,
)
from runtime.lifecycle.exchanged import Figures, Row
from runtime.machine.calls import CallRefused, DispatchTable
from runtime.machine.contracts import Appeals, Facts, Reports
from runtime.machine.deaths import BY_REQUEST, RankDeath, UnreadableReport, read_rank
from runtime.membership.whereabouts import RankArrival
from runtime.ports import NameRequest, PortNames
from runtime.processes.launcher.call_router import CallRouter
from runtime.processes.launcher.handshakes import Handshakes
from runtime.processes.launcher.native_users import NativeUsers
from runtime.processes.launcher.openings import Post
from runtime.processes.launcher.output import CreditGrants, OutputSpreader
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.rank_processes import RankProcesses
from runtime.processes.launcher.standard_input import StandardInput
from runtime.processes.launcher.wait_reports import WaitReports
from runtime.shown_text import shown
from runtime.step_name import WHOLE_GRID, StepKind, StepName
from runtime.transport.keys import parsed
from runtime.views.facts import (
    TRACEBACK,
    CallsCounted,
    CallsTraced,
    ConnectionsCounted,
    MessagesCounted,
    RankStarted,
    RankUsed,
    StateChanged,
    TracedCommunicator,
)
from runtime.views.progress_tree import COMPILER, STARTING
from runtime.views.stream import FactStream

if TYPE_CHECKING:
    from runtime.processes.launcher.deployed_assembly import DeployedAssembly


_log = logging.getLogger(__name__)

LONGEST_RECORD = 4000
"""So much of what a front-end logs at a time is kept."""


@dataclass(slots=True)
class ClusterReports:
    """Serves the contracts by which one front-end tells what happens; on the engine's thread.

    `post` gets what happens to the run: after what is called here, but before what those do who
    are told here. What it tells of anything that is not its own is refused.
    """

    place: ClusterPlace
    home: str
    """The program folder on this machine."""
    post: Post
    codes: Codes
    assembly: DeployedAssembly | None
    output: OutputSpreader
    credit: CreditGrants
    stdin: StandardInput | None
    facts: FactStream
    handshakes: Handshakes
    ranks: RankProcesses
    waits: WaitReports
    router: CallRouter
    natives: NativeUsers
    names: PortNames
    deaths: Sequence[Callable[[str, RankDeath], None]]
    """Who hears of the death of a rank, with its cluster; none depends on another one."""

    def dispatch_table(self) -> DispatchTable:
        """Return the table by which what comes in finds its method."""
        dispatch = DispatchTable()
        dispatch.serve(Reports, self)
        dispatch.serve(Appeals, self)
        return dispatch

    def _check_mine(self, name: object, mine: Collection[str]) -> None:
        """Refuse what is told of a process or a part of another one; raises CallRefused."""
        known_as = name if isinstance(name, str) else type(name).__name__  # it may have no end
        if known_as not in mine or known_as is not name:
            raise CallRefused(f"'{known_as}' does not belong to {self._cluster}, which tells it")

    @property
    def _cluster(self) -> str:
        return self.place.identifier

    @property
    def _nodes(self) -> list[str]:
        cluster = self.place.cluster
        return [f"{cluster.path}/{node.name}" for node in cluster.nodes]

    # --- membership -----------------------------------------------------------------------------

    def up(self) -> None:
        """Record that the front-end is there."""
        self.post(StepUp(StepName(StepKind.FRONT_END, self._cluster)))
        self.place.is_up = True
        self.credit.taken(0)
        if self.ranks.is_over:
            self.place.orders.stop()
        self.handshakes.front_end_up(self.place)

    def rank_here(self, rank: str) -> None:
        """Record that a rank has found its front-end."""
        self.post(RankHere(read_rank(rank)))

    def rank_ready(self, rank: str, facts: Facts) -> None:
        """Take in what a rank tells about itself."""
        arrival, there = RankArrival.parse(facts), read_rank(rank)
        name = self.ranks.names.name(there)
        if other := self.ranks.of_other_order(arrival):
            why = (
                f"{name} on {arrival.host} has numbers in the order {shown(arrival.order)}-endian,"
                f" {other} has the other one: what they send each other would arrive as other"
                " numbers. Run on hosts of one order of bytes"
            )
            self.post(StepFailed(StepName(StepKind.RANKS, self._cluster), why, is_final=True))
            return
        self.post(RankReady(there))
        _log.info("%s is process %d on %s, %s", name, arrival.pid, arrival.host, arrival.mpi)
        self.codes.rank_ready(rank, arrival)
        self.facts.tell(rank, RankStarted(arrival.host, arrival.pid, arrival.mpi))
        self.waits.rank_ready(rank)
        self.ranks.arrived(there, arrival)

    def compiles(self) -> None:
        """Show that its ranks wait for a compiler."""
        self.facts.tell(self._cluster, StateChanged(STARTING, COMPILER))

    def ranks_up(self) -> None:
        """Record that all ranks of the cluster are ready."""
        self.post(StepUp(StepName(StepKind.RANKS, self._cluster)))
        self.codes.ranks_up(self._cluster)

    def gathered(self, part: str) -> None:
        """Record that all members of a part of the machine have told who they are."""
        self._check_mine(part, self.router.parts_at(self._cluster))
        self.post(StepUp(StepName(StepKind.HANDSHAKE, part or WHOLE_GRID)))
        self.handshakes.gathered(part)

    def node_up(self, name: str, facts: tuple[Any, ...]) -> None:
        """Record that a node process serves."""
        self._check_mine(name, self._nodes)
        if self.assembly is not None:
            self.assembly.node_up(name, *facts)

    # --- health ---------------------------------------------------------------------------------

    def failed(self, step: str, why: str) -> None:
        """Record that a step of the plan will not come up."""
        own = (StepName(kind, self._cluster) for kind in (StepKind.FRONT_END, StepKind.RANKS))
        names = [*own, *(StepName(StepKind.NODE, name) for name in self._nodes)]
        self._check_mine(step, list(map(str, names)))
        self.post(StepFailed(StepName.parse(step), why))
        self.codes.failed(self._cluster, why)

    def rank_ended(self, rank: str, death: Facts) -> None:
        """Record how a rank has ended."""
        died = self._at_home(RankDeath.parse(death))
        if died.who != rank:
            raise UnreadableReport(f"it tells of {rank} how {died.who} died")
        if self.codes.is_stopping(self._cluster):
            died = replace(died, after=died.after or BY_REQUEST)
        if died.is_from_outside and not died.after:
            self.place.has_lost_ranks = True
        self.facts.tell(rank, died)
        self.names.forget(rank)
        for text in died.observed.traceback.splitlines():
            self.output.line(rank, TRACEBACK, text)
        for hear in self.deaths:
            hear(self._cluster, died)

    def _at_home(self, death: RankDeath) -> RankDeath:
        """Return a death whose traceback has the files of the program as its author knows them."""
        text = self._text_at_home(death.observed.traceback)
        return replace(death, observed=replace(death.observed, traceback=text))

    def _text_at_home(self, text: str) -> str:
        return text.replace(f"{self.place.work}/", f"{self.home}/") if self.place.work else text

    def rank_aborted(self, rank: str) -> None:
        """Record that a rank ends the run."""
        self.post(Aborted(read_rank(rank)))

    def rank_frozen(self, rank: str, seconds: float) -> None:
        """Tell the user that a rank stands still, or goes on."""
        self.ranks.stands_still(read_rank(rank), goes_on=not seconds)
        if seconds:
            text = "%s has been stopped for %.3g s, by a signal or a debugger"
            _log.warning(text, self.ranks.names.name(rank), seconds)
        else:
            _log.warning("%s continues", self.ranks.names.name(rank))

    def output_follows(self) -> None:
        """Record that nothing but output of the cluster is awaited."""
        self.post(OutputFollows(self._cluster))

    def output_passed_on(self) -> None:
        """Record that no output of the cluster is left."""
        self.post(OutputPassedOn(self._cluster))

    def job_ended(self, code: int, why: str, is_fault: bool) -> None:
        """Record that the native MPI of the cluster has ended."""
        by_request = self.codes.is_stopping(self._cluster)
        self.post(JobEnded(self._cluster, code, why, is_fault, by_request))
        self.codes.job_ended(self._cluster, code, why)

    def node_lost(self, name: str, why: str) -> None:
        """Record that a node process has gone."""
        self._check_mine(name, self._nodes)
        if self.assembly is not None:
            self.assembly.node_lost(name, why)

    # --- appeals of ranks ---------------------------------------------------------------------

    def replace(self, member: str, lost: list[str]) -> None:  # noqa: ARG002 - any rank may ask
        """Start processes in place of lost ranks."""
        self.ranks.replace_lost(self._cluster, [read_rank(one) for one in lost])

    def suspects(self, member: str, rank: str, why: str) -> None:
        """Let the run decide which of two ranks is lost that cannot reach each other."""
        self.ranks.suspected(read_rank(member), read_rank(rank), why)

    def trusts(self, member: str, rank: str) -> None:
        """Record that the two ranks reach each other again."""
        self.ranks.trusted(read_rank(member), read_rank(rank))

    def awaits_end(self, member: str, rank: str) -> None:
        """Tell a rank once another one has ended."""
        self.ranks.asked_for_end(read_rank(member), read_rank(rank))

    def waiting(self, member: str, number: int, state: Facts) -> None:
        """Take in the calls of a rank."""
        self.waits.answered(parsed(member)[0], number, state, self._text_at_home)

    def called(self, member: str, rows: list[Any]) -> None:
        """Tell which MPI calls a rank made."""
        rank, _ = parsed(member)
        for name, calls, seconds in rows:
            if (type(name), type(calls), type(seconds)) != (str, int, float):
                raise UnreadableReport("it is no count of calls")
            self.facts.tell(rank, CallsCounted(name, calls, seconds))

    def used(self, member: str, memory: int, cpu: float) -> None:
        """Tell what a rank has used."""
        if (type(memory), type(cpu)) != (int, float):
            raise UnreadableReport("it is no memory and time")
        self.facts.tell(parsed(member)[0], RankUsed(memory, round(cpu, 2)))

    def traced(self, member: str, head: Facts, rows: bytes) -> None:
        """Tell the latest calls of a rank, in the time of this run."""
        rank, _ = parsed(member)
        now, theirs = time.monotonic(), head["clock"]
        ahead, error = self.waits.clocks.difference(rank, str(head["clock_of"]), theirs, now)
        if type(rows) is not bytes:
            raise UnreadableReport("these are no rows of a trace")
        traced = CallsTraced(
            self.facts.since_begin(float(head["begun"]) - ahead),
            error,
            tuple((str(name), str(kind)) for name, kind in head["calls"]),
            tuple(
                TracedCommunicator(str(name), str(key), tuple(map(str, members)))
                for name, key, members in head["communicators"]
            ),
            int(head["dropped"]),
            rows,
            tuple(map(str, head["plans"])),
        )
        self.facts.tell(rank, traced)

    def checked(self, member: str, report: Facts) -> None:
        """Compare the calls of a rank with those of others."""
        self.waits.checks.take(parsed(member)[0], report)

    def uses_native_mpi(self, member: str, files: list[str], why: str) -> None:
        """Warn of native code that computes on one cluster."""
        if any(type(one) is not str for one in (*files, why)):
            raise UnreadableReport("these are no files")
        self.natives.found(self.ranks.names.name(parsed(member)[0]), files, why)

    def asks_for_name(self, member: str, number: int, kind: str, name: str, port: str) -> None:
        """Answer what a rank asks about the name of a port."""
        if [type(one) for one in (number, kind, name, port)] != [int, str, str, str]:
            raise UnreadableReport("this is no question about a name")
        rank, _ = parsed(member)
        answer, found = self.names.ask(rank, NameRequest(kind), name, port)
        self.router.answers_to(rank).name_answered(number, int(answer), found)

    # --- references -----------------------------------------------------------------------------

    def rank_exchanged(self, rank: str, rows: list[Row], figures: Figures) -> None:
        """Tell what a rank has sent to others, and how it found them."""
        for row in rows:
            self.facts.tell(rank, _messages(row))
        self.facts.tell(rank, ConnectionsCounted(figures))

    def counted(self, rows: list[Row]) -> None:
        """Tell what the ranks of the cluster have sent to others until now."""
        for row in rows:
            self.facts.tell(self._cluster, _messages(row))

    def carried(self, messages: int, sent: int, received: int) -> None:
        """Take in what went between the front-end and its ranks."""
        self.place.carried = messages, sent, received

    def forwarded(self, *figures: int) -> None:
        """Take in what the front-end has forwarded."""
        bytes_there, bytes_back, opened, refused = figures
        self.place.relay_figures = bytes_there, bytes_back, opened, refused

    # --- output ---------------------------------------------------------------------------------

    def logged(self, text: str) -> None:
        """Put what the front-end logs into the log of the run."""
        _log.info("%s: %s", self.place.cluster.path, text[:LONGEST_RECORD])

    def lines(self, batch: list[tuple[int | None, str, Buffer]]) -> None:
        """Pass on what the ranks have written."""
        self.codes.written(self._cluster, batch)
        self.output.ranks(self._cluster, batch, self.credit)

    def node_lines(self, name: str, stream: str, block: bytes) -> None:
        """Pass on what a node process has written."""
        self._check_mine(name, self._nodes)
        self.output.block(name, stream, block, self.credit)

    def input_wanted(self, size: int) -> None:
        """Read for the first rank of all, if the run has an input."""
        if self.stdin is None:
            self.place.orders.read(b"")
        elif not self.ranks.is_over:
            if self.stdin.is_terminal:
                self.place.orders.show_prompts()
            self.stdin.want(size)


def _messages(row: Row) -> MessagesCounted:
    """Return what another process has counted as a fact; raises UnreadableReport if it is none."""
    to, between, *counts = row
    way = None if between is None else tuple(between)
    are_names = all(isinstance(one, str) for one in (to, *(way or ())))
    if not are_names or len(counts) != 3 or not all(type(one) is int for one in counts):
        raise UnreadableReport("it is no count of messages")
    return MessagesCounted(to, way, *counts)
