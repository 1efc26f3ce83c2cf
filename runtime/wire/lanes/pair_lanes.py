"""The lanes of one pair: how many there are, how they are opened, and what becomes of broken ones.

The opener of the first connection opens lanes, too, as many as either end wants. Both ends may
send over all of them.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Protocol

from runtime.lazy_import import logger
from runtime.routing import FlowSample, ScaleOut
from runtime.transport.round_trip import round_trip
from runtime.wire.errors import BadFrame, PeerLost, gone, reason_of
from runtime.wire.lanes.lane import Lane
from runtime.wire.lanes.opening import Opening
from runtime.wire.stream.duplex import DuplexStream
from runtime.wire.stream.frames import LANE_OVER, WIDEN

if TYPE_CHECKING:
    from runtime.wire.dialling.connecting import PeerContext

_log = logger(__name__)

MOST = 16
"""Lanes of one pair, of which the peer opens as many as it likes up to here."""

_IDLE = 1.0  # seconds from one look to the next while little is sent
_REFUSES = 10.0  # seconds for lanes to come that were begun before the peer knew of no room


class LaneOwner(Protocol):
    """The peer to which lanes lead, with its first connection."""

    def kick(self) -> None:
        """Write over the first connection what there is to be said."""

    def give_up(self, why: PeerLost) -> None:
        """Lose the peer, which is not what it seemed to be."""


class Lanes:
    """All lanes of a pair. `first` is its first connection, where that is far away."""

    def __init__(
        self,
        index: int,
        context: PeerContext,
        duplex: DuplexStream,
        owner: LaneOwner,
    ) -> None:
        self._index = index
        self._context = context
        self._receiver = duplex.receiver
        self._sender = duplex.sender
        self._owner = owner
        self.first: socket.socket | None = None
        """It is closed while it is interrupted; then no lane is opened."""
        self.most = 0
        """How many there were at a time."""
        self._scale_out = ScaleOut()
        self._told = 1  # what the peer knows that this end wants
        self._wanted = 1  # by the peer
        self._next = int(context.me > index)  # the number of the next lane: see `_is_mine`
        self._openings: set[Opening] = set()
        self._open: dict[int, Lane] = {}
        self._over: dict[int, Lane] = {}  # until the peer has told how far it has come
        self._dials_from = self._refuses_until = 0.0
        self._measured_at: float | None = None
        self._written = 0  # to lanes that are over

    # --- what happens -----------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many there are, with those that are being opened."""
        return len(self._open) + len(self._openings)

    @property
    def deadline(self) -> float | None:
        """When `tick` has to be called."""
        times = [opening.deadline for opening in self._openings]
        if self._measured_at is not None:
            times.append(self._measured_at)
        return min(times, default=None)

    def joined(self, first: socket.socket | None) -> None:
        """Take the first connection, for the first time or again."""
        self.first = first
        self._measured_at = self._context.now()
        self._context.tick_soon()

    def more(self) -> None:
        """Record that there is more to be sent than goes over the first connection at once."""
        for lane in self._open.values():
            lane.flush()
        if self._measured_at is None and self.first is not None:
            self._measured_at = self._context.now()
            self._context.tick_soon()

    def handle_frame(self, kind: int, number: int, size: int) -> None:
        """Take in what the peer says about lanes.

        Raises:
            BadFrame: it cannot say that.
        """
        if kind == WIDEN:
            if not size:
                self._scale_out.narrow(self._context.now())
            self._wanted = max(1, min(size, MOST + 1))
            self._measured_at = self._context.now()
            self._context.tick_soon()
        elif kind == LANE_OVER:
            self._handle_lane_over(number, size)
        else:
            raise BadFrame(f"a frame of kind {kind} came where none can be")

    def tick(self, now: float) -> None:
        """See to what is due."""
        for opening in [one for one in self._openings if one.deadline <= now]:
            opening.go_on()
        for lane in list(self._open.values()):
            lane.go_on()
            if isinstance(lane.fault, BadFrame):
                self._owner.give_up(gone(self._name, reason_of(lane.fault)))
                return
            if lane.fault is not None:
                _log.info("a lane to %s broke: %s", self._name, reason_of(lane.fault))
            if lane.fault is not None or (lane.sender.is_held and lane.sender.is_clear()):
                self._end(lane)
        if self._measured_at is not None and now >= self._measured_at:
            self._measure(now)

    def narrow(self, now: float) -> bool:
        """Do with the first connection for a while; return whether there are none already."""
        if not (self._open or self._over or self._openings):
            return True
        self._scale_out.narrow(now)
        if now >= self._refuses_until:
            self._sender.put_frame(WIDEN, 0, 0)
            self._told = 1
            self._owner.kick()
        self._refuses_until = now + _REFUSES
        self._wanted = 1
        self._measured_at = now
        self._context.tick_soon()
        return False

    def close(self) -> None:
        """Hang up; nothing is told."""
        for opening in list(self._openings):
            opening.close()
        for lane in self._open.values():
            lane.close()
        for held in (self._openings, self._open, self._over):
            held.clear()
        self._measured_at = self.first = None

    # --- how many ---------------------------------------------------------------------------------

    def _measure(self, now: float) -> None:
        for lane in self._open.values():
            lane.sender.is_clear()
        seen = None if self.first is None else round_trip(self.first)
        waiting = self._sender.under_way.backlog
        interval = _IDLE
        if seen is not None:
            sent = self._written + self._sender.end
            sent += sum(lane.sender.written for lane in self._open.values())
            self._scale_out.update(FlowSample(sent, waiting, *seen, 1 + len(self._usable)), now)
            if waiting:
                interval = self._scale_out.interval(seen[0])
        self._adjust(now)
        is_needed = waiting or self._open or self._openings or (self._wish and self._has_first)
        self._measured_at = now + interval if is_needed else None

    @property
    def _usable(self) -> list[Lane]:
        return [lane for lane in self._open.values() if not lane.sender.is_held]

    def _adjust(self, now: float) -> None:
        """Open lanes, let some end, or ask the peer for that if it is the one who opens them."""
        lacking = self._wish - len(self._usable) - len(self._openings)
        if lacking > 0 and self._has_first and now >= self._dials_from:
            self._dial(lacking, now)
        mine = self._scale_out.wanted
        for lane in self._usable[self._wish :]:
            lane.sender.is_held = True
            self._context.tick_soon()
        if mine != self._told:
            self._told = mine
            self._sender.put_frame(WIDEN, 0, mine)
            self._owner.kick()

    @property
    def _wish(self) -> int:
        """How many lanes there should be."""
        return max(self._scale_out.wanted, self._wanted) - 1

    @property
    def _has_first(self) -> bool:
        """Whether the first connection is there: neither interrupted, nor closed for good."""
        return self.first is not None and self.first.fileno() >= 0

    def _dial(self, count: int, now: float) -> None:
        """Begin to open so many lanes, unless one cannot be opened."""
        try:
            for _ in range(count):
                attempt = self._context.connector.again(self._index, now)
                if attempt is None:
                    return
                going = Opening(self._context, self._done, number=self._next, attempt=attempt)
                self._next += 2
                self._begin(going)
                if not (going in self._openings or going.number in self._open):
                    return
        except PeerLost as fault:
            self._failed(fault)

    def _failed(self, fault: Exception) -> None:
        """Do with what there is for a while; for the peer, which judges that, try soon again."""
        _log.info("there is no further lane to %s: %s", self._name, reason_of(fault))
        there = 1 + len(self._usable) + len(self._openings)
        now = self._context.now()
        self._scale_out.bar(now, there)
        self._dials_from = now + _IDLE

    @property
    def _name(self) -> str:
        return self._context.describe(self._index)

    # --- opening ----------------------------------------------------------------------------------

    def admit(self, connected: socket.socket, received: bytes) -> None:
        """Use a lane that the peer has opened, or refuse it."""
        held = len(self._open) + len(self._over) + len(self._openings)
        is_wanted = (
            self._context.now() >= self._refuses_until and self._context.connector.has_room()
        )
        if held >= MOST or not self._has_first or not is_wanted:
            connected.close()
            return
        coming = Opening(self._context, self._done, fits=self._is_new)
        coming.use(connected, received)
        self._begin(coming)

    def _begin(self, opening: Opening) -> None:
        self._openings.add(opening)
        opening.go_on()

    def _done(
        self, opening: Opening, connected: socket.socket | None, fault: Exception | None
    ) -> None:
        """Record that a lane is open, or why it is not."""
        self._openings.discard(opening)
        if connected is None:
            if fault is not None:
                self._failed(fault)
            return
        number = opening.number
        self._open[number] = lane = Lane(
            number,
            connected,
            self._receiver,
            self._sender.under_way,
            loop=self._context,
            silence=self._context.silence,
        )
        self.most = max(self.most, len(self._open))
        lane.flush()
        if self._measured_at is None:
            self._measured_at = self._context.now() + _IDLE
        self._context.tick_soon()

    # --- the end of one ---------------------------------------------------------------------------

    def _end(self, lane: Lane) -> None:
        """Leave a lane, and tell the peer what has come over it."""
        del self._open[lane.number]
        self._over[lane.number] = lane
        self._written += lane.sender.written
        lane.close()
        self._sender.put_frame(LANE_OVER, lane.number, lane.receiver.leave())
        self._owner.kick()

    def _handle_lane_over(self, number: int, position: int) -> None:
        """Record how much has come over a lane that the peer has left, and send the rest again."""
        if number in self._open:
            self._end(self._open[number])
        lane = self._over.pop(number, None)
        if lane is None:
            self._never_used(number)
        else:
            self._sender.under_way.take_back(lane.sender.lost(position))
            self.more()
        self._owner.kick()

    def _never_used(self, number: int) -> None:
        """Tell the peer that nothing came over a lane that it has left, and see that nothing will.

        The dialler hears last that a lane is open. It may hear before that it is over.
        """
        if not self._is_mine(number) or number >= self._next:
            raise BadFrame(f"lane {number} is said to be over, which there has never been")
        for opening in [one for one in self._openings if one.number == number]:
            self._openings.discard(opening)
            opening.close()
        self._sender.put_frame(LANE_OVER, number, 0)

    def _is_new(self, number: int) -> bool:
        """Tell whether the peer can begin a lane with a number."""
        return not (self._is_mine(number) or number in self._open or number in self._over)

    def _is_mine(self, number: int) -> bool:
        """Tell whether it is this end that numbers a lane so."""
        return number % 2 == int(self._context.me > self._index)
