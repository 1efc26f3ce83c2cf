"""The sending half of a pair: messages in, pieces to write out. A machine without input or output.

Heads go in the order of the sends, small payloads with them. Large payloads are cut into segments
that take turns. How much may be on its way unasked is bounded; what is beyond waits for its match.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from runtime.matching import Window, weight
from runtime.wire.errors import BadFrame, WireError
from runtime.wire.frames import (
    ASKS,
    INLINE,
    MESSAGE,
    MOST_BYTES,
    MOST_HEAD,
    MOST_INLINE,
    MOST_SEGMENT,
    SEGMENT,
    pack,
)
from runtime.wire.messages import SENT, Outgoing

Piece = bytes | memoryview

WINDOW = 8 << 20
"""How many bytes one peer may send to another unasked: 8 MiB."""

COPIED = 2048
"""Payloads of up to this many bytes are copied, so that their memory is free at once."""

_OVERHEAD = weight(0)
_MOST_VIEWS = 16  # of one small payload; more of them are joined
_HEADS_AT_ONCE = 128 << 10  # bytes of heads and small payloads before large ones have their turn
_SEGMENTS_AT_ONCE = 2


class _Stream:
    """The payload of one message on its way, or of one that waits to be matched.

    Of the `left` bytes `allowed` may go now. `weight` is what it holds of the window. It
    `has_begun` once its head is on its way.
    """

    __slots__ = ("allowed", "asks", "has_begun", "left", "number", "outgoing", "views", "weight")

    def __init__(self, number: int, views: Sequence[memoryview], left: int, allowed: int) -> None:
        self.number = number
        self.views = deque(views)
        self.left = left
        self.allowed = allowed
        self.asks = False
        self.has_begun = False
        self.weight = 0
        self.outgoing = Outgoing()

    def cut(self, pieces: list[Piece]) -> int:
        """Append the next segment; return how many bytes it has with its frame's head."""
        size = wanted = min(self.allowed, MOST_SEGMENT)
        head = pack(SEGMENT, 0, 0, self.number, size)
        pieces.append(head)
        while wanted:
            view = self.views.popleft()
            if len(view) > wanted:
                self.views.appendleft(view[wanted:])
                view = view[:wanted]
            wanted -= len(view)
            if len(view):
                pieces.append(view)
        self.left -= size
        self.allowed -= size
        return len(head) + size


