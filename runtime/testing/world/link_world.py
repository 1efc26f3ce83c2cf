"""Plays a scenario of links: production's blocking ends of connections, over simulated sockets."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable
from functools import partial
from typing import cast

from gcm.records import dataclass
from runtime.errors import GridError
from runtime.membership.rank_link import SharedChannel, dial_front_end
from runtime.peers.connections.calls import answer_frame, opened
from runtime.peers.connections.connection import Frames, MemberConnection
from runtime.peers.connections.sockets import PeerSocket
from runtime.peers.contracts import CallSize, LabMembership
from runtime.peers.errors import PeerError
from runtime.peers.model import Address, Principal
from runtime.testing.world.engine import World, WorldStuck
from runtime.testing.world.link_auditors import LinkAsked, LinkFindings, audit_link
from runtime.testing.world.link_load import LinkFaultKind, LinkKind, LinkScenario
from runtime.testing.world.network import NEVER, Network
from runtime.testing.world.ranks import SECRET
from runtime.testing.world.sockets import WorldProcess
from runtime.testing.world.tape import Tape
from runtime.testing.world.waiting_threads import (
    BlockingListener,
    ThreadedProcess,
    dialled,
)
from runtime.transport.credentials import NONCE, Credentials, ListeningEnd
from runtime.transport.errors import ChannelClosed, FrameError
from runtime.transport.frames import Frame
from runtime.transport.lean import HOST_SILENCE, LeanChannel
from runtime.transport.messages import CALL, NOTE, Target
from runtime.transport.transports import end_when_silent

BOUND = 120.0
"""Seconds after the last fault, and what is told takes, in which all threads have to end."""

CLUSTER, RANK = "0:0", "0:0:0"
_WHERE = "hb:4000"
_IDLE, _MOST_HEADING, _SIZE = 600.0, 4096, CallSize()
"""Seconds for which a member waits for the next call, and how large one may be."""
_MEMBER = Principal.parse("peer:hb")


@dataclass(frozen=True, slots=True)
class PlayedLink:
    """What came of a scenario."""

    scenario: LinkScenario
    failures: tuple[str, ...]
    tape: Tape
    seconds: float
    """Of the time of the world."""


def play_link(scenario: LinkScenario, *, tape: Tape | None = None) -> PlayedLink:
    """Return what comes of a scenario; the same each time."""
    world = World(scenario.seed, most_events=200_000)
    world.tape = tape or Tape()
    made = LinkWorld(world, scenario)
    try:
        findings = made.run()
        failures = tuple(audit_link(findings))
    finally:
        made.free()
    return PlayedLink(scenario, failures, world.tape, world.now)


class LinkWorld:
    """One scenario in its world: `here` waits for answers of `there`."""

    def __init__(self, world: World, scenario: LinkScenario) -> None:
        self.world, self.scenario = world, scenario
        self.network = Network(world, room=scenario.room, silence=NEVER)
        self.network.places = {_WHERE: "hb"}
        for source, target in (("ha", "hb"), ("hb", "ha")):
            line = self.network.line(source, target)
            line.latency, line.rate = scenario.latency, scenario.rate
        self.here, self.there = self._process("here", "ha"), self._process("there", "hb")
        end = (
            _RankEnd(self.here, scenario)
            if scenario.kind is LinkKind.RANK
            else _LabCaller(self.here, scenario)
        )
        self.end: _RankEnd | _LabCaller = end
        if scenario.kind is LinkKind.RANK:
            self.other: _FrontEndEnd | _LabMember = _FrontEndEnd(self.there, scenario)
        else:
            self.other = _LabMember(self.there, scenario)
        self.gone_at: float | None = None
        world.add(self.there)
        world.add(self.here, 0.01)
        for fault in scenario.faults:
            world.at(fault.at, partial(self._strike, fault.kind, fault.seconds))

    def _process(self, name: str, host: str) -> ThreadedProcess:
        rng = random.Random(f"{self.scenario.seed} {name}")
        return ThreadedProcess(WorldProcess(name, host, self.network, rng))

    def run(self) -> LinkFindings:
        """Let it run to its end; return what there is to be audited."""
        limit = self.scenario.healed_at + self.scenario.seconds + BOUND
        stuck = ""
        try:
            if not self.world.run(self._is_over, limit):
                stuck = f"it has not ended after {limit:.0f} s:\n{self.world.who_waits()}"
        except WorldStuck as fault:
            stuck = str(fault)
        return LinkFindings(
            self.scenario, self.end.asked, self.end.lost, self.other.heard, self.other.answered,
            self.other.lost, self.end.closed_for, self.end.has_opened, self.gone_at,
            self.world.now, stuck,
        )  # fmt: skip

    def _is_over(self) -> bool:
        if not self.here.is_over:
            return False
        never = not (self.end.has_opened or self.network.connections)
        return never or self.gone_at is not None or self.there.is_over

    def free(self) -> None:
        """Leave no thread behind."""
        for one in (self.here, self.there):
            one.leave()

    def _strike(self, kind: LinkFaultKind, seconds: float) -> None:
        until = self.world.now + seconds
        self.world.tape.note(self.world.now, "faults", f"{kind} for {seconds:g} s")
        match kind:
            case LinkFaultKind.PAUSE:
                self.world.pause("there", until)
            case LinkFaultKind.CUT:
                self.network.cut("ha", "hb", until)
                self.network.cut("hb", "ha", until)
            case LinkFaultKind.CUT_ONE_WAY:
                self.network.cut("hb", "ha", until)
            case LinkFaultKind.DOWN | LinkFaultKind.KILL:
                if self.gone_at is None:
                    self.gone_at = self.world.now
                self.world.remove("there")
                if kind is LinkFaultKind.DOWN:
                    self.network.down("hb")
                else:
                    self.network.end_process("there")


# --- a rank and its front-end ---------------------------------------------------------------------


class _RankEnd:
    """A rank: threads tell its front-end something, another one serves calls."""

    def __init__(self, process: ThreadedProcess, scenario: LinkScenario) -> None:
        self.asked: list[LinkAsked] = []
        self.lost: list[tuple[float, str]] = []
        self.closed_for = 0.0
        self.has_opened = False
        self._process, self._scenario = process, scenario
        self._left = 0
        process.start("opening", self._open)

    def _open(self) -> None:
        process = self._process
        sockets = cast("Callable[[str], tuple[socket.socket, str]]", partial(dialled, process))
        try:
            channel = dial_front_end(_WHERE, Credentials(SECRET, RANK), CLUSTER, sockets=sockets)
        except GridError as fault:
            self._lose(fault)
            return
        self.has_opened = True
        by_thread = {one.by for one in self._scenario.steps}
        self._left = len(by_thread)
        for by in sorted(by_thread):
            process.start(f"telling {by}", partial(self._tell, channel, by))
        process.start("listening", partial(self._listen, channel))
        if not by_thread:
            self._end(channel)

    def _lose(self, fault: Exception) -> None:
        self.lost.append((self._process.system.now, str(fault)))

    def _tell(self, channel: SharedChannel, by: int) -> None:
        process = self._process
        for number, step in enumerate(self._scenario.steps):
            if step.by != by:
                continue
            process.sleep(max(0.0, step.at - process.system.now))
            began = process.system.now
            try:
                channel.note(Target(RANK, "told", "told"), number, "x" * step.size)
            except ChannelClosed as fault:
                self._lose(fault)
                break
            self.asked.append(LinkAsked(number, by, began, process.system.now))
        self._left -= 1
        if not self._left:
            self._end(channel)

    def _end(self, channel: SharedChannel) -> None:
        """Tell the end, and wait until the front-end has nothing more to ask."""
        try:
            channel.note(Target(RANK, "told", "ended"))
        except ChannelClosed as fault:
            self._lose(fault)

    def _listen(self, channel: SharedChannel) -> None:
        """Serve calls until the front-end hangs up."""
        try:
            while True:
                frame = channel.receive()
                channel.answer(frame, channel.opened(frame)[1][0])
        except (ChannelClosed, FrameError) as fault:
            self._lose(fault)
        channel.close()


class _FrontEndEnd:
    """The front-end: it hears what its rank tells, and calls it now and then."""

    def __init__(self, process: ThreadedProcess, scenario: LinkScenario) -> None:
        self.heard: list[int] = []
        self.answered: list[int] = []
        self.lost: list[tuple[float, str]] = []
        self._process, self._scenario = process, scenario
        process.start("gate", self._serve)

    def _serve(self) -> None:
        process = self._process
        listener = BlockingListener(process, _WHERE)
        connected, _ = listener.accept()
        listener.close()
        greeting = ListeningEnd(Credentials(SECRET, CLUSTER), process.system.random(NONCE))
        bare = cast(socket.socket, connected)
        end_when_silent(bare, HOST_SILENCE, even_if_full=False)
        try:
            while greeting.peer is None:
                if not (received := connected.recv(4096)):
                    return
                connected.sendall(greeting.feed(received))
            channel = LeanChannel(bare, RANK, greeting.rest, silence=HOST_SILENCE)
            self._hear(channel)
        except (OSError, ChannelClosed) as fault:
            self.lost.append((process.system.now, str(fault)))
        connected.close()

    def _hear(self, channel: LeanChannel) -> None:
        for number in range(self._scenario.calls):
            channel.post(Target(RANK, "asked", "asked"), number)
        has_ended = False
        while not has_ended or len(self.answered) < self._scenario.calls:
            frame = channel.receive()
            if frame.kind == NOTE:
                target, args, _ = channel.opened(frame)
                has_ended = has_ended or target.operation == "ended"
                self.heard += args[:1]
                self._process.sleep(self._scenario.late)
            elif frame.kind != CALL:
                self.answered.append(channel.outcome(frame))


# --- a caller and a member of a lab ---------------------------------------------------------------


class _LabCaller:
    """Threads that call over one connection, and one that may close it."""

    def __init__(self, process: ThreadedProcess, scenario: LinkScenario) -> None:
        self.asked: list[LinkAsked] = []
        self.lost: list[tuple[float, str]] = []
        self.closed_for = 0.0
        self.has_opened = False
        self._process, self._scenario = process, scenario
        self._left = 0
        process.start("opening", self._open)

    def _open(self) -> None:
        process = self._process
        made, where = dialled(process, _WHERE)
        made.principal = _MEMBER
        made.settimeout(10.0)
        try:
            made.connect(where)
        except OSError as fault:
            self.lost.append((process.system.now, str(fault)))
            made.close()
            return
        connection = MemberConnection(Frames(cast(PeerSocket, made)), Address("hb", 4000))
        self.has_opened = True
        by_thread = {one.by for one in self._scenario.steps}
        self._left = len(by_thread)
        for by in sorted(by_thread):
            process.start(f"calling {by}", partial(self._call, connection, by))
        if self._scenario.closes_at is not None:
            process.start("closing", partial(self._close, connection))
        if not by_thread:
            connection.close()

    def _call(self, connection: MemberConnection, by: int) -> None:
        process = self._process
        membership = connection.stub(LabMembership)
        for number, step in enumerate(self._scenario.steps):
            if step.by != by:
                continue
            process.sleep(max(0.0, step.at - process.system.now))
            began, found = process.system.now, None
            try:
                found = membership.alive("peer:ha", [number, "x" * step.size]).get("number")
                why = ""
            except PeerError as fault:
                why = str(fault)
            self.asked.append(LinkAsked(number, by, began, process.system.now, found, why))
        self._left -= 1
        if not self._left:
            connection.close()

    def _close(self, connection: MemberConnection) -> None:
        assert self._scenario.closes_at is not None
        self._process.sleep(max(0.0, self._scenario.closes_at - self._process.system.now))
        began = self._process.system.now
        connection.close()
        self.closed_for = self._process.system.now - began


class _LabMember:
    """A member of a lab that answers each call as late as it was told."""

    def __init__(self, process: ThreadedProcess, scenario: LinkScenario) -> None:
        self.heard: list[int] = []
        self.answered: list[int] = []
        self.lost: list[tuple[float, str]] = []
        self._process, self._scenario = process, scenario
        process.start("serving", self._serve)

    def _serve(self) -> None:
        process = self._process
        listener = BlockingListener(process, _WHERE)
        connected, _ = listener.accept()
        listener.close()
        end_when_silent(cast(socket.socket, connected), HOST_SILENCE)
        frames = Frames(cast(PeerSocket, connected))
        try:
            while (frame := self._next(frames)) is not None:
                number = opened(frame).arguments[1][0]
                self.heard.append(number)
                process.sleep(self._scenario.late)
                frames.send(answer_frame(frame.number, {"number": number}))
                self.answered.append(number)
        except (OSError, FrameError) as fault:
            self.lost.append((process.system.now, str(fault)))
        connected.close()

    def _next(self, frames: Frames) -> Frame | None:
        coming = frames.coming(_IDLE)
        if coming is None:
            return None
        heading = coming.take(_MOST_HEADING)
        return coming.whole([heading, coming.take(_SIZE.text)], _SIZE)


__all__ = ["PlayedLink", "play_link"]
