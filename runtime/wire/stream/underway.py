"""What is under way to one peer: whose segments go next, and when each message is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from runtime.matching import Window
from runtime.wire.errors import BadFrame, WireError
from runtime.wire.stream.messages import Outgoing
from runtime.wire.stream.payload import Stream
from runtime.wire.stream.replay import Piece


class UnderWay:
    """Large payloads, and messages that are not done. A machine without input or output.

    Payloads take turns in `streams`. Those in `asking` wait to be matched. Of those in `split` some
    went over other connections than the first; these are done when the peer tells that they are
    whole. All others are when what was written is `settled` up to their end.
    """

    def __init__(self) -> None:
        self.streams: deque[Stream] = deque()
        self.asking: dict[int, Stream] = {}
        self.split: dict[int, Stream] = {}
        self.settled = 0
        self._finishing: deque[tuple[int, Outgoing]] = deque()

    @property
    def is_over(self) -> bool:
        """Whether all messages are done whose payloads are not in a queue."""
        return not (self.asking or self.split or self._finishing)

    @property
    def backlog(self) -> int:
        """How many bytes could go at once."""
        return sum(stream.allowed for stream in self.streams)

    # --- over the first connection ----------------------------------------------------------------

    def begin(self, stream: Stream, end: int) -> None:
        """Record that the head of a message is written, which ends there."""
        stream.has_begun = True
        stream.end = end
        if stream.allowed:
            self.streams.append(stream)
        elif not stream.left:
            self.finish(stream)

    def cut(self, pieces: list[Piece], end: int) -> int:
        """Append the next segment, which begins at `end`; return where it ends."""
        stream = self.streams.popleft()
        end += stream.cut(pieces)
        stream.end = end
        if stream.allowed:
            self.streams.append(stream)
        elif not stream.left:
            self.finish(stream)
        return end

    def finish(self, stream: Stream) -> None:
        """Let a message be done once its end is settled, if it has been matched."""
        if not (stream.asks or stream.is_split):
            self.finish_at(stream.end, stream.outgoing)

    def finish_at(self, end: int, outgoing: Outgoing) -> None:
        """Let a message be done once all is settled up to its end."""
        if outgoing.done:
            return
        outgoing.done = end <= self.settled
        if outgoing.done:
            return
        finishing = self._finishing
        at = len(finishing)
        while at and finishing[at - 1][0] > end:
            at -= 1
        finishing.insert(at, (end, outgoing))

    def settle(self, position: int) -> None:
        """Let messages be done that end before a position."""
        self.settled = position
        finishing = self._finishing
        while finishing and finishing[0][0] <= position:
            finishing.popleft()[1].done = True

    # --- over other ones --------------------------------------------------------------------------

    def lend(self, pieces: list[Piece]) -> Stream | None:
        """Append the next segment, to be written elsewhere; return whose it is, if there is one."""
        if not self.streams:
            return None
        stream = self.streams.popleft()
        if not stream.is_split:
            stream.is_split = True
            stream.lent = []
            self.split[stream.number] = stream
        stream.cut(pieces)
        if stream.allowed:
            self.streams.append(stream)
        return stream

    def take_back(self, lost: Iterable[Stream]) -> None:
        """Let parts go once more that were written elsewhere and have not come."""
        self.streams.extendleft(lost)

    def whole(self, number: int) -> None:
        """Record that the peer has all of a payload, however it came.

        Raises:
            BadFrame: it was not asked to tell that.
        """
        stream = self.split.pop(number, None)
        if stream is None or stream.left:
            raise BadFrame(f"message {number} is said to be whole")
        for pieces in stream.lent:
            pieces.clear()
        if stream.asks:
            stream.is_whole = True
        else:
            stream.outgoing.done = True

    # --- matching, and the end --------------------------------------------------------------------

    def matched(self, number: int, window: Window) -> None:
        """Record that a message which asked was matched: the rest of it may go.

        Raises:
            BadFrame: there is no such message.
        """
        stream = self.asking.pop(number, None)
        if stream is None:
            raise BadFrame(f"message {number} was matched, which did not ask")
        window.taken(stream.weight)
        stream.asks = False
        waiting = stream.allowed
        stream.allowed = stream.left
        if stream.is_whole:
            stream.outgoing.done = True
        elif not stream.left:
            self.finish(stream)
        elif stream.has_begun and not waiting:
            self.streams.append(stream)

    def fail(self, error: WireError, others: Iterable[Stream]) -> None:
        """Give every message that is not done an error, and let go of all."""
        failed = [outgoing for _, outgoing in self._finishing]
        waiting = (*others, *self.streams, *self.asking.values(), *self.split.values())
        failed += [stream.outgoing for stream in waiting]
        for outgoing in failed:
            outgoing.error = error
            outgoing.done = True
        for held in (self.streams, self.asking, self.split, self._finishing):
            held.clear()
