"""The sending direction of a pair: messages in, pieces to write out. It does no input or output.

Heads go in the order of the sends, small payloads with them. Large payloads are cut into segments
that take turns. How much may be on its way unasked is bounded; what is beyond waits for its match.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from runtime.matching import Window, weight
from runtime.wire.errors import BadFrame, WireError
from runtime.wire.stream.frames import (
    ASKS,
    CAME,
    HEAD_SIZE,
    INLINE,
    MESSAGE,
    MOST_BYTES,
    MOST_COPIED,
    MOST_HEAD,
    MOST_INLINE,
    MOST_SEGMENT,
    pack,
    unpack_from,
)
from runtime.wire.stream.messages import SENT, Outgoing
from runtime.wire.stream.payload import MOST_VIEWS, Stream, copied, few
from runtime.wire.stream.replay import Piece, Replay, drop, total
from runtime.wire.stream.underway import UnderWay

WINDOW = 8 << 20
"""How many bytes one peer may send to another unasked: 8 MiB."""

COPIED = 2048
"""Payloads of up to this many bytes are copied at once; where all is kept `MOST_COPIED` are."""

_OVERHEAD = weight(0)
_HEADS_AT_ONCE = 128 << 10  # bytes of heads and small payloads before large ones have their turn
_SEGMENTS_AT_ONCE = 2
_PASSED = 0xFF  # after how many messages those that passed by are counted


class MessageSender:
    """What goes to one peer.

    The owner writes what `batch` returns, or a part of it, and says how much that was to `wrote`.
    Once it is told to `keep` what it wrote, that can be written again until the peer has told that
    it came. While it `is_held` it has nothing new to write.

    >>> sender = MessageSender()
    >>> sender.put(b"head", [memoryview(b"payload")]).done
    True
    >>> sum(map(len, sender.batch())), sender.wrote(31), sender.batch()
    (31, None, [])
    """

    def __init__(self, window: int = WINDOW) -> None:
        self._window = Window(window)
        self._window_size = window
        # A head, what goes right behind it, and what comes of its stream once it is on its way.
        self._heads: deque[tuple[Piece, Sequence[Piece], Stream | None]] = deque()
        self.under_way = UnderWay()
        self._streams = self.under_way.streams
        self.more: Callable[[], None] | None = None
        """What is called when there is more of large payloads than goes into one batch."""
        self._batch: list[Piece] = []
        self._unwritten = 0  # how many bytes are in the batch
        self._end = 0
        self.passed: list[list[Piece]] = []
        """Messages that passed by in one piece each; their writer appends them."""
        self._copied = COPIED
        self._acknowledging: int | None = None
        self.replay: Replay | None = None
        """What was written and may have to be written again, if that is kept."""
        self.is_held = False
        self.messages = 0
        self.bytes = 0

    # --- for those who send -----------------------------------------------------------------------

    def pass_by(self, head: bytes, payload: Sequence[memoryview]) -> list[Piece] | None:
        """Return a message as what to write now, if it is not large and nothing has to go before.

        One piece alone is a copy, so that the memory of the payload is free. None means that it
        has to be `put`. What cannot be written of it has to be `put_back`.
        """
        if self._batch or self._heads or self._streams:
            return None
        size = 0
        for view in payload:
            size += len(view)
        window = self._window
        if (
            size > MOST_SEGMENT
            or window.in_flight >= self._window_size - size
            or len(head) > MOST_HEAD
            or len(payload) > MOST_VIEWS
        ):
            return None
        window.in_flight += size + _OVERHEAD
        number = self.messages
        self.messages = number + 1
        self.bytes += size
        if not number & _PASSED:
            self._count()
        frame = pack(MESSAGE, INLINE, len(head), number, size)
        if size <= COPIED:
            return [b"".join((frame, head, *payload))]
        return [frame + head, *payload]

    def put_back(self, pieces: Sequence[Piece], sent: int) -> Outgoing:
        """Write later what could not be written of a message that was to pass by."""
        self._count()
        if self.replay is not None:
            pieces = [b"".join(pieces)]
            self.replay.add(pieces)
        self._batch.extend(pieces)
        size = total(pieces)
        self._unwritten += size
        self._end += size
        outgoing = SENT if len(pieces) == 1 else Outgoing()
        self.under_way.finish_at(self._end, outgoing)
        self.wrote(sent)
        return outgoing

    def passed_large(self, pieces: Sequence[Piece], size: int) -> None:
        """Keep a message that passed by, now that it is on its way; its memory is free then."""
        assert self.replay is not None
        self._count()
        self.replay.copy(pieces, self._end, size)
        self._end += size

    def _count(self) -> None:
        """Count and keep the messages that passed by: together that costs less than one by one."""
        passed, replay = self.passed, self.replay
        if passed and replay is not None:
            for (piece,) in passed:
                replay.keep(piece)
                self._end += len(piece)
            passed.clear()

    def put(self, head: bytes, payload: Sequence[memoryview] = (), sync: bool = False) -> Outgoing:
        """Take a message; raises BadFrame if it is beyond what a message can be."""
        size = 0
        for view in payload:
            size += len(view)
        if len(head) > MOST_HEAD or size > MOST_BYTES:
            raise BadFrame(
                f"a message cannot have a head of {len(head)} and a payload of {size} bytes",
                cure=f"At most {MOST_HEAD} and {MOST_BYTES} bytes are allowed",
            )
        number = self.messages
        self.messages = number + 1
        self.bytes += size
        window = self._window
        room = self._window_size - window.in_flight
        if sync or room <= 0 or size > room:
            return self._ask(number, head, payload, size, max(0, room))
        window.in_flight += size + _OVERHEAD
        if size <= COPIED:
            frame = pack(MESSAGE, INLINE, len(head), number, size)
            self._heads.append((b"".join((frame, head, *payload)), (), None))
            return SENT
        stream = Stream(number, payload, size, size)
        if size <= self._copied:
            payload = [memoryview(b"".join(payload))]
            stream.views = deque(payload)
            stream.outgoing.done = True
        if size <= MOST_INLINE:
            frame = pack(MESSAGE, INLINE, len(head), number, size) + head
            stream.left = stream.allowed = 0
            self._heads.append((frame, few(payload), stream))
        else:
            self._heads.append((pack(MESSAGE, 0, len(head), number, size) + head, (), stream))
        return stream.outgoing

    def _ask(
        self, number: int, head: bytes, payload: Sequence[memoryview], size: int, room: int
    ) -> Outgoing:
        """Send a message that is done only once it is matched, and as much of it as has room."""
        stream = Stream(number, payload, size, min(size, room))
        stream.asks = True
        if room:
            stream.weight = weight(stream.allowed)
            self._window.sent(stream.weight)
        self.under_way.asking[number] = stream
        flags = ASKS
        behind: Sequence[Piece] = ()
        if size <= MOST_INLINE and stream.allowed == size:
            flags |= INLINE
            behind = few(payload)
            stream.left = stream.allowed = 0
            stream.is_whole = True
        self._heads.append((pack(MESSAGE, flags, len(head), number, size) + head, behind, stream))
        return stream.outgoing

    def put_frame(self, kind: int, number: int = 0, size: int = 0) -> None:
        """Send a frame of its own before all that is not on its way yet."""
        self._heads.appendleft((pack(kind, 0, 0, number, size), (), None))

    # --- what the peer says -----------------------------------------------------------------------

    def taken(self, told: int) -> None:
        """Record that messages of that weight were matched."""
        self._window.taken(told)

    def matched(self, number: int) -> None:
        """Record that a message which asked was matched: the rest of it may go.

        Raises:
            BadFrame: there is no such message.
        """
        self.under_way.matched(number, self._window)
        if self._streams and self.more is not None:
            self.more()

    def whole(self, number: int) -> None:
        """Record that the peer has all of a message; raises BadFrame if nobody asked."""
        self.under_way.whole(number)

    def came(self, position: int) -> None:
        """Record that all up to a position has come.

        Raises:
            BadFrame: nobody counts, or that much was not written.
        """
        replay = self.replay
        if replay is None or position > self.end:
            raise BadFrame(f"byte {position} came of {self.end} that were written")
        replay.let_go(position)
        if position > self.under_way.settled:
            self.under_way.settle(position)

    # --- resumption -------------------------------------------------------------------------------

    def keep(self) -> None:
        """Keep what is written from now on, when nothing is half written; twice is once."""
        if self.replay is None:
            self.replay = Replay()
            self._copied = MOST_COPIED
            self._end = self.under_way.settled = 0
            self._heads = deque(copied(*one) for one in self._heads)

    def resume(self, position: int) -> None:
        """Write again from a position on, which the peer says that it has come to.

        Raises:
            BadFrame: what lies there is not kept, so the peer cannot be the same one.
        """
        if self.replay is None or position < self.replay.start:
            raise BadFrame(f"it asks for what it has had, from byte {position} on")
        self.came(position)
        self._unwritten = self.end - position
        self._batch[:] = self.replay.since(position)

    @property
    def end(self) -> int:
        """The position up to which everything is written, or in the batch."""
        self._count()
        return self._end

    @property
    def has_all_come(self) -> bool:
        """Whether the peer has told that all has come that was ever said."""
        return self.replay is not None and self.is_idle and self.under_way.settled >= self.end

    def release(self) -> None:
        """Hold nothing back any more, on another connection if this one is not kept."""
        self.is_held = False
        if self.replay is None:
            self._batch.clear()  # at most a word about resting
            self._unwritten = 0

    def acknowledge(self, position: int) -> None:
        """Tell the peer how far it has come, before all that is not on its way yet."""
        self._acknowledging = position

    # --- for the one who writes -------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to write now."""
        return not (self._batch or self._heads or self._streams or self._acknowledging)

    @property
    def is_finished(self) -> bool:
        """Whether all messages are done."""
        return self.is_idle and self.under_way.is_over

    def batch(self) -> list[Piece]:
        """Return what to write next; the same list as long as not all of it is written."""
        if not self._batch and (self._heads or self._streams or self._acknowledging):
            self._refill()
        return self._batch

    def _refill(self) -> None:
        if self.is_held:
            return
        pieces, heads, streams = self._batch, self._heads, self._streams
        start = end = self.end
        if self._acknowledging:
            pieces.append(pack(CAME, 0, 0, self._acknowledging, 0))
            end += HEAD_SIZE
            self._acknowledging = None
        most = end + _HEADS_AT_ONCE
        while heads and end < most:
            head, behind, stream = heads.popleft()
            pieces.append(head)
            end += len(head)
            for piece in behind:
                pieces.append(piece)
                end += len(piece)
            if stream is not None:
                self.under_way.begin(stream, end)
        for _ in range(min(_SEGMENTS_AT_ONCE, len(streams))):
            end = self.under_way.cut(pieces, end)
        self._unwritten += end - start
        self._end = end
        if self.replay is not None:
            self.replay.add(pieces)
        if streams and self.more is not None:
            self.more()

    def wrote(self, count: int) -> None:
        """Take note that `count` bytes of the batch were written."""
        self._unwritten -= count
        batch = self._batch
        if not self._unwritten:
            batch.clear()
        else:
            drop(batch, count)
        if self.replay is None:
            self.under_way.settle(self._end - self._unwritten)

    def unsent(self) -> Iterator[tuple[bytes, int]]:
        """Yield the head and the size of each message that has not begun to be written."""
        for first, _, _ in self._heads:
            kind, _, length, _, size = unpack_from(first)
            if kind == MESSAGE:
                yield bytes(first[HEAD_SIZE : HEAD_SIZE + length]), size

    def fail(self, error: WireError) -> None:
        """Give every message that is not done an error, and let go of all."""
        self.under_way.fail(error, [stream for *_, stream in self._heads if stream])
        self._heads.clear()
        self._batch.clear()
        self.passed.clear()
        if self.replay is not None:
            self.replay.clear()
