"""One peer of a rank: what is sent and received, and the one connection both share.

A connection between hosts that breaks is resumed: what was sent and received stays, and both ends
dial until one of them gets through, or until they give up. One between processes of one machine
breaks only when the peer has ended.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from runtime.later import Later, logger
from runtime.wire.dialling.joining import Joining
from runtime.wire.dialling.line import READ, Line
from runtime.wire.errors import (
    BadFrame,
    LinkLost,
    NoRoute,
    PeerAbsent,
    PeerLeft,
    PeerLost,
    gone,
    said,
)
from runtime.wire.lanes.breadth import Breadth
from runtime.wire.memory import room
from runtime.wire.resting import Resting
from runtime.wire.stream.duplex import DuplexStream
from runtime.wire.stream.frames import BYE, BYE_TOO, REST, REST_TOO, RESUMES, STAY, pack
from runtime.wire.stream.pending import ResumePoint
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.resuming import Resuming
from runtime.wire.stream.sender import MessageSender

if TYPE_CHECKING:
    from runtime.wire.dialling.peer_context import PeerContext
    from runtime.wire.lanes import of_a_pair as parts
else:
    parts = Later("runtime.wire.lanes.of_a_pair")

_log = logger(__name__)

EXPLAIN_TIMEOUT = 2.0
"""Seconds in which it becomes known how a peer has ended, where that is told."""

LAST_WORDS_TIMEOUT = 1.0
"""Seconds for which nothing more has come of a peer that has failed until its connection is left.

