"""What front-ends tell the launcher: each operation of their contracts, and what becomes of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Protocol

from runtime.coupling.deployed_codes import Codes
from runtime.launchers.blocks import Buffer
from runtime.machine.calls import NotServed, Served
from runtime.machine.contracts import Appeals, Facts, Reports
from runtime.machine.deaths import RankDeath, UnreadableReport
from runtime.membership.whereabouts import RankArrival
from runtime.processes.launcher.output import OutputSpreader as Lines
from runtime.processes.launcher.output import Room
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.rank_processes import RankProcesses
from runtime.processes.launcher.wait_reports import WaitReports
from runtime.run.events import (
    Aborted,
    Event,
    JobEnded,
    OutputFollows,
    OutputPassedOn,
    RankHere,
    RankReady,
    StepFailed,
    StepUp,
)
from runtime.run.exchanged import Figures, Row
from runtime.transport.keys import parsed
from runtime.views.facts import (
    TRACEBACK,
    CallsCounted,
    ConnectionsCounted,
    MessagesCounted,
    RankStarted,
)
from runtime.views.stream import FactStream

if TYPE_CHECKING:
    from runtime.processes.launcher.deployed_assembly import DeployedAssembly


_log = logging.getLogger(__name__)


class Run(Protocol):
    """Who is told that a front-end is there, and that a rank wants to read."""

    def front_end_up(self, place: ClusterPlace) -> None:
        """Record that a front-end is there."""
        ...

    def read_input(self, place: ClusterPlace, size: int) -> None:
        """Read what the first rank wants to read."""
        ...


class ClusterReports:
    """Serves the contracts by which one front-end tells what happens; on the engine's thread.

    `post` gets what happens to the run: after what is called here, but before what those do who
    are told here. `parts` are those whose components live in the front-end. What it tells of
    anything that is not its own is refused.
    """

    def __init__(
        self,
        place: ClusterPlace,
        run: Run,
        post: Callable[[Event], None],
        *,
        codes: Codes,
        assembly: DeployedAssembly | None,
        output: Lines,
        room: Room,
        facts: FactStream,
        ranks: RankProcesses,
        waits: WaitReports,
        parts: Collection[str],
    ) -> None:
        self._place = place
        self._parts = parts
        self._nodes = [f"{place.cluster.path}/{node.name}" for node in place.cluster.nodes]
        self._steps = [f"{kind}:{place.identifier}" for kind in ("front-end", "ranks")]
        self._steps += [f"node:{name}" for name in self._nodes]
        self._run = run
        self._post = post
        self._codes = codes
        self._assembly = assembly
        self._output = output
        self._room = room
        self._facts = facts
        self._ranks = ranks
        self._waits = waits

    def served(self) -> Served:
        """Return the table by which what comes in finds its method."""
        served = Served()
        served.serve(Reports, self)
        served.serve(Appeals, self)
        return served

    def _check_mine(self, name: object, mine: Collection[str]) -> None:
        """Refuse what is told of a process or a part of another one; raises NotServed."""
        told = name if isinstance(name, str) else type(name).__name__  # it may have no end
        if told not in mine or told is not name:
            raise NotServed(f"'{told}' does not belong to {self._place.identifier}, which tells it")

    # --- membership -----------------------------------------------------------------------------

    def up(self, member: str) -> None:
        """Record that the front-end is there."""
        self._post(StepUp(f"front-end:{member}"))
        self._run.front_end_up(self._place)

    def rank_here(self, member: str, rank: str) -> None:  # noqa: ARG002 - the rank says it all
        """Record that a rank has found its front-end."""
        self._post(RankHere(rank))

    def rank_ready(self, member: str, rank: str, facts: Facts) -> None:  # noqa: ARG002 - as above
        """Take in what a rank tells about itself."""
        arrival = RankArrival.parse(facts)
        self._post(RankReady(rank))
        self._codes.rank_ready(rank, arrival)
        self._facts.tell(rank, RankStarted(arrival.host, arrival.pid, arrival.mpi))
        self._waits.rank_ready(rank)
        self._ranks.arrived(rank, arrival)

    def ranks_up(self, member: str) -> None:
        """Record that all ranks of the cluster are ready."""
        self._post(StepUp(f"ranks:{member}"))
        self._codes.ranks_up(member)

    def gathered(self, member: str, part: str) -> None:  # noqa: ARG002 - it may host several
        """Record that all members of a part of the machine have told who they are."""
        self._check_mine(part, self._parts)
        self._post(StepUp(f"handshake:{part or 'grid'}"))

    def node_up(self, member: str, name: str, facts: tuple[Any, ...]) -> None:  # noqa: ARG002
        """Record that a node process serves."""
        self._check_mine(name, self._nodes)
        if self._assembly is not None:
            self._assembly.node_up(name, *facts)

    # --- health ---------------------------------------------------------------------------------

    def failed(self, member: str, step: str, why: str) -> None:
        """Record that a step of the plan will not come up."""
        self._check_mine(step, self._steps)
        self._post(StepFailed(step, why))
        self._codes.failed(member, why)

    def rank_ended(self, member: str, rank: str, death: Facts) -> None:
        """Record how a rank has ended."""
        died = RankDeath.parse(death)
        if died.who != rank:
            raise UnreadableReport(f"it tells of {rank} how {died.who} died")
        self._facts.tell(rank, died)
        self._ranks.stands_still(rank, goes_on=True)
        self._waits.rank_ended(rank, died.ending)
        self._post(died)
        for text in died.observed.traceback.splitlines():
            self._output.say(rank, TRACEBACK, text)
        exception = died.observed.exception
        name = self._ranks.names.name(rank)
        self._codes.rank_ended(member, died, exception and f"{name} ended with {exception}")

    def rank_aborted(self, member: str, rank: str) -> None:  # noqa: ARG002 - the rank says it all
        """Record that a rank ends the run."""
        self._post(Aborted(rank))

    def rank_frozen(self, member: str, rank: str, seconds: float) -> None:  # noqa: ARG002
        """Tell the user that a rank stands still, or goes on."""
        self._ranks.stands_still(rank, goes_on=not seconds)
        if seconds:
            text = "%s has been stopped for %.3g s, by a signal or a debugger"
            _log.warning(text, self._ranks.names.name(rank), seconds)
        else:
            _log.warning("%s continues", self._ranks.names.name(rank))

    def output_follows(self, member: str) -> None:
        """Record that nothing but output of the cluster is awaited."""
        self._post(OutputFollows(member))

    def output_passed_on(self, member: str) -> None:
        """Record that no output of the cluster is left."""
        self._post(OutputPassedOn(member))

    def job_ended(self, member: str, code: int, why: str, is_fault: bool) -> None:
        """Record that the native MPI of the cluster has ended."""
        self._post(JobEnded(member, code, why, is_fault))
        self._codes.job_ended(member, code, why)

    def node_lost(self, member: str, name: str, why: str) -> None:  # noqa: ARG002 - names are unique
        """Record that a node process has gone."""
        self._check_mine(name, self._nodes)
        if self._assembly is not None:
            self._assembly.node_lost(name, why)

    # --- appeals of ranks ---------------------------------------------------------------------

    def replace(self, member: str, lost: list[str]) -> None:  # noqa: ARG002 - any rank may ask
        """Start processes in place of lost ranks."""
        self._ranks.replace_lost(self._place.identifier, lost)

    def suspects(self, member: str, rank: str, why: str) -> None:
        """Let the run decide which of two ranks is lost that cannot reach each other."""
        self._ranks.suspected(member, rank, why)

    def trusts(self, member: str, rank: str) -> None:
        """Record that the two ranks reach each other again."""
        self._ranks.trusted(member, rank)

    def waiting(self, member: str, number: int, state: Facts) -> None:
        """Take in the calls of a rank."""
        self._waits.told(parsed(member)[0], number, state)

    def called(self, member: str, rows: list[Any]) -> None:
        """Tell which MPI calls a rank made."""
        rank, _ = parsed(member)
        for name, calls, seconds in rows:
            if (type(name), type(calls), type(seconds)) != (str, int, float):
                raise UnreadableReport("it is no count of calls")
            self._facts.tell(rank, CallsCounted(name, calls, seconds))

    # --- references -----------------------------------------------------------------------------

    def rank_exchanged(
        self,
        member: str,  # noqa: ARG002 - the rank says it all
        rank: str,
        rows: list[Row],
        figures: Figures,
    ) -> None:
        """Tell what a rank has sent to others, and how it found them."""
        for row in rows:
            self._facts.tell(rank, _messages(row))
        self._facts.tell(rank, ConnectionsCounted(figures))

    def counted(self, member: str, rows: list[Row]) -> None:  # noqa: ARG002 - that of the place
        """Tell what the ranks of the cluster have sent to others until now."""
        for row in rows:
            self._facts.tell(self._place.identifier, _messages(row))

    def carried(self, member: str, messages: int, sent: int, received: int) -> None:  # noqa: ARG002
        """Take in what went between the front-end and its ranks."""
        self._place.carried = messages, sent, received

    def forwarded(self, member: str, *figures: int) -> None:  # noqa: ARG002 - it is that of the place
        """Take in what the front-end has forwarded."""
        bytes_there, bytes_back, opened, refused = figures
        self._place.relay_figures = bytes_there, bytes_back, opened, refused

    # --- output ---------------------------------------------------------------------------------

    def lines(self, member: str, batch: list[tuple[int | None, str, Buffer]]) -> None:
        """Pass on what the ranks have written."""
        self._codes.written(member, batch)
        self._output.ranks(member, batch, self._room)

    def node_lines(self, member: str, name: str, stream: str, block: bytes) -> None:  # noqa: ARG002
        """Pass on what a node process has written."""
        self._check_mine(name, self._nodes)
        self._output.block(name, stream, block, self._room)

    def input_wanted(self, member: str, size: int) -> None:  # noqa: ARG002 - it is that of the place
        """Read for the first rank of all."""
        self._run.read_input(self._place, size)


def _messages(row: Row) -> MessagesCounted:
    """Return what another process has counted as a fact; raises UnreadableReport if it is none."""
    to, between, *counts = row
    way = None if between is None else tuple(between)
    are_names = all(isinstance(one, str) for one in (to, *(way or ())))
    if not are_names or len(counts) != 3 or not all(type(one) is int for one in counts):
        raise UnreadableReport("it is no count of messages")
    return MessagesCounted(to, way, *counts)
