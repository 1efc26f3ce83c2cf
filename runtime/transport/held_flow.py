"""Which channels are not read for a while, since what they bring finds no room in another one.

A process that passes calls on keeps little for a peer that does not read: it stops reading where
the calls come from, so that their senders wait. Answers to calls of that peer come over connections
that others need too, so these are held back only as a last resort.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.transport.backlog import Backlog
from runtime.transport.outbox import Outbox, SlowReader
from runtime.transport.reactor import Reactor


class HeldFlow:
    """What one channel has to do with that: whom it holds back, and who holds it back.

    Notes are passed on until the `outbox` is congested. Where they are bounded by who sends them,
    a peer that reads nothing at all for `most_held` seconds holds up nobody any more: those who
    wait have words for others. `changed` is called when it may be read again, or not any more.
    All is for the reactor's thread.
    """

    def __init__(
        self,
        reactor: Reactor,
        outbox: Outbox,
        backlog: Backlog[Any],
        changed: Callable[[], None],
        most_held: float | None,
    ) -> None:
        self._outbox = outbox
        self._backlog = backlog
        self._changed = changed
        self._sources: dict[HeldFlow, bool] = {}  # those that wait, and whether with answers only
        self.held_by: set[HeldFlow] = set()
        """Where what this one brings finds no room; it is not read while there are any."""
        self._stood_still_at = -1
        self._has_ended = False
        self._reader = SlowReader(
            reactor, outbox, most_held, lambda: outbox.size > 0, self._handle_silence
        )

    @property
    def stands_still(self) -> bool:
        """Whether nothing has left since it was noticed that the peer reads nothing."""
        return self._outbox.sent == self._stood_still_at

    def hold(self, source: HeldFlow, *, answer: bool) -> None:
        """Hold `source` back, which has brought something, if there is too much here by now."""
        self._backlog.check()
        if source is not self and self._is_too_full(answer):
            self._sources[source] = answer and self._sources.get(source, True)
            source.held_by.add(self)
            source._changed()
            self._reader.begin()

    def release(self) -> None:
        """Let those go on for whom there is room again."""
        for source, answer in list(self._sources.items()):
            if not self._is_too_full(answer):
                del self._sources[source]
                source.held_by.discard(self)
                source._changed()

    def end(self) -> None:
        """Hold nobody back any more."""
        self._has_ended = True
        self.release()

    def _is_too_full(self, answer: bool) -> bool:
        if self._has_ended:
            return False
        if answer:
            return self._backlog.is_flooded
        return self._outbox.is_congested and not self.stands_still

    def _handle_silence(self, _: float) -> bool:
        self._stood_still_at = self._outbox.sent
        self.release()
        return False