It ends by itself before, unless the end got lost on its way, or a child of the peer has it open.
"""

LAST_WORDS_HERE = 0.05
"""The same on one machine, where what a process had sent is there when it has ended."""

_BRIEF = 2.0  # seconds; a connection that breaks so soon and has moved nothing is as good as none


class Peer:
    """The state of one pair. `why` says why nothing more comes from the peer, if so."""

    def __init__(self, index: int, context: PeerContext) -> None:
        self.index = index
        self.sender = MessageSender()
        self.receiver = MessageReceiver(
            index,
            context.sink,
            self.sender,
            kick=self._kick,
            goodbye=context.look_again,
            room=room,
            stage=context.stage,
        )
        self.breadth = Breadth(context, self.receiver, self.sender, self._make_lanes)
        self._duplex = DuplexStream(self.receiver, self.sender)
        self.line: Line | None = None
        """The connection that is used, if there is one and it is not about to be left."""
        self.why: PeerLost | None = None
        self.connections = 0
        self.resumptions = 0
        self._context = context
        self._joining = Joining(index, context, self)
        self._resuming: Resuming | None = None
        self._resumed: Resuming | None = None  # the last one that ended well
        self._progress = (0, 0)
        self._opened_at = 0.0
        self._aside: Line | None = None  # while the peer says whether it uses another one instead
        self._resting: Resting | None = None
        self._fault: Exception | None = None  # of the line
        self._end: PeerLost | None = None  # what cannot be fixed
        self._has_rested = False
        self._has_said_bye = False
        self._awaited = -1  # the next message, if somebody waits for it
        self._told: PeerLost | None = None  # how it has ended, as others have seen
        self._unexplained: PeerLost | None = None  # why it is lost, while it is not told how
        self._suspicion: PeerLost | None = None  # what others were told, who decide
        self._heard = 0  # how much had come when its last words were waited for
        self._explain_by: float | None = None  # or tell others of it, who know how

    # --- opening ----------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """When `look` has to be called, if nothing happens before."""
        resuming, joining = self._resuming, self._joining
        times = [joining.deadline, self.breadth.deadline, self._explain_by]
        if resuming is not None:
            times += [resuming.deadline, None if joining.is_busy else resuming.next_try]
        return min((one for one in times if one is not None), default=None)

    def watch(self) -> None:
        """Have a connection until the next message comes: somebody waits for it."""
        self._awaited = self.receiver.expected
        self.dial()

    def dial(self) -> None:
        """Begin to open a connection, unless there is one or it is on its way."""
        is_ending = self.why is not None or self._unexplained is not None
        is_on_its_way = self._joining.is_busy or self._resuming or self._resting
        if self.line is None and not is_ending and not is_on_its_way:
            self._joining.dial()

    def admit(self, connected: socket.socket, received: bytes) -> None:
        """Use a connection that the peer has opened, or keep it, or refuse it."""
        if self._resting is not None:
            self._drain(self._resting.line)
            self._rested(has_next=True)
        fault, self._fault = self._fault, None
        if fault is not None:
            self._see_to(fault, self._context.now())
        if self.why is not None or (self._has_said_bye and self.may_go):
            self._refuse(connected)
        elif self.line is not None and not self.line.resumes:
            connected.close()  # one that both dialled, too late
        else:
            self._joining.admit(connected, received)

    def _refuse(self, connected: socket.socket) -> None:
        """Tell the dialler that nothing more will be said, but what has come."""
        knows = self._duplex.resume and (self.why is None or isinstance(self.why, PeerLeft))
        try:
            connected.send(self._duplex.go(again=True) if knows else pack(BYE, 0, 0, 0, 0))
        except OSError as fault:
            _log.info("%s was not told of the end: %s", self._context.describe(self.index), fault)
        connected.close()

    def greet(self, connected: socket.socket) -> tuple[bytes, bool]:
        """Return what to say on a connection that was accepted, and whether to wait for more."""
        duplex, line = self._duplex, self.line
        if connected.family != socket.AF_UNIX or not self._context.is_near(self.index):
            duplex.count()
        waits = duplex.resume and (line is not None or self._aside is not None)
        waits = waits or duplex.have_begun
        if line is not None:  # from now on nothing is read of it, unless it goes on
            self._context.watch_descriptor(line.fileno(), 0, None)
            self._aside, self.line = line, None
        return duplex.go(again=waits), waits

    def hear(self, go: ResumePoint) -> bytes:
        """Take in what the other end says on a connection that was dialled; return the answer."""
        if go.flags & RESUMES:
            self._duplex.count()
        return self._duplex.go()

    def joined(self, connected: socket.socket, received: bytes, go: ResumePoint | None) -> None:
        """Use a connection."""
        aside, self._aside = self._aside, None
        is_resumed = aside is not None or self._resuming is not None
        if aside is not None:
            aside.close()
        try:
            self._duplex.go_on(go)
        except BadFrame as fault:
            connected.close()
            cause = f"{fault}. It is another process now"
            self._give_up(self._gone("the connection cannot be resumed", cause))
            return
        self._resumed, self._resuming = self._resuming, None
        self._progress = self._duplex.progress
        self._opened_at = self._context.now()
        self._fault = self._unexplained = None
        self._withdraw_suspicion()
        self._has_rested = False
        self.connections += 1
        self.resumptions += is_resumed
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
        self.breadth.joined(connected, resumes=line.resumes)
        self._context.look_again()  # nothing is due here any more
        watch(descriptor, READ, line.handle)
        if received:
            line.feed(received)
        if self.line is not None:
            line.flush()

    def not_joined(self, fault: Exception) -> None:
        """Give a connection up; the fault is a PeerLost if the peer was not reached at all."""
        now = self._context.now()
        aside, self._aside = self._aside, None
        if aside is not None:
            self._take_back(aside)
        elif self._resuming is not None:
            if isinstance(fault, ConnectionRefusedError) and self._context.suspect is None:
                self._resuming.deadline = now
            self._resuming.failed(fault, now)
        elif isinstance(fault, NoRoute | ConnectionRefusedError):
            self._give_up(self._absent(fault))
        else:
            self._resuming = self._new_resuming(fault, now)
            self._resuming.failed(fault, now)
        self._context.look_again()

    def _take_back(self, line: Line) -> None:
        """Use a line again that was set aside."""
        self.line = line
        line.watch_again()
        if not line.is_blocked:
            line.flush()

    # --- breaks -----------------------------------------------------------------------------------

    def _broken(self, fault: Exception) -> None:
        """Record that the connection is of no use; nobody is called back before `look`."""
        if self._fault is None:
            self._fault = fault
            self._context.look_again()

    def look(self, now: float) -> None:
        """See to what is due, and tell the sink if the peer is lost."""
        self._joining.look(now)
        self.breadth.look(now)
        if self._fault is None and self.receiver.said:
            self._talk_of_rest()
        if self.receiver.has_left and self.why is None and self._unexplained is None:
            self._answer_goodbye()
            self._lose(PeerLeft(f"{self._context.describe(self.index)} has ended"))
        fault, self._fault = self._fault, None
        if fault is not None:
            self._see_to(fault, now)
        if self._resuming is not None and self._end is None:
            self._go_on_resuming(self._resuming, now)
        if self._end is not None:
            self.hang_up()
            self._lose(self._end)
        if self._explain_by is not None and self.why is None:
            self._look_at_what_was_told(now)

    def explain(self, why: PeerLost) -> None:
        """Record how the peer has ended from those who have seen it.

        What has come from it is still read. A peer that has left says so itself if it can.
        """
        if self._told is None and self.why is None:
            self._told = why
            self._listen_on(self._context.now())
            self._context.look_again()

    def confirm(self) -> None:
        """Lose the peer, since others believe what they were told of it."""
        if self._suspicion is not None:
            self._give_up(self._suspicion)

    def _tell_suspicion(self, why: PeerLost) -> None:
        if self._suspicion is None and self._context.suspect is not None:
            self._suspicion = why
            self._context.suspect(self.index, why)

    def _withdraw_suspicion(self) -> None:
        if self._suspicion is not None and self._context.suspect is not None:
            self._suspicion = None
            self._context.suspect(self.index, None)

    def _listen_on(self, now: float) -> None:
        """Wait for more last words."""
        self._heard = self.receiver.position
        is_here = self.line is not None and not self.line.resumes
        self._explain_by = now + (LAST_WORDS_HERE if is_here else LAST_WORDS_TIMEOUT)

    def _look_at_what_was_told(self, now: float) -> None:
        """Lose the peer once all is known; tell of it once nobody has said how it has ended."""
        told, is_late = self._told, self._explain_by is not None and now >= self._explain_by
        if self._unexplained is not None and told is not None:
            self._lose(self._unexplained)
        elif self._unexplained is not None and is_late:
            self._explain_by = None
            self._tell_suspicion(self._unexplained)
        elif told is not None and self.line is None and not self._resting:
            self.hang_up()
            self._lose(told)
        elif told is not None and is_late and isinstance(told, PeerLeft):
            self._explain_by = None
        elif told is not None and is_late and self.receiver.position != self._heard:
            self._listen_on(now)
        elif told is not None and is_late:
            self.hang_up()
            self._lose(told)

    def _see_to(self, fault: Exception, now: float) -> None:
        is_bad = isinstance(fault, BadFrame)
        if self._resting is not None and not is_bad:
            self._rested()
        elif self._may_resume and not is_bad and not self._is_over:
            self._interrupted(fault, now)
        elif self.line is not None or self._resting is not None:
            self.hang_up()
            self._lose(self._gone(said(fault)))

    @property
    def _may_resume(self) -> bool:
        """Whether a connection that breaks may be resumed: its peer is not known to have ended."""
        return self.line is not None and self.line.resumes and self._told is None

    @property
    def _is_over(self) -> bool:
        """Whether nothing has to be said any more, by either end."""
        return self.why is not None or (self._has_said_bye and self.may_go)

    def _interrupted(self, fault: Exception, now: float) -> None:
        """Begin to resume the connection."""
        _log.info("the connection to %s broke: %s", self._context.describe(self.index), said(fault))
        self._close(self.line)
        self.line = None
        before, self._resumed = self._resumed, None
        is_brief = now < self._opened_at + _BRIEF
        if before and is_brief and self._progress == self._duplex.progress:
            before.failed(fault, now)
            self._resuming = before
        else:
            self._resuming = self._new_resuming(fault, now)

    def _new_resuming(self, fault: Exception, now: float) -> Resuming:
        are_told = self._context.suspect is not None
        return Resuming(fault, now, self._context.resume_timeout, are_ends_told=are_told)

    def _go_on_resuming(self, resuming: Resuming, now: float) -> None:
        resuming.taken(self._joining.taken_at(now))
        if resuming.is_ended and not self._context.are_all_ends_told:
            self._give_up(self._absent(self._nobody_there(resuming)))
        elif resuming.is_over(now):
            why = self._absent(self._link_lost(resuming, now))
            if self._context.suspect is None or self._told is not None or self._has_said_bye:
                self._give_up(why)
            else:
                self._tell_suspicion(why)
                resuming.try_on(now)
        elif not self._joining.is_busy and now >= resuming.next_try:
            self._joining.dial()
            if self._joining.is_called:
                resuming.called()

    def postpone(self, seconds: float) -> None:
        """Do not count seconds in which this process could not try to resume a connection."""
        if self._resuming is not None:
            self._resuming.postpone(seconds)
        if self._explain_by is not None:
            self._explain_by += seconds

    def describe_opening(self) -> str:
        """Say what keeps a connection from being opened; nothing if it is there, or not needed."""
        return self._joining.describe() or (said(self._resuming.why) if self._resuming else "")

    def _link_lost(self, resuming: Resuming, now: float) -> PeerLost:
        """Return that nothing led to the peer any more, and all that was tried."""
        peer, why = self._context.describe(self.index), said(resuming.why)
        if resuming.is_refused:
            return self._nobody_there(resuming)
        link = self._context.link_to(self.index)
        how = f"is broken ({why})" if self.connections else "could not be opened"
        return LinkLost(
            f"{peer} cannot be reached: {link} {how}, tried for {resuming.lasts(now):.0f} s",
            cause=self._joining.describe() or resuming.reasons,
            cure="See whether the network between them is down, or a firewall cuts it",
        )

    def _nobody_there(self, resuming: Resuming) -> PeerLost:
        """Return that the peer has ended, as its system says by refusing connections."""
        unless = "" if resuming.is_ended else ", unless a firewall refuses connections to it"
        why = resuming.why
        return PeerLost(
            f"{self._context.describe(self.index)} is not there any more",
            cause="" if isinstance(why, PeerLost) else said(why),
            cure=f"It has ended{unless}: its own output, or that of its cluster, may say how",
        )

    def _absent(self, fault: Exception) -> PeerLost:
        """Return that a peer cannot be reached; absent is one that nothing connects with it."""
        if not isinstance(fault, PeerLost):
            fault = self._gone(said(fault))
        if self.connections and not self._has_rested:
            return fault
        return PeerAbsent(fault.what, place=fault.place, cause=fault.cause, cure=fault.cure)

    def _gone(self, why: str, cause: str = "") -> PeerLost:
        return gone(self._context.describe(self.index), why, cause)

    def _give_up(self, why: PeerLost) -> None:
        """Lose the peer in `look`, or now if that goes on."""
        self._end = why
        self._context.look_again()

    def lose(self) -> None:
        """Give the peer up: another process has its place."""
        self.hang_up()
        self._lose(self._gone("it was started again"))

    def _lose(self, why: PeerLost) -> None:
        if self.why is None and self._has_to_be_explained(why):
            return
        if self.why is None:
            self.why = why = self._told or why
            self._explain_by = self._unexplained = None
            if not isinstance(why, PeerLeft | PeerAbsent) and not self._has_said_bye:
                _log.info("%s", why)  # a peer that has said goodbye expects the end
            self._resuming = self._end = None
            self.sender.fail(why)
            self.breadth.close()
            self._context.sink.lost(self.index, why)

    def _has_to_be_explained(self, why: PeerLost) -> bool:
        """Tell whether others decide if the peer has ended, so that nobody goes on alone."""
        is_told = self._context.are_all_ends_told
        if not is_told or self._told is not None or self._has_said_bye:
            return False
        self._resuming = self._end = None
        if self._unexplained is None:
            self._unexplained = why
            self._explain_by = self._context.now() + EXPLAIN_TIMEOUT
            self._context.look_again()
        return True

    # --- rest -------------------------------------------------------------------------------------

    def rest(self) -> bool:
        """Begin to close the connection in agreement; False if there is none, or it is in use."""
        line = self.line
        if line is None or self.receiver.said or not self._may_leave(line):
            return False
        self._leave(line, asks=True)
        return True

    def _may_leave(self, line: Line) -> bool:
        is_sound = self._fault is None and not self._has_said_bye and not line.is_blocked
        is_idle = self._duplex.may_rest and self._awaited != self.receiver.expected
        return is_sound and is_idle and self.breadth.narrow()

    def _leave(self, line: Line, *, asks: bool) -> None:
        self.line = None
        self._resting = Resting(line, self.receiver, self.sender, asks=asks)

    def _talk_of_rest(self) -> None:
        """Answer what the peer said about resting."""
        resting, line = self._resting, self.line
        if resting is not None:
            if resting.is_agreed:
                self._rested()
            elif resting.is_unwanted:
                self._resting = None
                self._take_back(resting.end())
            return
        word, self.receiver.said = self.receiver.said, 0
        if line is None:
            return
        if word == REST_TOO:  # it answers what was asked over another connection, and is leaving
            self._resting = Resting(line, self.receiver, self.sender, asks=False)
            self._rested()
        elif word == REST and self._may_leave(line):
            self._leave(line, asks=False)
        elif word == REST:
            self.sender.say(STAY, self.sender.end)
            line.flush()

    def _drain(self, line: Line) -> None:
        """Read what the peer has said before it left."""
        while line.handle(READ) and self._fault is None:
            pass

    def _rested(self, *, has_next: bool = False) -> None:
        """Record that the connection has been left; what came up meanwhile needs another one."""
        assert self._resting is not None
        self._close(self._resting.end())
        self._resting = self._fault = self.line = None
        self._has_rested = True
        is_needed = not self.sender.is_idle or self._awaited == self.receiver.expected
        if is_needed and not has_next:
            self.dial()

    # --- the end ----------------------------------------------------------------------------------

    def _answer_goodbye(self) -> None:
        if self._resting is not None:
            self.line, self._resting = self._resting.end(), None
        self.sender.say(BYE_TOO)
        if self.line is not None:
            self.line.flush()

    def say_goodbye(self) -> None:
        """Tell the peer that nothing more will come."""
        self._has_said_bye = True
        if self.why is None and (self.line is not None or self.is_interrupted):
            self.sender.say(BYE)
            self._kick()

    @property
    def is_finished(self) -> bool:
        """Whether all that was sent to it is done."""
        return self.why is not None or self.sender.is_finished

    @property
    def is_interrupted(self) -> bool:
        """Whether the connection broke and is being resumed, or the peer has dialled once more."""
        return self.why is None and (self._resuming is not None or self._aside is not None)

    def is_under_way(self, seconds: float) -> bool:
        """Return whether something was written to the peer, and its host is silent for so long."""
        line = self.line
        if self.may_go or line is None or not line.resumes:
            return False
        return line.is_under_way(seconds)

    @property
    def may_go(self) -> bool:
        """Whether the peer knows that nothing more will come, or does not care any more."""
        if self.why is not None or self.receiver.may_go or self.sender.has_all_come:
            return True
        return self.line is None and not self.is_interrupted

    def hang_up(self) -> None:
        """Close whatever is open."""
        self._joining.close()
        self.breadth.close()
        self._close(self.line, self._aside, self._resting.line if self._resting else None)
        self.line = self._aside = self._resting = None

    def _close(self, *lines: Line | None) -> None:
        for line in lines:
            if line is not None:
                self._context.watch_descriptor(line.fileno(), 0, None)
                line.close()

    def _make_lanes(self) -> parts.Lanes:
        return parts.Lanes(self.index, self._context, self._duplex, self._kick, lose=self._give_up)

    def _kick(self) -> None:
        if self.line is not None and not self.line.is_blocked:
            self.line.flush()
