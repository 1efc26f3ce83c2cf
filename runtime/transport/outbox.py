"""What waits for room in a stream, in order, within bounds; and peers that read nothing of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from runtime.transport.frames import Part
from runtime.transport.messages import OUT_OF_BAND
from runtime.transport.reactor import Reactor, Timer
from runtime.transport.streams import MOST_VIEWS, ByteStream

SEND_LIMIT = 8 << 20
"""How many bytes may wait before a sender has to: 8 MiB."""


class Outbox:
    """Sends at once what the stream takes and keeps the rest.

    `put` is for threads that may wait. It waits while more than `limit` bytes are kept, and until
    large parts, which it does not copy, have left. `put_now` never waits and copies what is kept.
    What is an `answer` is counted while it waits, since its receiver may go on asking.
    """

    def __init__(self, stream: ByteStream, ask_for_room: Callable[[], None], limit: int) -> None:
        self._stream = stream
        self._ask_for_room = ask_for_room
        self._limit = limit
        self._kept: deque[memoryview] = deque()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._begun = 0  # bytes ever put
        self._left = 0  # bytes ever given to the stream
        self._ended = False
        self._answers: deque[tuple[int, int]] = deque()  # where each ends that was put, its bytes
        self._answer_bytes = 0
        self._answering = 0  # threads that wait to put one
        self.frames = 0
        """How many frames were ever put."""

    @property
    def size(self) -> int:
        """The bytes that wait."""
        return self._begun - self._left

    @property
    def is_congested(self) -> bool:
        """Whether a sender would have to wait."""
        return self.size > self._limit

    @property
    def has_waiting_answers(self) -> bool:
        """Whether anybody waits for room for an answer."""
        return self._answering > 0

    @property
    def has_answers(self) -> bool:
        """Whether anything waits that is an answer, or anybody for room for one."""
        return bool(self._answers) or self._answering > 0

    @property
    def surplus(self) -> int:
        """How many bytes beyond the limit wait of the answers put without waiting; or below 0."""
        return min(self._answer_bytes, self.size) - self._limit

    @property
    def sent(self) -> int:
        """The bytes that the stream took."""
        return self._left

    def put(self, parts: Sequence[Part], *, answer: bool = False) -> bool:
        """Send `parts`, waiting for room; False if the stream has ended."""
        with self._lock:
            if self._kept and self.is_congested and not self._ended:
                self._wait_for_room(answer)
            if not self._add(parts):
                return False
            if not self._kept:
                return True
            if any(len(part) >= OUT_OF_BAND for part in parts):
                until = self._begun
                self._changed.wait_for(lambda: self._ended or self._left >= until)
            return not self._ended

    def put_now(self, parts: Sequence[Part], *, owned: bool = False, answer: bool = False) -> bool:
        """Send `parts` without waiting; unless `owned`, large ones that have to wait are copied."""
        with self._lock:
            if self._kept and not owned:
                parts = [bytes(part) for part in parts]
            before = len(self._kept)
            added = self._add(parts)
            if not owned and not before:
                self._kept = deque(memoryview(bytes(piece)) for piece in self._kept)
            if answer and added and self.size:
                size = sum(len(part) for part in parts)
                self._answers.append((self._begun, size))
                self._answer_bytes += size
            return added

    def flush(self) -> None:
        """Send what there is room for; raises OSError."""
        with self._lock:
            self._send()

    def end(self) -> None:
        """Drop what is kept and let waiting senders go."""
        with self._lock:
            self._ended = True
            self._kept.clear()
            self._answers.clear()
            self._answer_bytes = 0
            self._changed.notify_all()

    def _wait_for_room(self, answer: bool) -> None:
        self._answering += answer
        self._changed.wait_for(lambda: self._ended or not self.is_congested)
        if answer:
            self._answering -= 1
            self._ask_for_room()  # the reactor sees who may be served now

    def _add(self, parts: Sequence[Part]) -> bool:
        if self._ended:
            return False
        self.frames += 1
        size = len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
        self._begun += size
        sent = 0
        if is_first := not self._kept:
            try:
                sent = self._stream.send(parts if len(parts) <= MOST_VIEWS else parts[:MOST_VIEWS])
            except OSError:
                sent = 0  # The reactor meets the same error and ends the channel, with its reason.
            if sent == size:
                self._left += sent
                return True
        self._kept.extend(memoryview(part) for part in parts if len(part))
        if is_first:
            self._record_sent(sent)
            self._ask_for_room()
        return True

    def _send(self) -> None:
        while self._kept:
            pieces = [self._kept[n] for n in range(min(len(self._kept), MOST_VIEWS))]
            count = self._stream.send(pieces)
            if not count:
                return
            self._record_sent(count)

    def _record_sent(self, count: int) -> None:
        """Take so many bytes off what is kept."""
        self._left += count
        while count:
            first = self._kept[0]
            if count < len(first):
                self._kept[0] = first[count:]
                break
            count -= len(first)
            self._kept.popleft()
        while self._answers and self._answers[0][0] <= self._left:
            self._answer_bytes -= self._answers.popleft()[1]
        self._changed.notify_all()


class SlowReader:
    """Looks every so many seconds whether a peer reads anything at all of what waits for it.

    `waits` says whether anybody is held up by it; if not, the looking ends until `begin`.
    `handle_silence` gets for how many seconds nothing has left, and decides: who sends to that peer
    is held back no longer, or the peer is given up. It returns whether to go on looking. Without
    `seconds` nobody ever looks. All is called on the reactor's thread.
    """

    def __init__(
        self,
        reactor: Reactor,
        outbox: Outbox,
        seconds: float | None,
        waits: Callable[[], bool],
        handle_silence: Callable[[float], bool],
    ) -> None:
        self._reactor = reactor
        self._outbox = outbox
        self._seconds = seconds
        self._waits = waits
        self._handle_silence = handle_silence
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Look from now on, if nobody looks already."""
        if self._timer is None and self._seconds is not None:
            self._check_later(self._seconds, 0.0)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_later(self, seconds: float, quiet: float) -> None:
        before = self._outbox.sent

        def check() -> None:
            self._timer = None
            if self._waits():
                silent = quiet + seconds if self._outbox.sent == before else 0.0
                if not silent or self._handle_silence(silent):
                    self._check_later(seconds, silent)

        self._timer = self._reactor.later(seconds, check)
