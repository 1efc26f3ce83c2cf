"""What has arrived: each message of a stream once, and how much of it its sender was told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.replicas.effects import Tell
from runtime.replicas.limits import ReplicationError

if TYPE_CHECKING:
    from runtime.replicas.effects import Effect, Stream
    from runtime.replicas.limits import ReplicationLimits


class Arrivals:
    """The history of one receiver: a number for each stream, and one for each sender."""

    def __init__(self, limits: ReplicationLimits) -> None:
        self._limits = limits
        self.history: dict[Stream, int] = {}
        """How many messages of each stream have begun to arrive."""
        self._arrived: dict[int, int] = {}
        self._unsaid: dict[int, int] = {}
        self.unsaid = 0
        """How many arrivals were not acknowledged yet."""
        self._unsaid_bytes = 0

    def is_new(self, process: int, stream: Stream, number: int) -> bool:
        """Return whether a message that begins to arrive has not come before."""
        expected = self.history.get(stream, 0)
        if number == expected:
            self.history[stream] = number + 1
            return True
        if number > expected:
            raise ReplicationError(
                f"message {number} of {stream} has come from process {process} before {expected}"
            )
        return False

    def count(self, process: int, size: int) -> bool:
        """Count a message; return whether there is enough to acknowledge."""
        self._arrived[process] = self._unsaid[process] = self._arrived.get(process, 0) + 1
        self.unsaid += 1
        self._unsaid_bytes += size
        limits = self._limits
        return self.unsaid >= limits.batch or self._unsaid_bytes >= limits.batch_bytes

    def acknowledge(self, is_wanted: Callable[[int], bool]) -> list[Effect]:
        """Tell senders how many of their messages have come, if they want to know that."""
        said: list[Effect] = [
            Tell(process, ("arrived", count))
            for process, count in self._unsaid.items()
            if is_wanted(process)
        ]
        self._unsaid.clear()
        self.unsaid = self._unsaid_bytes = 0
        return said
