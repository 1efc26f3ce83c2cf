"""The front-end of a cluster: serves its launcher, starts its ranks, passes their messages on."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gcm.invocation import Invocation
from runtime.coupling.message_paths import cluster_of, identifier_of
from runtime.errors import GridError
from runtime.launchers.family import remove_tree, rename
from runtime.launchers.forked_guard import ForkedGuard
from runtime.launchers.forking import fork
from runtime.launchers.mpiexec import MANAGER
from runtime.lifecycle.outcome import Connections, ForwardedTraffic
from runtime.machine.authority import OVER_LINKS, is_for_launcher, is_for_rank
from runtime.machine.calls import DispatchTable, Sometimes
from runtime.machine.contracts import Facts, Orders
from runtime.machine.paths import part_path
from runtime.machine.table import decoded
from runtime.membership.whereabouts import RankArrival, front_end_report, report
from runtime.processes.configuration import (
    LISTENER,
    REFUSED,
    FrontEndSettings,
    OtherVersion,
    read_first_input,
)
from runtime.processes.cores import leave_no_core_file
from runtime.processes.front_end.code_runs import CodeRuns
from runtime.processes.front_end.components import Components, rehearse
from runtime.processes.front_end.launcher_link import LauncherLink
from runtime.processes.front_end.rank_faults import at_home
from runtime.processes.front_end.ranks_run import RanksRun
from runtime.processes.front_end.shared_routes import SharedRoutes
from runtime.processes.member_host import MemberHost
from runtime.processes.watch import ARBITER
from runtime.step_name import StepKind, StepName
from runtime.transport.channel import Channel
from runtime.transport.errors import ChannelClosed
from runtime.transport.lean import dial
from runtime.transport.messages import Target
from runtime.transport.reactor import Reactor
from runtime.transport.streams import ByteStream, PipeStream, SocketStream

if TYPE_CHECKING:
    from runtime.health import Effect
    from runtime.processes.front_end.forwarding import Forwarding
    from runtime.processes.front_end.frozen_ranks import FrozenRanks
    from runtime.processes.front_end.node_keeper import NodeKeeper
    from runtime.processes.heartbeats import HeartbeatLoop

_log = logging.getLogger(__name__)

GRACE = 2.0  # seconds between the polite and the final end of the ranks


class FrontEndProcess:
    """What one front-end process does until it is told to end or loses its launcher."""

    def __init__(
        self,
        configuration: FrontEndSettings,
        reactor: Reactor,
        stream: ByteStream,
        guard: ForkedGuard | None = None,
    ) -> None:
        self._configuration = configuration
        self._guard = guard  # for the first run of the ranks
        self._reactor = reactor
        self._stopping = False
        self._ended_by = 0  # the signal
        self._routes = SharedRoutes(reactor)
        self._over = threading.Event()
        dispatch = DispatchTable()
        self._host = MemberHost(part_path(configuration.cluster), reactor, dispatch)
        self._link = LauncherLink(
            reactor, stream, configuration.cluster, self._host.serve, self._inward
        )
        self._launcher, self._channel = self._link.reports, self._link.channel
        self._host.routes.add("/", self._channel)
        self._forwarding: Forwarding | None = None
        self._channel.when_closed(lambda _: self._over.set())
        self._heartbeats = self._new_heartbeats()
        self._frozen: FrozenRanks | None = None
        self._components = Components(self._host, configuration, self, self._heartbeats)
        new = None if configuration.job is None else self._new_run
        self._code = CodeRuns(reactor, self._components, new, self._over)
        self._nodes = self._new_keeper() if configuration.nodes else None
        self._share_orders(dispatch)

    def _share_orders(self, dispatch: DispatchTable) -> None:
        """Let orders reach the objects that own what they change."""
        present = Sometimes(
            lambda: self._code.present,
            "signal_ranks", "stop_ranks", "kill_ranks", "tell_states", "count_messages", "read",
            "show_prompts",
        )  # fmt: skip
        ends = Sometimes(
            lambda: None if self._code.present is None else self._code.present.ends,
            "start_again", "end_rank",
        )  # fmt: skip
        nodes = Sometimes(lambda: self._nodes, "start_node", "lead")
        owners = self._code, self._components, self._link.credit, present, ends, nodes
        dispatch.share(Orders, self, *owners)

    def end(self, number: int = 0, *_: object) -> None:
        """End as soon as possible; fit to be a signal handler."""
        if number:
            self._ended_by = number
            self._link.abandon()
        self._over.set()

    def run(self, received: bytes = b"") -> None:
        """Serve until the end."""
        self._link.open(received)
        ranks = self._code.present
        if self._can_forward() and (ranks is None or ranks.open(reads_input=True)):
            if ranks is not None and self._configuration.at_once:
                ranks.start()
            self._launcher.up()
        self._over.wait()
        if self._ended_by and not self._stopping:
            print(f"it was ended by {signal.Signals(self._ended_by).name}", file=sys.stderr)
            self._link.hang_up()  # else it would take the end of the ranks for its own wish
        if self._heartbeats is not None:
            self._reactor.soon(self._heartbeats.end)
        if self._frozen is not None:
            self._frozen.end()
        self._report_traffic()
        if self._nodes is not None:
            self._nodes.close()
        self._code.close()
        if self._forwarding is not None:
            self._forwarding.close()
        self._link.pass_output_on()
        self._host.close()
        self._link.close()

    def _can_forward(self) -> bool:
        """Listen for those to be forwarded, if there may be any; tell the launcher if it fails."""
        if not self._configuration.forwards:
            return True
        from runtime.membership.bind_address import use_transports
        from runtime.processes.front_end.forwarding import (
            Forwarding,  # not where all can reach each other
        )

        try:
            use_transports(self._configuration.transports, self._configuration.module_folder)
            self._forwarding = Forwarding(
                self._configuration, self._reactor, self._host.serve, self._inward
            )
        except GridError as fault:
            why = at_home(self._configuration.path, fault)
            self._launcher.failed(
                str(StepName(StepKind.FRONT_END, self._configuration.cluster)), why
            )
            return False
        return True

    def _report_traffic(self) -> None:
        """Tell what went between this process and the ranks, in all their runs."""
        if traffic := self._code.traffic:
            self._launcher.carried(*traffic)
        if self._forwarding is not None:
            self._launcher.forwarded(*self._forwarding.carried)

    def _relays(self) -> tuple[ForwardedTraffic, ...]:
        """Return what this front-end has passed on, if it does that."""
        if self._forwarding is None:
            return ()
        return (ForwardedTraffic(self._configuration.cluster, *self._forwarding.carried),)

    # --- the contract of control, on the reactor's thread ---------------------------------------

    def watch(self, elapsed: float, incarnation: int) -> None:
        """Watch the other front-ends and the launcher, which began so many seconds ago."""
        if self._heartbeats is not None:
            self._heartbeats.begin(elapsed, incarnation)
        watch = self._configuration.watch
        if watch is not None and self._frozen is None and self._code.present is not None:
            from runtime.processes.front_end.frozen_ranks import FrozenRanks

            self._frozen = FrozenRanks(
                self._reactor, self._launcher, self._arrivals,
                timeout=watch.timeout, is_lost=watch.frozen_is_lost,
            )  # fmt: skip
            self._frozen.begin()

    def stop(self) -> None:
        """End the ranks and the nodes in order, then this process."""
        if self._stopping:
            return
        self._stopping = True
        if (ranks := self._code.present) is not None and ranks.is_released:
            ranks.ask_to_end()
        if self._nodes is not None:
            self._nodes.ask_to_end()
        self._reactor.later(GRACE, self._over.set)
        self._end_if_all_ended()

    # --- the contract of views, and the components ----------------------------------------------

    def moved(self, reports: list[Facts]) -> None:
        """Take note of where ranks are that were started since, or again."""
        self._code.whereabouts.moved(reports)
        self._report_forwarding()
        self._code.replaced(reports)

    def coupled(self, report: Facts) -> None:
        """Take note of where a rank listens for those of other codes."""
        if self._forwarding is not None:
            self._forwarding.coupled(report)

    def gathered(self, part: str) -> None:
        """Tell the launcher that all members of a part have told who they are."""
        self._launcher.gathered(part)

    def _new_heartbeats(self) -> HeartbeatLoop | None:
        """Return what watches the others, where members watch each other."""
        watch = self._configuration.watch
        if watch is None:
            return None
        from runtime.processes.heartbeats import HeartbeatLoop  # not on a single machine

        own = self._configuration.cluster
        return HeartbeatLoop(
            self._reactor, watch, own,
            send=self._send_heartbeat, found=self._found, received=self._received, decides=False,
            names=self._configuration.names,
        )  # fmt: skip

    def _received(self, member: str) -> int:
        return self._channel.received_bytes if member == ARBITER else 0

    def _send_heartbeat(self, to: str, call: Invocation) -> None:
        with suppress(ChannelClosed):  # that of the launcher ends this process
            (self._channel if to == ARBITER else self._way_to(to)).note(call, now=True)

    def _found(self, effect: Effect) -> None:
        """End, if the others have declared this process dead; the launcher decides the rest."""
        from runtime.health import Expelled

        if isinstance(effect, Expelled):
            text = "%s: the others have declared this front-end lost, so it ends"
            _log.error(text, self._configuration.path)
            self._over.set()

    def _names(self) -> list[str]:
        job = self._configuration.job
        return [f"{self._configuration.cluster}:{rank}" for rank in range(job.ranks if job else 0)]

    def reports(self) -> list[Facts]:
        """Return what others are to know of the ranks of this cluster, and of this front-end."""
        arrivals = self._code.arrivals
        reports = [report(rank, arrivals.get(rank)) for rank in self._names()]
        if self._forwarding is not None:
            found = self._forwarding.found
            reports.append(front_end_report(self._configuration.cluster, found))
        return reports

    def seen(self, table: bytes) -> None:
        """Learn who is where; ranks get the table when they may run."""
        self._code.whereabouts.handshake(decoded(table))
        self._report_forwarding()
        self._code.locate()

    def connections(self, rank: str) -> Connections:
        """Return how a rank, or with nothing all of them, found others; this may wait."""
        found = self._routes.connections([rank] if rank else self._names())
        return found if rank else replace(found, relays=self._relays())

    def _report_forwarding(self) -> None:
        if self._forwarding is not None:
            self._forwarding.learn(self._code.whereabouts.everybody)

    def _end_if_all_ended(self) -> None:
        """End once it was asked for and nothing runs that would have to end before."""
        nodes_run = self._nodes is not None and not self._nodes.are_over
        if self._stopping and not (self._code.is_running or nodes_run):
            self._over.set()

    # --- the nodes --------------------------------------------------------------------------------

    def _new_keeper(self) -> NodeKeeper:
        # Only where there are nodes: an idle front-end stays small.
        from runtime.processes.front_end.node_keeper import NodeKeeper

        told, credit = self._launcher, self._link.credit
        return NodeKeeper(self._configuration, self._host, told, self._end_if_all_ended, credit)

    # --- the ranks --------------------------------------------------------------------------------

    def _new_run(self, incarnation: int) -> RanksRun:
        guard, self._guard = self._guard, None
        return RanksRun(
            self._configuration,
            self._reactor,
            self._link.send,
            self._outward,
            self._end_if_all_ended,
            components=self._components,
            routes=self._routes,
            credit=self._link.credit,
            incarnation=incarnation,
            guard=guard,
        )

    def _arrivals(self) -> dict[str, RankArrival]:
        ranks = self._code.present
        return {} if ranks is None or ranks.is_over else ranks.arrivals

    def present_ranks(self) -> RanksRun:
        """Return the present run of the ranks, which there is where one tells something."""
        assert self._code.present is not None  # who tells something was let in by these
        return self._code.present

    def _outward(self, target: Target) -> Channel | None:
        """Return the way for what a rank sends to another one, or to the launcher."""
        if is_for_launcher(target):
            return self._channel
        if not is_for_rank(target):
            return None
        cluster = cluster_of(target.component)
        if cluster == self._configuration.cluster:
            return self._inward(target)
        return self._way_to(cluster) if target.interface in OVER_LINKS else self._channel

    def _way_to(self, cluster: str) -> Channel:
        """Return the connection to another front-end, or that to the launcher, which passes on."""
        link = None if self._forwarding is None else self._forwarding.links.way(cluster)
        return link or self._channel

    def _inward(self, target: Target) -> Channel | None:
        """Return the way to a rank or a node of this cluster."""
        path = target.component
        rank = identifier_of(path)
        if rank:
            return self._code.find(rank)
        way = self._host.routes.find(path)
        return way if isinstance(way, Channel) and way is not self._channel else None


def main() -> int:
    """Run as one front-end, or as the parent of several; return the exit code.

    Several front-ends of one host share what they import: it is done once, before they are forked.
    """
    rename("gcm-front-end")
    leave_no_core_file()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # a stray print must not look like a message
    os.close(nothing)
    try:
        configurations = read_first_input(lambda size: os.read(source, size))
    except EOFError:
        return 1
    except OtherVersion as fault:
        print(fault, file=sys.stderr)
        return REFUSED
    if not configurations[0].launcher:
        guard = os.getppid()
        _serve(configurations[0], PipeStream(source, sink))
        if os.getppid() != guard:  # that was killed, and removes nothing any more
            remove_tree(configurations[0].run_directory)
        return 0
    os.close(source)
    os.close(sink)
    return _fork_each(configurations)


def _fork_each(configurations: tuple[FrontEndSettings, ...]) -> int:
    """Become as many processes as there are front-ends, and wait for all of them."""
    os.chdir(configurations[0].run_directory)  # this process began before there was one
    rehearse()  # what is worked out once, all of them know
    gc.freeze()  # what all have in common stays in common
    for configuration in configurations:
        if fork() == 0:
            _dial(configuration)
            return 0
    worst = 0
    for _ in configurations:
        _, status = os.wait()
        worst = max(worst, abs(os.waitstatus_to_exitcode(status)))
    return worst


def _dial(configuration: FrontEndSettings) -> None:
    credentials = configuration.credentials
    connected, _, received = dial(configuration.launcher, credentials, peer=LISTENER)
    _serve(configuration, SocketStream(connected), received)


def _manage() -> int:
    from runtime.processes.manager import main as manager  # it is in a process of its own

    return manager.main()


def _serve(configuration: FrontEndSettings, stream: ByteStream, received: bytes = b"") -> None:
    os.umask(configuration.umask)
    programs = {MANAGER: _manage}
    guard = ForkedGuard(programs) if configuration.job else None  # before there are threads
    with Reactor(f"front-end {configuration.cluster}") as reactor:
        front_end = FrontEndProcess(configuration, reactor, stream, guard)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, front_end.end)
        front_end.run(received)