class Outlet:
    """What goes to one peer.

    The owner writes what `batch` returns, or a part of it, and says how much that was to `wrote`.

    >>> outlet = Outlet()
    >>> outlet.put(b"head", [memoryview(b"payload")]).done
    True
    >>> sum(map(len, outlet.batch())), outlet.wrote(31), outlet.batch()
    (31, None, [])
    """

    __slots__ = ("_asking", "_batch", "_end", "_finishing", "_heads", "_streams",
                 "_window", "_window_size", "_written", "bytes", "messages")  # fmt: skip

    def __init__(self, window: int = WINDOW) -> None:
        self._window = Window(window)
        self._window_size = window
        # A head, what goes right behind it, and what comes of its stream once it is on its way.
        self._heads: deque[tuple[Piece, Sequence[Piece], _Stream | None]] = deque()
        self._streams: deque[_Stream] = deque()
        self._asking: dict[int, _Stream] = {}
        self._batch: list[Piece] = []
        self._written = self._end = 0
        self._finishing: deque[tuple[int, Outgoing]] = deque()
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
            or window.on_its_way >= self._window_size - size
            or len(head) > MOST_HEAD
            or len(payload) > _MOST_VIEWS
        ):
            return None
        window.on_its_way += size + _OVERHEAD
        number = self.messages
        self.messages = number + 1
        self.bytes += size
        frame = pack(MESSAGE, INLINE, len(head), number, size)
        if size <= COPIED:
            return [b"".join((frame, head, *payload))]
        return [frame + head, *payload]

    def put_back(self, pieces: Sequence[Piece], sent: int) -> Outgoing:
        """Write later what could not be written of a message that was to pass by."""
        self._batch.extend(pieces)
        self._end += sum(len(piece) for piece in pieces)
        outgoing = Outgoing()
        self._finishing.append((self._end, outgoing))
        self.wrote(sent)
        return outgoing

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
        room = self._window_size - window.on_its_way
        if sync or room <= 0 or size > room:
            return self._ask(number, head, payload, size, max(0, room))
        window.on_its_way += size + _OVERHEAD
        if size <= COPIED:
            frame = pack(MESSAGE, INLINE, len(head), number, size)
            self._heads.append((b"".join((frame, head, *payload)), (), None))
            return SENT
        stream = _Stream(number, payload, size, size)
        if size <= MOST_INLINE:
            frame = pack(MESSAGE, INLINE, len(head), number, size) + head
            stream.left = stream.allowed = 0
            self._heads.append((frame, _few(payload), stream))
        else:
            self._heads.append((pack(MESSAGE, 0, len(head), number, size) + head, (), stream))
        return stream.outgoing

    def _ask(
        self, number: int, head: bytes, payload: Sequence[memoryview], size: int, room: int
    ) -> Outgoing:
        """Send a message that is done only once it is matched, and as much of it as has room."""
        stream = _Stream(number, payload, size, min(size, room))
        stream.asks = True
        if room:
            stream.weight = weight(stream.allowed)
            self._window.sent(stream.weight)
        self._asking[number] = stream
        flags = ASKS
        behind: Sequence[Piece] = ()
        if size <= MOST_INLINE and stream.allowed == size:
            flags |= INLINE
            behind = _few(payload)
            stream.left = stream.allowed = 0
        self._heads.append((pack(MESSAGE, flags, len(head), number, size) + head, behind, stream))
        return stream.outgoing

    def say(self, kind: int, number: int = 0, size: int = 0) -> None:
        """Send a frame of its own before all that is not on its way yet."""
        self._heads.appendleft((pack(kind, 0, 0, number, size), (), None))

    # --- what the peer says -----------------------------------------------------------------------

    def taken(self, told: int) -> None:
        """Know that messages of that weight were matched."""
        self._window.taken(told)

    def matched(self, number: int) -> None:
        """Know that a message which asked was matched: the rest of it may go.

        Raises:
            BadFrame: there is no such message.
        """
        stream = self._asking.pop(number, None)
        if stream is None:
            raise BadFrame(f"message {number} was matched, which did not ask")
        self._window.taken(stream.weight)
        stream.asks = False
        waiting = stream.allowed
        stream.allowed = stream.left
        if not stream.left:
            self._finish_at(self._end, stream)
        elif stream.has_begun and not waiting:
            self._streams.append(stream)

    # --- for the one who writes -------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to write now."""
        return not (self._batch or self._heads or self._streams)

    @property
    def is_finished(self) -> bool:
        """Whether all messages are done."""
        return self.is_idle and not self._asking

    def batch(self) -> list[Piece]:
        """Return what to write next; the same list as long as not all of it is written."""
        if not self._batch and (self._heads or self._streams):
            self._refill()
        return self._batch

    def _refill(self) -> None:
        pieces, heads, streams = self._batch, self._heads, self._streams
        end = self._end
        most = end + _HEADS_AT_ONCE
        while heads and end < most:
            head, behind, stream = heads.popleft()
            pieces.append(head)
            end += len(head)
            for piece in behind:
                pieces.append(piece)
                end += len(piece)
            if stream is not None:
                stream.has_begun = True
                if stream.allowed:
                    streams.append(stream)
                elif not stream.left:
                    self._finish_at(end, stream)
        for _ in range(min(_SEGMENTS_AT_ONCE, len(streams))):
            stream = streams.popleft()
            end += stream.cut(pieces)
            if stream.allowed:
                streams.append(stream)
            elif not stream.left:
                self._finish_at(end, stream)
        self._end = end

    def _finish_at(self, end: int, stream: _Stream) -> None:
        """Let a message be done once everything up to `end` is written, if it has been matched."""
        if stream.asks:
            return
        if end <= self._written:
            stream.outgoing.done = True
        else:
            self._finishing.append((end, stream.outgoing))

    def wrote(self, count: int) -> None:
        """Take note that `count` bytes of the batch were written."""
        self._written += count
        batch = self._batch
        if self._written == self._end:
            batch.clear()
        else:
            done = 0
            for piece in batch:
                if count < len(piece):
                    break
                count -= len(piece)
                done += 1
            del batch[:done]
            if count:
                batch[0] = memoryview(batch[0])[count:]
        finishing = self._finishing
        while finishing and finishing[0][0] <= self._written:
            finishing.popleft()[1].done = True

    def fail(self, error: WireError) -> None:
        """Give every message that is not done an error, and let go of all."""
        waiting = [outgoing for _, outgoing in self._finishing]
        streams = [*self._streams, *self._asking.values(), *(s for *_, s in self._heads if s)]
        for outgoing in (*waiting, *(stream.outgoing for stream in streams)):
            outgoing.error = error
            outgoing.done = True
        self._heads.clear()
        self._streams.clear()
        self._asking.clear()
        self._finishing.clear()
        self._batch.clear()


def _few(payload: Sequence[memoryview]) -> Sequence[Piece]:
    """Return a small payload in few pieces."""
    if len(payload) <= _MOST_VIEWS:
        return payload
    return [b"".join(payload)]
