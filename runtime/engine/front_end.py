"""The front-end of a cluster: serves its launcher, starts its ranks, passes their messages on."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from gcm.invocation import Invocation
from runtime.coupling.words import DRIVER_PATH, HUB_PATH, cluster_of, identifier_of
from runtime.engine.configuration import REFUSED, Configuration, OtherVersion, read_first_input
from runtime.engine.control import CONTROL, LAUNCHER, ControlHost
from runtime.engine.cores import leave_no_core_file
from runtime.engine.front_end_components import Components
from runtime.engine.hierarchy import part_path
from runtime.engine.outcome import Relay
from runtime.engine.output_room import OutputRoom
from runtime.engine.ranks_life import RanksLife
from runtime.engine.shared_routes import SharedRoutes
from runtime.errors import GridError
from runtime.hosting.references import ReferenceCodec
from runtime.launchers.family import rename
from runtime.launchers.forked_guard import ForkedGuard
from runtime.machine.table import encoded
from runtime.membership.doorstep import NOT_FOUND
from runtime.membership.whereabouts import Whereabouts
from runtime.transport.channel import Channel, Request
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed
from runtime.transport.lean import dial
from runtime.transport.reactor import Reactor
from runtime.transport.streams import PipeStream, SocketStream, Stream

if TYPE_CHECKING:
    from runtime.engine.forwarding import Forwarding
    from runtime.engine.node_keeper import NodeKeeper

GRACE = 2.0  # seconds between the polite and the final end of the ranks


class FrontEnd:
    """What one front-end process does until it is told to end or loses its launcher."""

    def __init__(
        self,
        configuration: Configuration,
        reactor: Reactor,
        stream: Stream,
        guard: ForkedGuard | None = None,
    ) -> None:
        self._configuration = configuration
        self._guard = guard  # for the first life of the ranks
        self._reactor = reactor
        self._stopping = False
        self._routes = SharedRoutes(reactor)
        self._over = threading.Event()
        self._host = ControlHost(part_path(configuration.cluster), reactor, self._obey)
        self._launcher = Channel(
            reactor,
            stream,
            "the launcher",
            self._host.serve,
            relay=self._inward,
            codec=ReferenceCodec(self._host),
        )
        self._host.routes.add("/", self._launcher)
        self._components: Components | None = None
        self._answers: dict[str, Any] | None = None
        self._whereabouts = Whereabouts()
        self._room = OutputRoom()
        self._may_go = False
        self._past: list[tuple[int, int, int]] = []
        self._ended: list[RanksLife] = []  # lives of which something may be left
        self._forwarding: Forwarding | None = None
        self._launcher.when_closed(lambda _: self._over.set())
        self._ranks = self._new_life() if configuration.job is not None else None
        self._nodes = self._new_keeper() if configuration.nodes else None

    def end(self, *_: object) -> None:
        """End as soon as possible; fit to be a signal handler."""
        self._over.set()

    def run(self, received: bytes = b"") -> None:
        """Serve until the end."""
        self._launcher.open(received)
        if self._can_forward() and (self._ranks is None or self._ranks.open(reads_input=True)):
            if self._ranks is not None and self._configuration.at_once:
                self._ranks.start()
            self._tell("up")
        self._over.wait()
        self._tell_traffic()
        if self._nodes is not None:
            self._nodes.close()
        for life in (*self._ended, self._ranks):
            if life is not None:
                life.close()
        if self._forwarding is not None:
            self._forwarding.close()
        self._host.close()
        self._launcher.close()

    def _can_forward(self) -> bool:
        """Listen for those to be forwarded, if there may be any; tell the launcher if it fails."""
        if not self._configuration.forwards:
            return True
        from runtime.engine.forwarding import Forwarding  # not where all can reach each other

        try:
            self._forwarding = Forwarding(self._configuration, self._reactor)
        except GridError as fault:
            here = f"{self._configuration.path} on {os.uname().nodename}"
            fault.place = f"{here} ({fault.place})" if fault.place else here
            self._tell("failed", f"front-end:{self._configuration.cluster}", str(fault))
            return False
        return True

    def _tell_traffic(self) -> None:
        """Tell what went between this process and the ranks, in all their lives."""
        lives = [*self._past, *([] if self._ranks is None else [self._ranks.traffic])]
        self._tell("carried", *(sum(numbers) for numbers in zip(*lives, strict=True)))
        if self._forwarding is not None:
            self._tell("forwarded", *self._forwarding.carried)

    def _relays(self) -> tuple[Relay, ...]:
        """Return what this front-end has passed on, if it does that."""
        if self._forwarding is None:
            return ()
        return (Relay(self._configuration.cluster, *self._forwarding.carried),)

    # --- the launcher ---------------------------------------------------------------------------

    def _tell(self, operation: str, *args: Any) -> None:
        try:
            self._launcher.note(Invocation(LAUNCHER, CONTROL, operation, args))
        except ChannelClosed:
            self._over.set()

    def _obey(self, request: Request) -> None:
        """Do what the launcher says, on the reactor's thread."""
        ranks, args = self._ranks, request.invocation().args
        match request.target.operation:
            case "bind":
                self._bind()
            case "shake_hands":
                self._shake_hands()
            case "moved":
                self._whereabouts.moved(*args)
                self._tell_forwarding()
            case "go":
                # Ranks that nobody has asked for yet will be told when they have come.
                self._may_go = ranks is not None and ranks.has_begun
                self._release()
            case "stop":
                self._stop()
            case "output_taken":
                self._room.give(*args)
            case "start_node" if self._nodes is not None:
                self._nodes.start(*args)
            case "lead" if self._nodes is not None:
                self._nodes.lead(*args)
            case operation if ranks is not None:
                self._obey_for(ranks, operation, args)

    def _obey_for(self, ranks: RanksLife, operation: str, args: tuple[Any, ...]) -> None:
        """Do what the launcher says about the ranks."""
        match operation:
            case "start_ranks":
                self._start_ranks(ranks)
            case "stop_ranks":
                ranks.ask_to_end()
                self._reactor.later(args[0], ranks.kill)
            case "kill_ranks":
                ranks.kill()
            case "input":
                ranks.read_input(*args)
            case "show_prompts":
                ranks.show_prompts()

    # --- the components -------------------------------------------------------------------------

    def _bind(self) -> None:
        """Make the components of this process and bind them to those above."""
        self._components = Components(
            self._host,
            self._configuration,
            gathered=lambda identifier: self._tell("gathered", identifier),
            failed=self._cannot_shake_hands,
            routes=self._routes,
            relays=self._relays,
        )
        self._components.bind(lambda: self._tell("bound"))

    def _shake_hands(self) -> None:
        assert self._components is not None
        facts = self._ranks.facts if self._ranks is not None else {}

        found = self._forwarding.found if self._forwarding is not None else NOT_FOUND
        self._components.shake_hands(
            facts, found, lambda answers: self._reactor.soon(partial(self._answered, answers))
        )

    def _answered(self, answers: dict[str, Any]) -> None:
        self._answers = answers
        for answer in answers.values():  # it is the same in all of them
            self._whereabouts.told(answer["everybody"])
            break
        self._tell_forwarding()
        self._release()

    def _tell_forwarding(self) -> None:
        if self._forwarding is not None:
            self._forwarding.learn(self._whereabouts.everybody)

    def _cannot_shake_hands(self, fault: GridError) -> None:
        if not self._stopping:
            fault.place = fault.place or self._configuration.path
            self._tell("failed", f"handshake:{self._configuration.cluster}", str(fault))

    def _release(self) -> None:
        """Let the ranks run once the launcher says so and everybody's answers are here."""
        if self._may_go and self._answers is not None and self._ranks is not None:
            self._ranks.go(self._whereabouts.epoch, encoded(self._whereabouts.everybody))

    def _stop(self) -> None:
        """End the ranks and the nodes in order, then this process."""
        if self._stopping:
            return
        self._stopping = True
        if self._ranks is not None and self._ranks.is_released:
            self._ranks.ask_to_end()
        if self._nodes is not None:
            self._nodes.ask_to_end()
        self._reactor.later(GRACE, self._over.set)
        self._end_if_all_ended()

    def _end_if_all_ended(self) -> None:
        """End once it was asked for and nothing runs that would have to end before."""
        ranks, nodes = self._ranks, self._nodes
        ranks_run = ranks is not None and ranks.is_released and not ranks.is_over
        if self._stopping and not ranks_run and (nodes is None or nodes.are_over):
            self._over.set()

    # --- the nodes --------------------------------------------------------------------------------

    def _new_keeper(self) -> NodeKeeper:
        # Only where there are nodes: an idle front-end stays small.
        from runtime.engine.node_keeper import NodeKeeper

        return NodeKeeper(
            self._configuration, self._host, self._tell, self._end_if_all_ended, self._room
        )

    # --- the ranks --------------------------------------------------------------------------------

    def _new_life(self) -> RanksLife:
        guard, self._guard = self._guard, None
        return RanksLife(
            self._configuration,
            self._reactor,
            self._tell,
            self._outward,
            self._end_if_all_ended,
            routes=self._routes,
            room=self._room,
            guard=guard,
        )

    def _start_ranks(self, ranks: RanksLife) -> None:
        """Start the ranks, or start them again when they have ended."""
        if ranks.is_over:  # it may be without ever having begun
            ranks.shut()
            self._past.append(ranks.traffic)
            self._may_go = False
            self._ended.append(ranks)
            fresh = self._ranks = self._new_life()
            # Later, because the door of the life before has to be shut first.
            self._reactor.soon(lambda: self._begin_again(fresh))
        elif not ranks.has_begun:
            ranks.start()

    def _begin_again(self, fresh: RanksLife) -> None:
        if not self._over.is_set() and fresh.open():
            fresh.start(self._ended)
            self._ended = []

    def _outward(self, path: str) -> Channel | None:
        """Return the way for what a rank sends to another one, or to the launcher."""
        cluster = cluster_of(path)
        if cluster == self._configuration.cluster:
            return self._inward(path)
        return self._launcher if cluster or path in (HUB_PATH, DRIVER_PATH) else None

    def _inward(self, path: str) -> Channel | None:
        """Return the way to a rank or a node of this cluster."""
        rank = identifier_of(path)
        if rank:
            return self._ranks.find(rank) if self._ranks is not None else None
        way = self._host.routes.find(path)
        return way if isinstance(way, Channel) and way is not self._launcher else None


