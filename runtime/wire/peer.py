"""One peer of a rank: what is sent and received, and the one connection both share.

What becomes of the two is said by tables: see `connection_life` and `peer_life`.
"""

from __future__ import annotations

import socket
from itertools import islice
from typing import TYPE_CHECKING

from runtime.lazy_import import logger
from runtime.transport.transports import stays_on_host
from runtime.wire.connection_life import (
    TRYING,
    ConnectionEvent,
    ConnectionLife,
    ConnectionStage,
    Resuming,
)
from runtime.wire.dialling.line import READ, RESUME_TIMEOUT, Line
from runtime.wire.dialling.simultaneous_open import SimultaneousOpen
from runtime.wire.errors import (
    BadFrame,
    LinkLost,
    NoRoute,
    PeerAbsent,
    PeerLeft,
    PeerLost,
    gone,
    reason_of,
)
from runtime.wire.lanes.stream_count import StreamCount
from runtime.wire.leave_taking import LeaveTaking, LinkUse, PeerView
from runtime.wire.peer_life import GONE, PeerLife, PeerStage
from runtime.wire.pending_connection import write_head
from runtime.wire.stream.duplex import DuplexStream
from runtime.wire.stream.frames import (
    BYE,
    BYE_TOO,
    REST,
    REST_TOO,
    RESUMES,
    STAY,
    ResumePoint,
    pack,
)
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.sender import MessageSender

if TYPE_CHECKING:
    from runtime.wire.dialling.connecting import PeerContext

_log = logger(__name__)

ASKS_AFTER = 1.0
"""Seconds after which a rank that ends asks whether a peer has ended to which nothing leads."""

MOST_UNSENT = 100
"""How many messages to a peer that is lost are remembered."""


