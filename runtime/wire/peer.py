"""A peer as a post sees it: the two halves of the pair, and the one connection they share.

Either rank of a pair may dial. When both do at once, the connection that the lower index dialled
stays. Whoever accepts says GO when it is going to use a connection; before that the other one
sends nothing. The lower index keeps what it accepts while it dials itself, until it knows whether
that works; the higher one gives up its own attempt.
"""

from __future__ import annotations

import socket

from runtime.later import logger
from runtime.wire.connecting import Attempt, Connector
from runtime.wire.errors import PeerAbsent, PeerLeft, PeerLost
from runtime.wire.frames import BYE, BYE_TOO, GO, HEAD_SIZE, pack, unpack_from
from runtime.wire.inlet import Inlet
from runtime.wire.line import READ, Line
from runtime.wire.memory import room
from runtime.wire.messages import Receiver
from runtime.wire.outlet import Outlet
from runtime.wire.visitors import Watch

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

_log = logger(__name__)

GO_PATIENCE = 30.0
"""Seconds for a peer to choose between two connections; longer than it tries to dial."""


class Surroundings(Protocol):
    """What a peer needs of its post."""

    me: int
    receiver: Receiver
    connector: Connector
    stage: memoryview

    @property
    def watch_descriptor(self) -> Watch:
        """Return what watches a descriptor."""
        ...

    def now(self) -> float:
        """Return the time."""
        ...

    def describe(self, peer: int) -> str:
        """Return how errors name a peer."""
        ...

    def look_again(self) -> None:
        """See to it that `look` of each peer is called soon."""
        ...