def main() -> int:
    """Run as one front-end, or as the parent of several; return the exit code.

    Several front-ends of one host share what they import: it is done once, and then they part.
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
        _serve(configurations[0], PipeStream(source, sink))
        return 0
    os.close(source)
    os.close(sink)
    return _part(configurations)


def _part(configurations: tuple[Configuration, ...]) -> int:
    """Become as many processes as there are front-ends, and wait for all of them."""
    Components.rehearse()  # what is worked out once, all of them know
    gc.freeze()  # what all have in common stays in common
    for configuration in configurations:
        if os.fork() == 0:
            _dial(configuration)
            return 0
    worst = 0
    for _ in configurations:
        _, status = os.wait()
        worst = max(worst, abs(os.waitstatus_to_exitcode(status)))
    return worst


def _dial(configuration: Configuration) -> None:
    credentials = Credentials(
        configuration.secret, configuration.cluster, configuration.certificate
    )
    connected, _, received = dial(configuration.launcher, credentials)
    _serve(configuration, SocketStream(connected), received)


def _serve(configuration: Configuration, stream: Stream, received: bytes = b"") -> None:
    os.umask(configuration.umask)
    guard = ForkedGuard() if configuration.job is not None else None  # before there are threads
    with Reactor(f"front-end {configuration.cluster}") as reactor:
        front_end = FrontEnd(configuration, reactor, stream, guard)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, front_end.end)
        front_end.run(received)