class Peer:
    """The state of one pair. `why` says why nothing more comes from the peer, if so."""

    def __init__(self, index: int, context: PeerContext) -> None:
        self.index = index
        self.sender = MessageSender()
        self.receiver = MessageReceiver(
            index,
            context.sink,
            self.sender,
            kick=self.kick,
            goodbye=context.tick_soon,
            stage=context.stage,
        )
        self._duplex = DuplexStream(self.receiver, self.sender)
        self.streams = StreamCount(index, context, self._duplex, self)
        self.line: Line | None = None
        """The connection that is used, if there is one and it is not about to be left."""
        self.why: PeerLost | None = None
        self.unsent: list[tuple[bytes, int]] = []
        """Heads and sizes of the first messages to it that were lost with it, before they went."""
        self.life = PeerLife(self)
        self.connection = ConnectionLife(self)
        self.leave = LeaveTaking(self)
        self.was_cut_off = False
        """Whether the link to it was found broken before all had come that was sent."""
        self._context = context
        self._opening = SimultaneousOpen(index, context, self)
        self._kept: Line | None = None  # in doubt, or about to be left
        self._fault: Exception | None = None  # of the line, until `tick`
        self._end: PeerLost | None = None  # what cannot be fixed, until `tick`
        self._awaited = -1  # the next message, if somebody waits for it
        self._asks_at: float | None = None  # whether it has ended
        self._has_asked = False

    def __str__(self) -> str:
        """Return how errors and the log name it."""
        return self._context.describe(self.index)

    # --- opening ----------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """When `tick` has to be called, if nothing happens before."""
        resuming, opening = self.connection.resuming, self._opening
        times = [opening.deadline, self.streams.deadline, self.life.deadline, self._asks_at]
        if resuming is not None:
            times += [resuming.deadline, None if opening.is_busy else resuming.next_try]
        return min((one for one in times if one is not None), default=None)

    def watch(self) -> None:
        """Have a connection until the next message comes: somebody waits for it."""
        self._awaited = self.receiver.expected
        self.dial()

    def dial(self) -> None:
        """Begin to open a connection, unless there is one or it is on its way."""
        connection = self.connection
        is_on_its_way = self._opening.is_busy or connection.resuming or connection.is_resting
        if self.line is None and self.life.stage not in GONE and not is_on_its_way:
            self._opening.dial()

    def admit(self, connected: socket.socket, received: bytes) -> None:
        """Use a connection that the peer has opened, or keep it, or refuse it."""
        if self.connection.is_resting:
            self._drain()
            self._rested(has_next=True)
        fault, self._fault = self._fault, None
        if fault is not None:
            self._handle_fault(fault, self._context.now())
        if self.why is not None or self.leave.is_over:
            self._refuse(connected)
        elif self.line is not None and not self.line.resumes:
            connected.close()  # one that both dialled, too late
        else:
            self._opening.admit(connected, received)

    def _refuse(self, connected: socket.socket) -> None:
        """Tell the dialler that nothing more will be said, but what has come."""
        knows = self._duplex.resume and (self.why is None or isinstance(self.why, PeerLeft))
        try:
            write_head(connected, self._duplex.go(again=True) if knows else pack(BYE, 0, 0, 0, 0))
        except OSError as fault:
            _log.info("%s was not told of the end: %s", self, fault)
        connected.close()

    def greet(self, connected: socket.socket) -> tuple[bytes, bool]:
        """Return what to say on a connection that was accepted, and whether to wait for more."""
        duplex, line = self._duplex, self.line
        if not stays_on_host(connected) or not self._context.is_near(self.index):
            duplex.count()
        waits = duplex.resume and (line is not None or self._kept is not None)
        waits = waits or duplex.have_begun
        if line is not None:  # from now on nothing is read of it, unless it goes on
            self._context.watch_descriptor(line.fileno(), 0, None)
            self._kept, self.line = line, None
            self.connection.advance(ConnectionEvent.DIALLED)
        return duplex.go(again=waits), waits

    def answer_go(self, go: ResumePoint) -> bytes:
        """Take in what the other end says on a connection that was dialled; return the answer."""
        if go.flags & RESUMES:
            self._duplex.count()
        return self._duplex.go()

    def joined(self, connected: socket.socket, received: bytes, go: ResumePoint | None) -> None:
        """Use a connection."""
        doubted, self._kept = self._kept, None
        if doubted is not None:
            doubted.close()
        try:
            self._duplex.go_on(go)
        except BadFrame as fault:
            connected.close()
            cause = f"{fault}. It is another process now"
            self.give_up(self._gone("the connection cannot be resumed", cause))
            return
        self.connection.joined(self._context.now(), self._duplex.progress)
        self._fault = None
        self.was_cut_off = False
        if self.life.reached() and self._context.suspect is not None:
            self._context.suspect(self.index, None)
        self._open(connected, received)

    def _open(self, connected: socket.socket, received: bytes) -> None:
        descriptor = connected.fileno()
        watch = self._context.watch_descriptor
        line = Line(
            connected,
            self.receiver,
            self.sender,
            lambda events: watch(descriptor, events, line.handle),
            self._broken,
            resumes=self._duplex.resume,
            silence=self._context.silence,
        )
        self.line = line
        self.streams.joined(connected, resumes=line.resumes)
        self._context.tick_soon()  # nothing is due here any more
        watch(descriptor, READ, line.handle)
        if received:
            line.feed(received)
        if self.line is not None:
            line.flush()

    def not_joined(self, fault: Exception) -> None:
        """Give a connection up; the fault is a PeerLost if the peer was not reached at all."""
        now, resuming = self._context.now(), self.connection.resuming
        if self.connection.stage is ConnectionStage.DOUBTED:
            self._take_back(ConnectionEvent.FAILED, reason_of(fault))
        elif resuming is not None:
            if isinstance(fault, ConnectionRefusedError) and self._context.suspect is None:
                resuming.deadline = now
            resuming.failed(fault, now)
        elif isinstance(fault, NoRoute | ConnectionRefusedError):
            self.give_up(self._absent(fault))
        else:
            self.connection.failed(self._interruption(fault, now))
        self._context.tick_soon()

    def _take_back(self, event: ConnectionEvent, why: str = "") -> None:
        """Use the line again that was kept."""
        self.connection.advance(event, why)
        line, self._kept = self._kept, None
        assert line is not None
        self.line = line
        line.watch_again()
        if not line.is_blocked:
            line.flush()

    # --- breaks -----------------------------------------------------------------------------------

    def _broken(self, fault: Exception) -> None:
        """Record that the connection is of no use; nobody is called back before `tick`."""
        if self._fault is None:
            self._fault = fault
            self._context.tick_soon()

    def tick(self, now: float) -> None:
        """See to what is due, and tell the sink if the peer is lost."""
        self._opening.tick(now)
        self.streams.tick(now)
        if self._fault is not None:
            self._read_last()
        if self._fault is None and self.receiver.rest_word:
            self._handle_rest()
        if self.receiver.has_left and self.life.stage not in GONE:
            self._answer_goodbye()
            self._lose(PeerLeft(f"{self} has ended"))
        fault, self._fault = self._fault, None
        if fault is not None:
            self._handle_fault(fault, now)
        if self.connection.resuming is not None and self._end is None:
            self._go_on_resuming(self.connection.resuming, now)
        if self._end is not None:
            self.hang_up()
            self._lose(self._end)
        self._tick_life(now)
        if self._asks_at is not None and now >= self._asks_at:
            self._ask_for_end()

    def _read_last(self) -> None:
        """Read what the peer had said before its connection broke, such as goodbye.

        Often that is found out by writing, while more can still be read.
        """
        line, fault = self.line, self._fault
        if line is not None and not isinstance(fault, EOFError | BadFrame):
            self._fault = None
            while line.handle(READ) and not self._is_broken:
                pass
            if not self._is_garbled:
                self._fault = fault

    @property
    def _is_broken(self) -> bool:
        return self._fault is not None

    @property
    def _is_garbled(self) -> bool:
        return isinstance(self._fault, BadFrame)

    def _tick_life(self, now: float) -> None:
        """Tell others of a suspicion, and the sink if the peer is lost since the last time."""
        life, has_line = self.life, self.line is not None or self.connection.is_resting
        if life.tick(now, self.receiver.position, has_line=has_line, is_here=self._is_here):
            self._report_suspicion()
        if life.stage is PeerStage.LOST and self.why is None:
            self.hang_up()
            self._bury()

    def explain(self, why: PeerLost) -> None:
        """Record how the peer has ended from those who have seen it.

        What has come from it is still read. A peer that has left says so itself if it can.
        """
        position, now = self.receiver.position, self._context.now()
        self.life.explain(why, now, position, is_here=self._is_here)
        self._context.tick_soon()

    def confirm(self) -> None:
        """Lose the peer, since others believe what they were told of it."""
        if self.life.is_suspected and self.life.reason is not None:
            self.give_up(self.life.reason)

    @property
    def _is_here(self) -> bool:
        """Whether it is connected, inside this machine."""
        return self.line is not None and not self.line.resumes

    def _report_suspicion(self) -> None:
        if self._context.suspect is not None:
            self._context.suspect(self.index, self.life.reason)

    def _handle_fault(self, fault: Exception, now: float) -> None:
        is_bad = isinstance(fault, BadFrame)
        if self.connection.is_resting and not is_bad:
            self._rested()
        elif self._may_resume and not is_bad and not self._is_over:
            self._close(self.line)
            self.line = None
            self.connection.broke(self._duplex.progress, self._interruption(fault, now))
        elif self.line is not None or self.connection.is_resting:
            self.hang_up()
            self._lose(self._gone(reason_of(fault)))

    @property
    def _may_resume(self) -> bool:
        """Whether a connection that breaks may be resumed: its peer is not known to have ended."""
        is_explained = self.life.stage is PeerStage.EXPLAINED
        return self.line is not None and self.line.resumes and not is_explained

    @property
    def _is_over(self) -> bool:
        """Whether nothing has to be said any more, by either end."""
        return self.why is not None or self.leave.is_over

    def _interruption(self, fault: Exception, now: float) -> Resuming:
        are_told = self._context.suspect is not None
        return Resuming(
            fault,
            now,
            self._context.resume_timeout,
            patience=RESUME_TIMEOUT,
            are_ends_told=are_told,
        )

    def _go_on_resuming(self, resuming: Resuming, now: float) -> None:
        resuming.taken(self._opening.taken_at(now))
        if resuming.is_ended and not self._context.are_all_ends_told:
            self.give_up(self._absent(self._nobody_there(resuming)))
        elif resuming.is_over(now):
            why = self._absent(self._link_lost(resuming, now))
            is_explained = self.life.stage is PeerStage.EXPLAINED
            if self._context.suspect is None or is_explained:
                self.give_up(why)
            else:
                if self.life.suspect(why):
                    self._report_suspicion()
                resuming.try_on(now)
        elif not self._opening.is_busy and now >= resuming.next_try:
            self._opening.dial()
            if self._opening.is_called:
                resuming.called()

    def postpone(self, seconds: float) -> None:
        """Do not count seconds in which this process could not try to resume a connection."""
        if self.connection.resuming is not None:
            self.connection.resuming.postpone(seconds)
        self.life.postpone(seconds)

    def describe_opening(self) -> str:
        """Say what keeps a connection from being opened; nothing if it is there, or not needed."""
        resuming = self.connection.resuming
        return self._opening.describe() or (reason_of(resuming.why) if resuming else "")

    def _link_lost(self, resuming: Resuming, now: float) -> PeerLost:
        """Return that nothing led to the peer any more, and all that was tried."""
        why = reason_of(resuming.why)
        if resuming.is_refused:
            return self._nobody_there(resuming)
        is_counted = self.sender.replay is not None
        self.was_cut_off = not (self.sender.has_all_come if is_counted else self.sender.is_finished)
        link = self._context.link_to(self.index)
        how = f"is broken ({why})" if self.connection.joins else "could not be opened"
        return LinkLost(
            f"{self} cannot be reached: {link} {how}, tried for {resuming.lasts(now):.0f} s",
            cause=self._opening.describe() or resuming.reasons,
            cure="See whether the network between them is down, or a firewall cuts it",
        )

    def _nobody_there(self, resuming: Resuming) -> PeerLost:
        """Return that the peer has ended, as its system says by refusing connections."""
        unless = "" if resuming.is_ended else ", unless a firewall refuses connections to it"
        why = resuming.why
        return PeerLost(
            f"{self} is not there any more",
            cause="" if isinstance(why, PeerLost) else reason_of(why),
            cure=f"It has ended{unless}: its own output, or that of its cluster, may say how",
        )

    def _absent(self, fault: Exception) -> PeerLost:
        """Return that a peer cannot be reached; absent is one that nothing connects with it."""
        if not isinstance(fault, PeerLost):
            fault = self._gone(reason_of(fault))
        if self.connection.was_ever_there:
            return fault
        return PeerAbsent(fault.what, place=fault.place, cause=fault.cause, cure=fault.cure)

    def _gone(self, why: str, cause: str = "") -> PeerLost:
        return gone(str(self), why, cause)

    def give_up(self, why: PeerLost) -> None:
        """Lose the peer in `tick`, or now if that goes on."""
        self._end = why
        self._context.tick_soon()

    def lose(self) -> None:
        """Give the peer up: another process has its place."""
        self.hang_up()
        self._lose(self._gone("it was started again"))

    def _lose(self, why: PeerLost) -> None:
        """Lose the peer; where others decide whether it has ended, once they have said so."""
        if self.why is not None:
            return
        is_explained = self.life.stage is PeerStage.EXPLAINED
        if self._context.are_all_ends_told and not (is_explained or self.leave.has_begun):
            self.life.lose_sight(why, self._context.now())
            self._stop_trying()
            self._context.tick_soon()
        else:
            self.life.end(why)
            self._bury()

    def _bury(self) -> None:
        """Tell all who wait for the peer that it is lost, once."""
        why = self.why = self.life.reason
        assert why is not None
        if not isinstance(why, PeerLeft | PeerAbsent) and not self.leave.has_begun:
            _log.info("%s", why)  # a peer that has said goodbye expects the end
        self._stop_trying()
        self.unsent = list(islice(self.sender.unsent(), MOST_UNSENT))
        self.sender.fail(why)
        self.streams.close()
        self._context.sink.lost(self.index, why)

    def _stop_trying(self) -> None:
        self._end = None
        if self.connection.stage in TRYING:
            self.connection.give_up()

    # --- rest -------------------------------------------------------------------------------------

    def rest(self) -> bool:
        """Begin to close the connection in agreement; False if there is none, or it is in use."""
        line = self.line
        if line is None or self.receiver.rest_word or not self._may_leave(line):
            return False
        self._leave(line, ConnectionEvent.ASKS, REST)
        return True

    def _may_leave(self, line: Line) -> bool:
        is_sound = self._fault is None and not self.leave.has_begun and not line.is_blocked
        is_idle = self._duplex.may_rest and self._awaited != self.receiver.expected
        return is_sound and is_idle and self.streams.narrow()

    def _leave(self, line: Line, event: ConnectionEvent, word: int) -> None:
        """Say that nothing more will be written to a line, and do so."""
        self._kept, self.line = line, None
        self.connection.advance(event)
        self.sender.put_frame(word, self.sender.end)
        line.flush()
        self.sender.is_held = True

    def _handle_rest(self) -> None:
        """Answer what the peer said about resting."""
        word, line = self.receiver.rest_word, self.line
        if self.connection.is_resting:
            if self.connection.stage is ConnectionStage.ASKED:
                if word == STAY:
                    self._write_again()
                    self._take_back(ConnectionEvent.STAYS)
                else:
                    self._rested()
            return
        self.receiver.rest_word = 0
        if line is None:
            return
        if word == REST_TOO:  # it answers what was asked over another connection, and is leaving
            self._leave(line, ConnectionEvent.AGREES, REST_TOO)
            self._rested()
        elif word == REST and self._may_leave(line):
            self._leave(line, ConnectionEvent.AGREES, REST_TOO)
        elif word == REST:
            self.sender.put_frame(STAY, self.sender.end)
            line.flush()

    def _write_again(self) -> None:
        self.receiver.rest_word = 0
        self.sender.release()

    def _drain(self) -> None:
        """Read what the peer has said before it left."""
        while self._kept is not None and self._kept.handle(READ) and self._fault is None:
            pass

    def _rested(self, *, has_next: bool = False) -> None:
        """Record that the connection has been left; what came up meanwhile needs another one."""
        self._write_again()
        self._close(self._kept)
        self._kept = self._fault = self.line = None
        self.connection.advance(ConnectionEvent.RESTED)
        is_needed = not self.sender.is_idle or self._awaited == self.receiver.expected
        if is_needed and not has_next:
            self.dial()

    # --- the end ----------------------------------------------------------------------------------

    def _answer_goodbye(self) -> None:
        if self.connection.is_resting:
            self._write_again()
            self.connection.advance(ConnectionEvent.STAYS)
            self.line, self._kept = self._kept, None
        self.sender.put_frame(BYE_TOO)
        if self.line is not None:
            self.line.flush()

    def take_leave(self) -> bool:
        """Go on leaving this peer; return whether nobody has to wait for it any more."""
        if self.leave.look(self._view()):
            self.sender.put_frame(BYE)
            self.kick()
            self.leave.look(self._view())
        if self.leave.is_over and self.line is None:
            self._opening.close()
        can_ask = not (self._has_asked or self.leave.is_over)
        if can_ask and self._asks_at is None and self.line is None:
            self._asks_at = self._context.now() + ASKS_AFTER
            self._context.tick_soon()
        return self.leave.is_over

    def _ask_for_end(self) -> None:
        """Ask whether it has ended: what is left for it then waits for nobody."""
        self._asks_at, ask = None, self._context.ask_for_end
        if ask is not None and self.line is None and not self.leave.is_over:
            self._has_asked = True
            ask(self.index)

    @property
    def awaited_at_end(self) -> str:
        """Why the end of this rank has to wait for this peer; nothing if it need not."""
        if self.leave.is_over:
            return ""
        return self.describe_opening() or "it has not taken all messages yet"

    def _view(self) -> PeerView:
        return PeerView(
            is_lost=self.why is not None,
            has_sent=self.sender.is_finished,
            has_heard=self._has_heard,
            link=self._link_use,
        )

    @property
    def _has_heard(self) -> bool:
        """Whether all that was said has come; what is written inside a machine is never lost."""
        if self.receiver.may_go or self.sender.has_all_come:
            return True
        return self.line is not None and not self.line.resumes and self.sender.is_idle

    @property
    def _link_use(self) -> LinkUse:
        if self.line is not None:
            return LinkUse.OPEN
        if self._opening.may_be_used or self.connection.is_resting:
            return LinkUse.OPENING
        was_open = self.connection.stage is not ConnectionStage.UNREACHED
        return LinkUse.OPEN if self.connection.is_interrupted and was_open else LinkUse.NONE

    def hang_up(self) -> None:
        """Close whatever is open."""
        self._opening.close()
        self.streams.close()
        self._close(self.line, self._kept)
        self.line = self._kept = None
        self.connection.give_up()

    def _close(self, *lines: Line | None) -> None:
        for line in lines:
            if line is not None:
                self._context.watch_descriptor(line.fileno(), 0, None)
                line.close()

    def kick(self) -> None:
        """Write what there is to be said, if there is room for it."""
        if self.line is not None and not self.line.is_blocked:
            self.line.flush()