class Peer:
    """The state of one pair. `why` says why nothing more comes from the peer, if so."""

    def __init__(self, index: int, post: Surroundings) -> None:
        self.index = index
        self.outlet = Outlet()
        self.inlet = Inlet(
            index,
            post.receiver,
            self.outlet,
            kick=self._kick,
            goodbye=post.look_again,
            room=room,
            stage=post.stage,
        )
        self.line: Line | None = None
        self.why: PeerLost | None = None
        self.connections = 0
        self._post = post
        self._attempt: Attempt | None = None
        self._attempt_watched = -1
        self._hope: _Hope | None = None
        self._parked: tuple[socket.socket, bytes] | None = None
        self._fault: Exception | None = None
        self._has_said_bye = False

    # --- opening ----------------------------------------------------------------------------------

    @property
    def is_opening(self) -> bool:
        """Whether this end dials."""
        return self._attempt is not None or self._hope is not None

    @property
    def _is_dialling(self) -> bool:
        """Whether a connection that this end opens may still be used."""
        return self._hope is not None or (
            self._attempt is not None and not self._attempt.is_passive
        )

    @property
    def deadline(self) -> float | None:
        """When `look` has to be called, if nothing happens before."""
        opening = self._hope or self._attempt
        return None if opening is None else opening.deadline

    def dial(self) -> None:
        """Begin to open a connection, unless there is one or it is on its way."""
        if self.line is None and not self.is_opening and self.why is None:
            try:
                self._attempt = self._post.connector.connect(self.index, self._post.now())
            except PeerLost as fault:
                self._fault = self._absent(fault)
                self._post.look_again()
                return
            self._go_on()

    def _go_on(self) -> bool:
        attempt = self._attempt
        if attempt is None:
            return False
        try:
            opened = attempt.step(self._post.now())
        except PeerLost as fault:
            self._drop_attempt()
            self._cannot_dial(fault)
            return True
        if opened is not None:
            self._unwatch_attempt(keeps=opened[0].fileno())
            self._attempt = None
            self._wait_for_go(*opened)
            return True
        watched, self._attempt_watched = self._attempt_watched, attempt.fileno()
        if watched not in (-1, self._attempt_watched):
            self._post.watch_descriptor(watched, 0, None)
        self._post.watch_descriptor(self._attempt_watched, attempt.events, lambda _: self._go_on())
        self._post.look_again()
        return True

    def _unwatch_attempt(self, keeps: int = -1) -> None:
        for descriptor in {self._attempt_watched, keeps} - {-1}:
            self._post.watch_descriptor(descriptor, 0, None)
        self._attempt_watched = -1

    def _drop_attempt(self) -> None:
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            self._unwatch_attempt()
            attempt.close()
        hope, self._hope = self._hope, None
        if hope is not None:
            self._post.watch_descriptor(hope.socket.fileno(), 0, None)
            hope.socket.close()

    def _wait_for_go(self, connected: socket.socket, received: bytes) -> None:
        connected.setblocking(False)
        self._hope = _Hope(connected, received, self._post.now() + GO_PATIENCE)
        self._post.watch_descriptor(connected.fileno(), READ, lambda _: self._hear_go())
        self._post.look_again()
        self._hear_go()

    def _hear_go(self) -> bool:
        hope = self._hope
        if hope is None:
            return False
        try:
            rest = hope.hear(self._post.now())
        except (OSError, EOFError) as fault:
            self._drop_attempt()
            self._cannot_dial(self._gone(fault))
            return True
        if rest is not None:
            self._hope = None
            self._open(hope.socket, rest)
        return rest is not None

    def _cannot_dial(self, fault: PeerLost) -> None:
        parked, self._parked = self._parked, None
        if parked is not None:
            self._accept(*parked)
        elif self.line is None:
            self._fault = self._absent(fault)
            self._post.look_again()

    def admit(self, connected: socket.socket, received: bytes) -> None:
        """Use a connection that the peer has opened, or keep it, or refuse it."""
        if self.line is not None or self.why is not None or self._has_said_bye:
            connected.close()
        elif self._is_dialling and self._post.me < self.index:
            if self._parked is not None:
                self._parked[0].close()
            self._parked = connected, received
        else:
            self._drop_attempt()
            self._accept(connected, received)

    def _accept(self, connected: socket.socket, received: bytes) -> None:
        try:
            connected.send(pack(GO, 0, 0, self.inlet.expected, 0))
        except OSError as fault:
            connected.close()
            self._fault = self._gone(fault)
            self._post.look_again()
            return
        self._open(connected, received)

    def _open(self, connected: socket.socket, received: bytes) -> None:
        if self._parked is not None:
            self._parked[0].close()
            self._parked = None
        descriptor = connected.fileno()
        watch = self._post.watch_descriptor
        line = Line(
            connected,
            self.inlet,
            self.outlet,
            lambda events: watch(descriptor, events, line.handle),
            self._broken,
        )
        self.line = line
        self.connections += 1
        self._post.look_again()  # nothing is due here any more
        watch(descriptor, READ, line.handle)
        if received:
            line.feed(received)
        if self.line is not None:
            line.flush()

    # --- the end ----------------------------------------------------------------------------------

    def _broken(self, fault: Exception) -> None:
        """Know that the connection is of no use; nobody is called back before `look`."""
        if self._fault is None:
            self._fault = fault
            self._post.look_again()

    def look(self, now: float) -> None:
        """See to what is due, and tell the receiver if the peer is lost."""
        if self._hope is not None and self._hope.deadline <= now:
            self._hear_go()
        elif self._attempt is not None and self._attempt.deadline <= now:
            self._go_on()
        if self.inlet.has_left and self.why is None:
            self._answer_goodbye()
            self._lose(PeerLeft(f"{self._post.describe(self.index)} has ended"))
        fault, self._fault = self._fault, None
        if fault is not None:
            self.hang_up()
            self._lose(fault if isinstance(fault, PeerLost) else self._gone(fault))

    def _absent(self, fault: PeerLost) -> PeerLost:
        if self.connections:
            return fault
        return PeerAbsent(fault.what, place=fault.place, cause=fault.cause, cure=fault.cure)

    def _gone(self, fault: Exception) -> PeerLost:
        said = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
        return PeerLost(
            f"{self._post.describe(self.index)} is lost: {said}",
            cure="Its own output, or that of its cluster, may say why",
        )

    def _lose(self, why: PeerLost) -> None:
        if self.why is None:
            self.why = why
            if not isinstance(why, PeerLeft | PeerAbsent) and not self._has_said_bye:
                _log.warning("%s", why)  # whoever has said goodbye expects the end
            self.outlet.fail(why)
            self._post.receiver.lost(self.index, why)

    def _answer_goodbye(self) -> None:
        self.outlet.say(BYE_TOO)
        if self.line is not None:
            self.line.flush()

    def say_goodbye(self) -> None:
        """Tell the peer that nothing more will come."""
        self._has_said_bye = True
        if self.line is not None and self.why is None:
            self.outlet.say(BYE)
            self.line.flush()

    @property
    def is_finished(self) -> bool:
        """Whether all that was sent to it is done."""
        return self.why is not None or self.outlet.is_finished

    @property
    def may_go(self) -> bool:
        """Whether the peer knows that nothing more will come, or does not care any more."""
        return self.line is None or self.why is not None or self.inlet.may_go

    def hang_up(self) -> None:
        """Close whatever is open."""
        self._drop_attempt()
        if self._parked is not None:
            self._parked[0].close()
            self._parked = None
        line, self.line = self.line, None
        if line is not None:
            self._post.watch_descriptor(line.fileno(), 0, None)
            line.close()

    def _kick(self) -> None:
        if self.line is not None and not self.line.is_blocked:
            self.line.flush()


class _Hope:
    """A connection that was dialled and has proved itself; the peer says whether it is used."""

    def __init__(self, connected: socket.socket, received: bytes, deadline: float) -> None:
        self.socket = connected
        self.deadline = deadline
        self._received = received

    def hear(self, now: float) -> bytes | None:
        """Return what came behind GO, or None if GO has not come yet.

        Raises:
            OSError, EOFError: it does not come.
        """
        while len(self._received) < HEAD_SIZE:
            try:
                more = self.socket.recv(HEAD_SIZE - len(self._received))
            except BlockingIOError:
                if now >= self.deadline:
                    raise TimeoutError(f"no answer within {GO_PATIENCE:g} s") from None
                return None
            if not more:
                raise EOFError("the connection ended before it was used")
            self._received += more
        if unpack_from(self._received)[0] != GO:
            raise ConnectionError("it does not speak the protocol of ranks")
        return self._received[HEAD_SIZE:]
