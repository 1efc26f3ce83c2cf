"""Calls that are not served yet, since their sender does not read the answers to those before."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from runtime.transport.outbox import Outbox, SlowReader
from runtime.transport.reactor import Reactor

MOST_UNANSWERED = 256
"""How many calls of a peer are served at a time while it does not read what it asked for."""

MOST_BYTES = 32 << 20
"""How many bytes of calls are kept for such a peer before nothing more is read from it: 32 MiB.

As many bytes of answers that come for it from elsewhere are kept before others have to wait.
"""

UNREAD_SECONDS = 60.0
"""How long such a peer may read nothing at all before it is given up."""

HOLDING_UP_SECONDS = 10.0
"""How long it may do so while others wait for it."""

Call = TypeVar("Call")

_OBJECTS = 1 << 10  # bytes that a call takes beyond what was received


class Backlog(Generic[Call]):
    """Keeps calls back while answers to the same peer find no room, and gives up who never reads.

    Results are not kept back, only calls, so that two processes that ask each other for very much
    go on. `begun` and `answered` are told of each call that is served.
    """

    def __init__(
        self,
        reactor: Reactor,
        outbox: Outbox,
        give_up: Callable[[str], None],
        *,
        most_unanswered: int = MOST_UNANSWERED,
        most_bytes: int = MOST_BYTES,
        patience: float = UNREAD_SECONDS,
    ) -> None:
        self._outbox = outbox
        self._give_up = give_up
        self._most_unanswered = most_unanswered
        self._most_bytes = most_bytes
        self._patience = patience
        self._period = min(patience, HOLDING_UP_SECONDS)
        self._lock = threading.Lock()
        self._unanswered = 0
        self._kept: deque[tuple[Call, int]] = deque()
        self._size = 0
        self._reader = SlowReader(reactor, outbox, self._period, self._waits, self._handle_silence)

    def begun(self) -> None:
        """Record that a call is being served."""
        with self._lock:
            self._unanswered += 1

    def answered(self) -> None:
        """Record that the answer to a call is where it can leave; safe from every thread."""
        with self._lock:
            self._unanswered -= 1

    @property
    def is_full(self) -> bool:
        """Whether so much is kept that nothing more may be read."""
        return self._size > self._most_bytes

    @property
    def is_flooded(self) -> bool:
        """Whether so many answers wait that those who bring them have to wait too."""
        return self._outbox.surplus > self._most_bytes

    def check(self) -> None:
        """See whether so much waits by now that the peer has to be watched."""
        if self._is_overloaded():
            self._reader.begin()

    def keeps(self, call: Call, size: int) -> bool:
        """Keep a call of so many bytes that may not be served yet; return whether that is so."""
        if not self._kept and not (self._outbox.has_answers and self._is_overloaded()):
            return False
        self._reader.begin()
        self._kept.append((call, size + _OBJECTS))
        self._size += size + _OBJECTS
        return True

    def take(self) -> Call | None:
        """Return the next call that may be served now, if there is one."""
        if not self._kept or self._is_overloaded():
            return None
        call, size = self._kept.popleft()
        self._size -= size
        if not self._kept:
            self._reader.stop()
        return call

    def end(self) -> None:
        """Drop what is kept."""
        self._kept.clear()
        self._size = 0
        self._reader.stop()

    def _is_overloaded(self) -> bool:
        if self._outbox.surplus > 0:
            return True
        return self._outbox.has_waiting_answers and self._unanswered >= self._most_unanswered

    def _waits(self) -> bool:
        return bool(self._kept) or self._is_overloaded()

    def _handle_silence(self, silent: float) -> bool:
        if silent < (self._period if self.is_flooded else self._patience):
            return True
        self._give_up(f"it has read no answers to its calls for {silent:g} s")
        return False
