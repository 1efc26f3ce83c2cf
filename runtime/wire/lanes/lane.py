"""A lane: one more connection of a pair, over which parts of large payloads go.

Heads, small payloads and all that has to be in order stay on the first connection. A lane carries
segments, each of which tells where it belongs. It is not resumed. When it breaks, both ends tell
each other, over the first connection, up to where they have read it; what lies behind goes again.
"""

from __future__ import annotations

import select
import socket
from collections import deque

from runtime.transport.admission import EventLoop
from runtime.transport.decrypted import DECRYPTED
from runtime.wire.dialling.line import READ, Connection
from runtime.wire.errors import BadFrame
from runtime.wire.stream.byte_ranges import remove_range
from runtime.wire.stream.frames import SEGMENT, SEGMENT_SIZE, check, unpack_segment
from runtime.wire.stream.messages import Incoming
from runtime.wire.stream.payload import Stream
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.replay import Piece, drop, total
from runtime.wire.stream.underway import UnderWay

_ENDED = select.EPOLLERR | select.EPOLLHUP


class LaneReceiver(MessageReceiver):
    """What comes over a lane, for the messages of the `pair`.

    A segment may be faster than the head of its message; then it `is_waiting`, and has no space.
    """

    def __init__(self, pair: MessageReceiver) -> None:
        super().__init__(
            pair._source,
            pair._sink,
            pair._sender,
            kick=pair._kick,
            goodbye=pair._goodbye,
            stage=pair._stage,
        )
        self._pair = pair
        self.incomplete = pair.incomplete
        self.asked = pair.asked
        self.is_waiting = False

    def leave(self) -> int:
        """Read no more; return how much of what was written to the lane is where it belongs."""
        current, self.current = self.current, None
        if current is not None:
            remove_range(current.ranges, self._at, self._at + self._left)
        return self.position - len(self._rest)

    def space(self) -> memoryview:
        """Return where the next bytes go; raises BlockingIOError while they have to wait."""
        if self.is_waiting:
            raise BlockingIOError
        return super().space()

    def go_on(self) -> None:
        """Read what had to wait, unless it still has to; raises BadFrame."""
        self.is_waiting = False
        rest, self._rest = self._rest, b""
        self._stage[: len(rest)] = rest
        self._read(len(rest))

    def complete(self, incoming: Incoming) -> None:
        """Take note that all of a message is here."""
        self._pair.complete(incoming)

    def _read(self, end: int) -> None:
        stage = self._stage
        at = 0
        while end - at >= SEGMENT_SIZE:
            kind, flags, head, number, size, offset = unpack_segment(stage, at)
            if kind != SEGMENT:
                raise BadFrame(f"a frame of kind {kind} came over a lane")
            check(kind, flags, head, size)
            if number >= self._pair.expected:
                self.is_waiting = self._pair.is_awaited = True
                break
            body = at + SEGMENT_SIZE
            at = body + min(size, end - body)
            self._segment(flags, number, size, offset, stage[body:at])
        self._rest = bytes(stage[at:end]) if at < end else b""


class LaneSender:
    """What goes over a lane: segments of whatever is `under_way`, until it `is_held`."""

    def __init__(self, under_way: UnderWay) -> None:
        self._under_way = under_way
        self._batch: list[Piece] = []
        self._unwritten = 0
        self._end = 0
        # what may have to go again: where it begins and ends here, whose it is, where it belongs
        self._log: deque[tuple[int, int, Stream, int, list[Piece]]] = deque()
        self.is_held = False

    @property
    def written(self) -> int:
        """How many bytes were written."""
        return self._end - self._unwritten

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to write now."""
        return not self._batch and (self.is_held or not self._under_way.streams)

    def is_clear(self) -> bool:
        """Let go of what has come; return whether nothing is left."""
        split = self._under_way.split
        self._log = deque(one for one in self._log if one[2].number in split)
        return not self._log

    def batch(self) -> list[Piece]:
        """Return what to write next; the same list as long as not all of it is written."""
        batch = self._batch
        if not batch and not self.is_held:
            stream = self._under_way.lend(batch)
            if stream is not None:
                self._unwritten = size = total(batch)
                offset = stream.offset - (size - SEGMENT_SIZE)
                begin = self._end
                self._end = begin + size
                pieces = batch[1:]
                stream.lent.append(pieces)
                self._log.append((begin, self._end, stream, offset, pieces))
        return batch

    def wrote(self, count: int) -> None:
        """Take note that `count` bytes of the batch were written."""
        self._unwritten -= count
        if self._unwritten:
            drop(self._batch, count)
        else:
            self._batch.clear()

    def lost(self, position: int) -> list[Stream]:
        """Return what did not come, of which the peer has read all up to a position.

        Raises:
            BadFrame: that much was not written.
        """
        if position > self._end:
            raise BadFrame(f"byte {position} came of {self._end} that were written to a lane")
        self.is_clear()
        found = []
        for begin, end, stream, offset, pieces in self._log:
            if end > position:
                came = max(0, position - begin - SEGMENT_SIZE)
                found.append(_rest(stream, offset + came, pieces, came))
        self._log.clear()
        self._batch.clear()
        return found


class Lane:
    """One lane that is open; its `fault` says why it is of no use any more."""

    def __init__(
        self,
        number: int,
        connected: socket.socket,
        receiver: MessageReceiver,
        under_way: UnderWay,
        *,
        loop: EventLoop,
        silence: float,
    ) -> None:
        self.number = number
        self.receiver = LaneReceiver(receiver)
        self.sender = LaneSender(under_way)
        self.fault: Exception | None = None
        self._loop = loop
        self._watch = loop.watch_descriptor
        self._connection = Connection(
            connected, self.receiver, self.sender, self._wait_for, self._failed, silence=silence
        )
        self._wait_for(READ)

    def flush(self) -> None:
        """Write what can be written."""
        if not self._connection.is_blocked and self.fault is None:
            self._connection.flush()

    def go_on(self) -> None:
        """Read on if the message has begun whose segment is here."""
        if not self.receiver.is_waiting or self.fault is not None:
            return
        try:
            self.receiver.go_on()
        except BadFrame as fault:
            self._failed(fault)
        else:
            self._connection.watch_again()

    def close(self) -> None:
        """Hang up."""
        self._watch(self._connection.fileno(), 0, None)
        self._connection.close()

    def _handle(self, events: int) -> bool:
        if events & _ENDED and self.receiver.is_waiting:
            self._failed(EOFError("the connection ended"))
            return True
        happened = self._connection.handle(events)
        if self.receiver.is_waiting and not self._connection.is_closed:
            self._connection.watch_again()
        return happened

    def _wait_for(self, events: int) -> None:
        if self.receiver.is_waiting:
            # What is decrypted already would be offered again and again, so nothing is watched.
            events = 0 if self._connection.fileno() in DECRYPTED else events & ~READ
        self._watch(self._connection.fileno(), events, self._handle if events else None)

    def _failed(self, fault: Exception) -> None:
        if self.fault is None:
            self.fault = fault
            self._loop.tick_soon()


def _rest(stream: Stream, offset: int, pieces: list[Piece], came: int) -> Stream:
    """Return a part of a payload, as something to be sent; `came` bytes of the pieces have come."""
    pieces = list(pieces)
    drop(pieces, came)
    left = total(pieces)
    part = Stream(stream.number, [memoryview(one) for one in pieces], left, left)
    part.offset = offset
    part.outgoing = stream.outgoing
    part.has_begun = part.is_split = True
    part.lent = stream.lent
    return part
