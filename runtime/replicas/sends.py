"""What a replica sends: the log of what its master has committed, and the backup of the rest.

A message is committed when every living replica of its receiver has acknowledged it: what a host
has sent just before it dies may be lost on the way. The master keeps no payloads: if it dies its
replicas have them.
"""

from __future__ import annotations

from collections import deque

from runtime.replicas.effects import Drop, Keep, Tell, Transmit
from runtime.replicas.limits import ReplicationError

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import Any

    from runtime.replicas.effects import Effect, Stream
    from runtime.replicas.limits import ReplicationLimits
    from runtime.replicas.roster import Roster

_ENTRY_BYTES = 256
"""What an entry of the backup takes besides its payload, about."""


class _Backup:
    """A message that was not transmitted by this process; `after` decisions have to be settled."""

    __slots__ = ("after", "kept", "message")

    def __init__(self, message: Any, after: int, kept: int) -> None:
        self.message = message
        self.after = after
        self.kept = kept
        """Of how many bytes there is a copy; 0 if the program waits."""


class _OnItsWay:
    """A message that was transmitted, and who has not acknowledged it."""

    __slots__ = ("awaited", "number", "stream")

    def __init__(self, stream: Stream, number: int, awaited: set[int]) -> None:
        self.stream = stream
        self.number = number
        self.awaited = awaited


class Sends:
    """The messages that one process sends for its rank."""

    def __init__(self, roster: Roster, limits: ReplicationLimits, *, restarts: bool) -> None:
        self._roster = roster
        self._restarts = restarts
        self._limits = limits
        self.counts: dict[Stream, int] = {}
        """How many messages of each stream the program has sent here."""
        self.log: dict[Stream, int] = {}
        """How many messages of each stream are committed: every receiver has them."""
        self.backup: dict[tuple[Stream, int], _Backup] = {}
        """What is to be transmitted if this process leads, in the order of the program."""
        self.kept = 0
        """How many bytes of the backup are copies."""
        self._transmitted: dict[int, int] = {}
        self._ways: dict[int, deque[tuple[int, _OnItsWay]]] = {}
        self._commits: dict[Stream, int] = {}

    def count(self, stream: Stream) -> int:
        """Return the number of the next message of a stream."""
        number = self.counts.get(stream, 0)
        self.counts[stream] = number + 1
        return number

    def is_committed(self, stream: Stream, number: int) -> bool:
        """Tell whether every receiver has a message already."""
        return number < self.log.get(stream, 0)

    @property
    def is_settled(self) -> bool:
        """Whether every receiver has all that was sent, as far as this process has to know."""
        return not self.backup and not any(self._ways.values())

    def back_up(
        self, stream: Stream, number: int, message: Any, size: int, after: int
    ) -> list[Effect]:
        """Keep a message until it is committed, or until so many decisions are settled."""
        bytes_kept = size + _ENTRY_BYTES
        has_room = self.kept + bytes_kept <= self._limits.kept_bytes
        self.backup[stream, number] = _Backup(message, after, bytes_kept if has_room else 0)
        if not has_room:
            return []
        self.kept += bytes_kept
        return [Keep(message)]

    def transmit(self, settled: int) -> list[Effect]:
        """Transmit what is in the backup, as far as so many settled decisions permit; as master."""
        effects: list[Effect] = []
        for stream, number in list(self.backup):
            entry = self.backup[stream, number]
            if entry.after > settled:
                break
            del self.backup[stream, number]
            self.kept -= entry.kept
            effects += self.transmit_one(stream, number, entry.message)
        return effects

    def transmit_one(self, stream: Stream, number: int, message: Any) -> list[Effect]:
        """Transmit a message to all living replicas of its receiver; as master."""
        receivers = self._roster.living[stream[2]]
        on_its_way = _OnItsWay(stream, number, set(receivers))
        for process in receivers:
            count = self._transmitted.get(process, 0)
            self._transmitted[process] = count + 1
            if self._roster.twins or self._restarts:
                self._ways.setdefault(process, deque()).append((count, on_its_way))
        if not receivers:
            self._commit(stream, number)
            return [Drop(message)]
        return [Transmit(process, stream, number, message) for process in receivers]

    def acknowledged(self, process: int, count: int) -> None:
        """Record that the first so many messages have come to a process."""
        way = self._ways.get(process)
        while way and way[0][0] < count:
            self._arrived(process, way.popleft()[1])

    def lost(self, process: int) -> None:
        """Wait for no word of a process that is dead."""
        for _, on_its_way in self._ways.pop(process, ()):
            self._arrived(process, on_its_way)
        if not (self._roster.twins or self._restarts):
            self._ways.clear()
        if not self._roster.twins:
            self._commits.clear()

    def _arrived(self, process: int, on_its_way: _OnItsWay) -> None:
        on_its_way.awaited.discard(process)
        if not on_its_way.awaited:
            self._commit(on_its_way.stream, on_its_way.number)

    def _commit(self, stream: Stream, number: int) -> None:
        if self.log.get(stream, 0) > number:
            raise ReplicationError(f"message {number} of {stream} has been committed twice")
        self.log[stream] = number + 1
        if self._roster.twins:
            self._commits[stream] = number + 1

    def commit(self) -> list[Effect]:
        """Tell the other replicas what was committed since the last time; as master."""
        if not self._commits:
            return []
        word = ("committed", tuple(self._commits.items()))
        self._commits.clear()
        return [Tell(twin, word) for twin in self._roster.twins]

    def begin_epoch(self) -> None:
        """Forget the streams of this epoch: all that was sent in them has arrived.

        The master may have told of streams of the next one, in which this program has sent nothing.
        """
        for stream in self.counts:
            self.log.pop(stream, None)
        self.counts.clear()

    def commit_all(self) -> None:
        """Have the log of this epoch told to the others next time: the last master told some."""
        self._commits.update(self.log)

    def committed(self, marks: tuple[tuple[Stream, int], ...]) -> list[Effect]:
        """Record what the master has committed."""
        effects: list[Effect] = []
        for stream, upto in marks:
            first = self.log.get(stream, 0)
            for number in range(first, upto):
                entry = self.backup.pop((stream, number), None)
                if entry is not None:
                    self.kept -= entry.kept
                    effects.append(Drop(entry.message))
            self.log[stream] = max(first, upto)
        return effects
