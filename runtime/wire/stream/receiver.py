"""The receiving direction of a pair: bytes in, calls of the sink out. A machine without input.

The owner receives into `spaces`, and tells how much came with `filled`. Large payloads are received
right where they stay, small ones with their heads, several at once.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

from runtime.matching import ReceiveWindow, weight
from runtime.wire.errors import BadFrame
from runtime.wire.stream.byte_ranges import add_range
from runtime.wire.stream.frames import (
    ASKS,
    BYE,
    BYE_TOO,
    CAME,
    HEAD_SIZE,
    INLINE,
    MATCHED,
    MESSAGE,
    MOST_COPIED,
    MOST_HEAD,
    MOST_INLINE,
    REST,
    SEGMENT,
    SEGMENT_SIZE,
    STAY,
    TAKEN,
    WHOLE,
    check,
    unpack_from,
    unpack_segment,
)
from runtime.wire.stream.messages import Incoming, MessageSink
from runtime.wire.stream.sender import WINDOW, MessageSender

STAGE = 16 << 10
"""How much is received at once of heads and small payloads, which one of each has room in."""

UNTOLD = 1 << 20
"""After how many bytes the peer is told that they have come."""

_OVERHEAD = weight(0)
_NEVER = 1 << 62
_AHEAD = 512  # how much is received behind a segment, most often the head of the next one

_LARGE = 1 << 20


def memory_for(size: int) -> memoryview:
    """Return writable memory for a payload that nobody gave a buffer for, whatever is in it.

    Large memory takes none of the system until it is written, and goes when the view does.

    Raises:
        BadFrame: the system has no room for it.
    """
    if size < _LARGE:
        return memoryview(bytearray(size))
    try:
        return memoryview(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    except OSError as error:
        raise BadFrame(f"there is no memory here for a message of {size} bytes: {error}") from error


class MessageReceiver:
    """What comes from one peer.

    `sender` is the other direction of the pair; `kick` is called when it has something to say
    because a message was matched here or there, `goodbye` when the peer said goodbye, so that it
    `has_left`, or that it would rest. `may_go` says that it answered ours. `stage` can be shared by
    all that are not filled at the same time.

    What is half received waits for the rest of it, whatever connection that comes over. `lanes` is
    told what the peer says about other connections that carry parts of payloads.
    """

    def __init__(
        self,
        source: int,
        sink: MessageSink,
        sender: MessageSender,
        *,
        kick: Callable[[], None],
        goodbye: Callable[[], None],
        lanes: Callable[[int, int, int], None] | None = None,
        stage: memoryview | None = None,
        window: int = WINDOW,
    ) -> None:
        self._source = source
        self._sink = sink
        self._sender = sender
        self._kick = kick
        self._goodbye = goodbye
        self.lanes = lanes
        self._receive_window = ReceiveWindow(window)
        self._stage = memoryview(bytearray(STAGE)) if stage is None else stage
        self._ahead = self._stage[:_AHEAD]
        self._rest = b""  # the beginning of a frame
        self.expected = 0
        """The number of the next message, and how many have come."""
        self.incomplete: dict[int, Incoming] = {}
        self.asked: set[int] = set()
        """Of these messages the peer wants to hear when they are whole."""
        self.is_awaited = False
        """Whether parts of the next message are here already, over another connection."""
        self.current: Incoming | None = None
        """Whose segment is coming in, if any: then there are two spaces."""
        self._left = 0  # how much of that segment lacks
        self._at = 0  # where in the payload it goes
        self.bytes = 0
        self.has_left = False
        self.may_go = False
        self.rest_word = 0
        """What the peer said last about resting: REST, REST_TOO or STAY."""
        self.replayed = 0
        """Up to where it repeats what it said over another connection, which rests already."""
        self._told = 0  # the position that the peer knows of
        self._untold = 0  # how many bytes have come since
        self._wait = _NEVER  # until the peer is told

    # --- for the one who receives -----------------------------------------------------------------

    def space(self) -> memoryview:
        """Return where the next bytes go, outside of a segment."""
        if not self._rest:
            return self._stage
        begun = len(self._rest)
        self._stage[:begun] = self._rest
        return self._stage[begun:]

    def spaces(self) -> list[memoryview]:
        """Return where the next bytes go: into a payload, and what comes behind it."""
        current = self.current
        assert current is not None
        assert current.payload is not None
        return [current.payload[self._at : self._at + self._left], self._ahead]

    def filled(self, count: int) -> None:
        """Take note that `count` bytes were received into the space or the spaces.

        Raises:
            BadFrame: they are not what a peer can say; the connection is of no use any more.
        """
        self._untold += count
        if self.current is not None:
            if count < self._left:
                self._left -= count
                self._at += count
                self.current.came += count
                if self._untold >= self._wait:
                    self._acknowledge()
                return
            count -= self._left
            self._advance(self._left)
            end = count
        else:
            end = len(self._rest) + count
        self._read(end)
        if self._untold >= self._wait:
            self._acknowledge()

    # --- resumption -------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """How many bytes have come since they are counted."""
        return self._told + self._untold

    @property
    def is_between(self) -> bool:
        """Whether nothing is half received."""
        return not (self._rest or self.incomplete)

    def count(self) -> None:
        """Count what comes from now on, and tell the peer from time to time."""
        if self._wait == _NEVER:
            self._told = self._untold = 0
            self._wait = UNTOLD

    def _acknowledge(self) -> None:
        """Tell the peer how far it has come."""
        self._told += self._untold
        self._untold = 0
        self._wait = UNTOLD
        self._sender.acknowledge(self._told)
        self._kick()

    def feed(self, data: bytes) -> None:
        """Take bytes that were received elsewhere; raises as `filled`."""
        rest = memoryview(data)
        while rest:
            space = self.space() if self.current is None else self.spaces()[0]
            count = min(len(space), len(rest))
            space[:count] = rest[:count]
            rest = rest[count:]
            self.filled(count)

    # --- frames -----------------------------------------------------------------------------------

    def _read(self, end: int) -> None:
        """Read the frames in the first `end` bytes of the stage; an incomplete one stays."""
        stage = self._stage
        at = 0
        while end - at >= HEAD_SIZE:
            kind, flags, head, number, size = unpack_from(stage, at)
            if kind != MESSAGE or flags != INLINE or head > MOST_HEAD or size > MOST_INLINE:
                check(kind, flags, head, size)
            body = at + HEAD_SIZE
            if kind == MESSAGE:
                inner = body + head
                after = inner + size if flags & INLINE else inner
                if end < (after if size <= MOST_INLINE else inner):
                    break
                at = min(after, end)
                self._message(flags, number, size, stage[body:inner].tobytes(), stage[inner:at])
            elif kind == SEGMENT:
                if end - at < SEGMENT_SIZE:
                    break
                offset = unpack_segment(stage, at)[-1]
                body = at + SEGMENT_SIZE
                at = body + min(size, end - body)
                self._segment(flags, number, size, offset, stage[body:at])
            else:
                at = body
                self._control(kind, number, size)
        self._rest = bytes(stage[at:end]) if at < end else b""

    def _message(self, flags: int, number: int, size: int, head: bytes, inline: memoryview) -> None:
        if number != self.expected:
            raise BadFrame(f"message {number} came where {self.expected} was awaited")
        self.expected = number + 1
        asks = flags & ASKS != 0
        if len(inline) == size:
            self.bytes += size
            incoming = Incoming(self._source, head, size, number, self, asks=asks, lent=inline)
            self._sink.arrived(incoming)
            if incoming.payload is inline:
                incoming.keep()
            return
        incoming = Incoming(self._source, head, size, number, self, asks=asks)
        incoming.reach = 0
        incoming.ranges = []
        self.incomplete[number] = incoming
        if self.is_awaited:
            self.is_awaited = False
            self._goodbye()
        self._sink.arrived(incoming)
        if flags & INLINE:
            self._segment(0, number, size, 0, inline)

    def _segment(self, flags: int, number: int, size: int, offset: int, here: memoryview) -> None:
        incoming = self.incomplete.get(number)
        if incoming is None or size > incoming.size - max(incoming.came, offset):
            raise BadFrame(f"{size} bytes came for message {number}, which lacks less")
        add_range(incoming.ranges, offset, offset + size)
        if incoming.payload is None:
            incoming.payload = memory_for(incoming.size)
        if flags & ASKS:
            self.asked.add(number)
        incoming.reach = max(incoming.reach, offset + size)
        count = len(here)
        incoming.payload[offset : offset + count] = here
        self.current = incoming
        self._left = size
        if count < size:
            self._at = offset + count
            self._left -= count
            incoming.came += count
        else:
            self._advance(size)

    def _advance(self, count: int) -> None:
        """Take note of the last `count` bytes of a segment."""
        incoming, self.current, self._left = self.current, None, 0
        assert incoming is not None
        incoming.came += count
        if incoming.came == incoming.size:
            self.complete(incoming)
            if self._wait != _NEVER and (incoming.size > MOST_COPIED or incoming.asks):
                self._wait = 0  # its sender waits to hear of that

    def complete(self, incoming: Incoming) -> None:
        """Take note that all of a message is here, and tell the receiver."""
        number = incoming.number
        del self.incomplete[number]
        self.bytes += incoming.size
        if number in self.asked:
            self.asked.discard(number)
            self._sender.put_frame(WHOLE, number)
            if self._wait == _NEVER:
                self._kick()
            else:
                self._acknowledge()  # so that its sender holds nothing of it any more
        if incoming.is_matched:
            incoming.done = True
            self._sink.completed(incoming)

    def _control(self, kind: int, number: int, size: int) -> None:
        if kind == TAKEN:
            self._sender.taken(size)
        elif kind == MATCHED:
            self._sender.matched(number)
            self._kick()
        elif kind == BYE:
            self.has_left = True
            self._goodbye()
        elif kind == BYE_TOO:
            self.may_go = True
        elif kind == CAME:
            self._sender.came(number)
        elif REST <= kind <= STAY:
            if number >= self.replayed:
                self.rest_word = kind
                self._goodbye()
        elif kind == WHOLE:
            self._sender.whole(number)
        elif self.lanes is not None and kind > WHOLE:
            self.lanes(kind, number, size)
        else:
            raise BadFrame(f"a frame of kind {kind} came where none can be")

    # --- matching ---------------------------------------------------------------------------------

    def matched(self, incoming: Incoming) -> None:
        """Tell the peer that somebody takes a message, now or with others later."""
        if incoming.asks:
            self._sender.put_frame(MATCHED, incoming.number)
            self._kick()
            return
        told = self._receive_window.take(incoming.size + _OVERHEAD)
        if told:
            self._sender.put_frame(TAKEN, 0, told)
            self._kick()
