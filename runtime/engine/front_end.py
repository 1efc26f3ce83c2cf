"""The front-end of a cluster: serves its launcher, starts its ranks, passes their messages on."""

from __future__ import annotations

import gc
import os
import signal
import threading
from typing import Any

from gcm.invocation import Invocation
from runtime.coupling.words import DRIVER_PATH, HUB_PATH, cluster_of, identifier_of
from runtime.engine.configuration import Configuration, read_first_input
from runtime.engine.ranks_life import RanksLife
from runtime.transport.channel import Channel, Request
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed
from runtime.transport.lean import dial
from runtime.transport.reactor import Reactor
from runtime.transport.streams import PipeStream, SocketStream, Stream

LAUNCHER = "/launcher"
CONTROL = "control"

GRACE = 2.0  # seconds between the polite and the final end of the ranks


class FrontEnd:
    """What one front-end process does until it is told to end or loses its launcher."""

    def __init__(self, configuration: Configuration, reactor: Reactor, stream: Stream) -> None:
        self._configuration = configuration
        self._reactor = reactor
        self._stopping = False
        self._over = threading.Event()
        self._launcher = Channel(reactor, stream, "the launcher", self._asked, relay=self._inward)
        self._launcher.when_closed(lambda _: self._over.set())
        self._ranks = self._new_life() if configuration.job is not None else None

    def end(self, *_: object) -> None:
        """End as soon as possible; fit to be a signal handler."""
        self._over.set()

    def run(self, received: bytes = b"") -> None:
        """Serve until the end."""
        self._launcher.open(received)
        if self._ranks is None or self._ranks.open():
            if self._ranks is not None and self._configuration.at_once:
                self._ranks.start()
            self._tell("up")
        self._over.wait()
        if self._ranks is not None:
            self._ranks.close()
        self._launcher.close()

    # --- the launcher ---------------------------------------------------------------------------

    def _tell(self, operation: str, *args: Any) -> None:
        try:
            self._launcher.note(Invocation(LAUNCHER, CONTROL, operation, args))
        except ChannelClosed:
            self._over.set()

    def _asked(self, request: Request) -> None:
        if request.target.interface != CONTROL or self._ranks is None:
            if request.target.operation == "stop":
                self._over.set()
            return
        match request.target.operation:
            case "start_ranks":
                self._start_ranks(self._ranks)
            case "go":
                self._ranks.go(dict(*request.invocation().args))
            case "stop_ranks":
                (grace,) = request.invocation().args
                self._ranks.ask_to_end()
                self._reactor.later(grace, self._ranks.kill)
            case "kill_ranks":
                self._ranks.kill()
            case "stop":
                self._stop(self._ranks)

    def _stop(self, ranks: RanksLife) -> None:
        """End the ranks in order, then this process."""
        if self._stopping:
            return
        self._stopping = True
        if ranks.is_released and not ranks.is_over:
            ranks.ask_to_end()
            self._reactor.later(GRACE, self._over.set)
        else:
            self._over.set()

    # --- the ranks --------------------------------------------------------------------------------

    def _new_life(self) -> RanksLife:
        return RanksLife(
            self._configuration, self._reactor, self._tell, self._outward, self._ranks_over
        )

    def _start_ranks(self, ranks: RanksLife) -> None:
        """Start the ranks, or start them again when they have ended."""
        if not ranks.has_begun:
            ranks.start()
        elif ranks.is_over:
            ranks.shut()
            fresh = self._ranks = self._new_life()
            # Later, because the door of the life before has to be shut first.
            self._reactor.soon(lambda: self._begin_again(fresh, ranks))

    @staticmethod
    def _begin_again(fresh: RanksLife, before: RanksLife) -> None:
        if fresh.open():
            fresh.start(before)

    def _ranks_over(self) -> None:
        if self._stopping:
            self._over.set()

    def _outward(self, path: str) -> Channel | None:
        """Return the way for what a rank sends to another one, or to the launcher."""
        cluster = cluster_of(path)
        if cluster == self._configuration.cluster:
            return self._inward(path)
        return self._launcher if cluster or path in (HUB_PATH, DRIVER_PATH) else None

    def _inward(self, path: str) -> Channel | None:
        """Return the way to a rank of this cluster."""
        rank = identifier_of(path)
        return self._ranks.find(rank) if rank and self._ranks is not None else None


def main() -> int:
    """Run as one front-end, or as the parent of several; return the exit code.

    Several front-ends of one host share what they import: it is done once, and then they part.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # a stray print must not look like a message
    os.close(nothing)
    try:
        configurations = read_first_input(lambda size: os.read(source, size))
    except EOFError:
        return 1
    if not configurations[0].launcher:
        _serve(configurations[0], PipeStream(source, sink))
        return 0
    os.close(source)
    os.close(sink)
    return _part(configurations)


def _part(configurations: tuple[Configuration, ...]) -> int:
    """Become as many processes as there are front-ends, and wait for all of them."""
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
    credentials = Credentials(configuration.secret, configuration.cluster)
    connected, _, received = dial(configuration.launcher, credentials)
    _serve(configuration, SocketStream(connected), received)


def _serve(configuration: Configuration, stream: Stream, received: bytes = b"") -> None:
    with Reactor(f"front-end {configuration.cluster}") as reactor:
        front_end = FrontEnd(configuration, reactor, stream)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, front_end.end)
        front_end.run(received)
