"""The reading side of a channel, and how a thread that waits for an answer reads in its place.

One thread reads at a time: the reactor's, or one that waits for the answer to its call. So the
answer itself wakes who waits, not another thread that it has woken. What that thread reads for
others it leaves to the reactor, and reads no further.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from runtime.transport.errors import FrameError
from runtime.transport.frames import Frame, FrameReader
from runtime.transport.messages import FAILURE, RESULT
from runtime.transport.outbox import Outbox
from runtime.transport.reactor import Reactor
from runtime.transport.streams import ByteStream

_READS_AT_ONCE = 16


class FrameListener(Protocol):
    """Takes what is read, on the reactor's thread but for the answer that another one awaits."""

    @property
    def is_held(self) -> bool:
        """Whether nothing more may be read now."""

    def handle_frame(self, frame: Frame) -> None:
        """Take a frame; raises FrameError if it makes no sense."""

    def handle_end(self, why: str, cause: OSError | None = None) -> None:
        """Take note that the connection has ended, perhaps as the system said."""

    def give_up(self, why: str) -> None:
        """End a connection over which something came that makes no sense."""


class ChannelReader:
    """Reads frames from a stream, in the reactor's thread or in that of a caller who waits."""

    def __init__(
        self,
        reactor: Reactor,
        stream: ByteStream,
        outbox: Outbox,
        listener: FrameListener,
        most_bytes: int,
    ) -> None:
        self._reactor = reactor
        self._stream = stream
        self._outbox = outbox
        self._listener = listener
        self._frames = FrameReader(most_bytes)
        self._reading = threading.Lock()
        self._wanting = threading.RLock()
        self._has_begun = self._has_ended = False
        self._is_elsewhere = False  # a thread that waits for its answer reads
        self._deferred: deque[Frame] = deque()  # what that one has read for others
        self._broken: OSError | None = None  # why nothing can be sent any more
        self.received_bytes = 0

    def begin(self, received: bytes) -> None:
        """Read from now on what the attached stream brings; `received` has come before."""
        self.want()
        with self._reading:
            if received:
                self._take(partial(self._frames.feed, received))
        self._has_begun = True

    def want(self) -> None:
        """Tell the reactor what to look out for: not to read while a caller does so elsewhere."""
        with self._wanting:
            if not self._has_ended:
                read = not self._is_elsewhere and not self._listener.is_held
                self._stream.want(read=read, write=self._outbox.size > 0)

    def close(self) -> None:
        """Read no more; the stream is closed, by who reads elsewhere if anybody does."""
        with self._wanting:
            self._has_ended = True
            if self._is_elsewhere:
                self._stream.hang_up()
            else:
                self._stream.close()

    # -- on the reactor's thread -----------------------------------------------------------------

    def read_last(self, broken: OSError) -> None:
        """End the connection, which is `broken`, behind what the other end still said before."""
        self._broken = broken
        self.readable()
        with self._wanting:
            if not self._is_elsewhere:  # else the reader does this when nothing is left
                self._handle_break(broken)

    def _handle_break(self, error: OSError) -> None:
        self._listener.handle_end(f"the connection broke: {error}", error)

    def readable(self) -> None:
        """Read what has come, unless a caller does."""
        if self._reading.acquire(blocking=False):
            try:
                self._read()
            finally:
                self._reading.release()

    def _read(self) -> None:
        while self._deferred:
            self._take(lambda: [self._deferred.popleft()])
        for _ in range(_READS_AT_ONCE):
            if self._has_ended or self._listener.is_held:
                return
            space = self._frames.space()
            room = len(space)
            try:
                count = self._stream.receive_into(space)
            except OSError as error:
                self._handle_break(error)
                return
            if not count:
                if count is not None:
                    where = "" if self._frames.is_between_frames else " in the middle of a message"
                    why = f"the other end closed the connection{where}"
                    self._listener.handle_end(why, self._broken)
                return
            self.received_bytes += count
            try:
                for frame in self._frames.filled(count):
                    self._listener.handle_frame(frame)
            except FrameError as error:
                self._listener.give_up(str(error))
            if count < room:  # there is no more, or the reactor tells of it
                return

    def _take(self, read: Callable[[], list[Frame]]) -> None:
        try:
            for frame in read():
                self._listener.handle_frame(frame)
        except FrameError as error:
            self._listener.give_up(str(error))

    # -- on the thread that waits for an answer --------------------------------------------------

    def read_for(self, number: int, is_done: Callable[[], bool], seconds: float | None) -> None:
        """Read until a call `is_done`, in place of the reactor, as long as nothing else comes.

        It may return early: when somebody else reads, or the stream cannot be waited for here.
        """
        if not self._has_begun or self._reactor.is_own_thread():
            return
        if not self._reading.acquire(blocking=False):
            return
        try:
            self._read_elsewhere(True)
            deadline = None if seconds is None else time.monotonic() + seconds
            while not is_done() and self._reads_on_for(number, deadline):
                pass
        finally:
            self._reading.release()
            self._read_elsewhere(False)
            if self._broken is not None:
                self._reactor.soon(partial(self.read_last, self._broken))
            elif self._deferred:
                self._reactor.soon(self.readable)

    def _read_elsewhere(self, is_elsewhere: bool) -> None:
        with self._wanting:
            self._is_elsewhere = is_elsewhere
            if self._has_ended and not is_elsewhere:
                self._stream.close()
            else:
                self.want()

    def _reads_on_for(self, number: int, deadline: float | None) -> bool:
        """Wait and read once; tell whether the answer to a call may still be read here."""
        if self._has_ended or self._deferred or self._listener.is_held:
            return False
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not self._stream.await_readable(left):
            return False
        try:
            count = self._stream.receive_into(self._frames.space())
            if not count:
                return count is None
            self.received_bytes += count
            frames = self._frames.filled(count)
        except OSError as error:
            self._reactor.soon(partial(self._handle_break, error))
            return False
        except FrameError as error:
            self._reactor.soon(partial(self._listener.give_up, str(error)))
            return False
        for frame in frames:
            is_outcome = RESULT <= frame.kind <= FAILURE
            if frame.number == number and is_outcome and not self._deferred:
                self._listener.handle_frame(frame)
            else:
                self._deferred.append(frame)
        return True
