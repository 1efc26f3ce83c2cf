"""What a replica sends: the log of what its master has committed, and the backup of the rest.

A message is committed when every living replica of its receiver has acknowledged it: what a host
has sent just before it dies may be lost on the way. The master keeps no payloads: if it dies its
replicas have them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runtime.replicas.effects import Drop, Keep, Tell, Transmit
from runtime.replicas.limits import ReplicationError

if TYPE_CHECKING:
    from runtime.replicas.effects import Effect, Stream
    from runtime.replicas.limits import ReplicationLimits
    from runtime.replicas.roster import Roster

_ENTRY_BYTES = 256
"""What an entry of the backup takes besides its payload, about."""


class _Line:
    """What is known of one stream that goes out."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.sent = 0
        """How many messages the program has sent here."""
        self.committed = 0
        """How many every receiver has."""
        self.is_untold = False
        """Whether the other replicas are to be told of that."""
        self.backup: deque[int] = deque()
        """The places in the backup of those that are there."""


class _Backup:
    """A message that was not transmitted by this process; `after` decisions have to be settled."""

    __slots__ = ("after", "kept", "line", "message", "number")

    def __init__(self, line: _Line, number: int, message: Any, after: int, kept: int) -> None:
        self.line = line
        self.number = number
        self.message = message
        self.after = after
        self.kept = kept
        """Of how many bytes there is a copy; 0 if the program waits."""


class _Way:
    """The messages that were transmitted to a rank and that not all of its replicas have."""

    def __init__(self) -> None:
        self.messages: deque[tuple[_Line, int]] = deque()
        self.gone = 0
        """How many were here before."""
        self.begun: dict[int, int] = {}
        """Before which message each process got its first one."""
        self.came: dict[int, int] = {}
        """How many have come to each process, with those before it."""

    def transmitted(self, receivers: tuple[int, ...], line: _Line, number: int) -> None:
        """Record that a message is on its way to all of them."""
        for process in receivers:
            if process not in self.begun:
                self.begun[process] = self.came[process] = self.gone + len(self.messages)
        self.messages.append((line, number))

    def acknowledged(self, process: int, count: int) -> None:
        """Record how many have come to a process."""
        self.came[process] = self.begun[process] + count

    def lost(self, process: int) -> None:
        """Wait for no word of a process."""
        self.came.pop(process, None)

    def arrived(self) -> Iterator[tuple[_Line, int]]:
        """Yield and forget what has come to all."""
        messages = self.messages
        least = min(self.came.values(), default=self.gone + len(messages))
        while messages and self.gone < least:
            self.gone += 1
            yield messages.popleft()


class Sends:
    """The messages that one process sends for its rank; `back_up` is of the last one counted."""

    def __init__(self, roster: Roster, limits: ReplicationLimits, *, restarts: bool) -> None:
        self._roster = roster
        self._restarts = restarts
        self._limits = limits
        self._lines: dict[Stream, _Line] = {}
        self._sent = 0
        self.backup: dict[int, _Backup] = {}
        """What is to be transmitted if this process leads, by its place in the program."""
        self.kept = 0
        """How many bytes of the backup are copies."""
        self._ways: dict[int, _Way] = {}
        self._untold: list[_Line] = []

    def count(self, stream: Stream) -> tuple[_Line, int]:
        """Count a message that the program sends; return its stream and its number there."""
        line = self._line(stream)
        number = line.sent
        line.sent = number + 1
        self._sent += 1
        return line, number

    def _line(self, stream: Stream) -> _Line:
        line = self._lines.get(stream)
        if line is None:
            line = self._lines[stream] = _Line(stream)
        return line

    @property
    def is_settled(self) -> bool:
        """Whether every receiver has all that was sent, as far as this process has to know."""
        return not self.backup and not any(way.messages for way in self._ways.values())

    def back_up(
        self, line: _Line, number: int, message: Any, size: int, after: int
    ) -> list[Effect]:
        """Keep a message until it is committed, or until so many decisions are settled."""
        bytes_kept = size + _ENTRY_BYTES
        has_room = self.kept + bytes_kept <= self._limits.kept_bytes
        if not has_room:
            bytes_kept = 0
        place = self._sent
        self.backup[place] = _Backup(line, number, message, after, bytes_kept)
        line.backup.append(place)
        self.kept += bytes_kept
        return [Keep(message)] if has_room else []

    def transmit(self, settled: int) -> list[Effect]:
        """Transmit what is in the backup, as far as so many settled decisions permit; as master."""
        effects: list[Effect] = []
        for place, entry in list(self.backup.items()):
            if entry.after > settled:
                break
            del self.backup[place]
            entry.line.backup.remove(place)
            self.kept -= entry.kept
            effects += self.transmit_one(entry.line, entry.number, entry.message)
        return effects

    def transmit_one(self, line: _Line, number: int, message: Any) -> list[Effect]:
        """Transmit a message to all living replicas of its receiver; as master."""
        stream, roster = line.stream, self._roster
        rank = stream[2]
        receivers = roster.living[rank]
        if not receivers:
            self._commit(line, number)
            return [Drop(message)]
        if roster.twins or self._restarts:
            way = self._ways.get(rank)
            if way is None:
                way = self._ways[rank] = _Way()
            way.transmitted(receivers, line, number)
        return [Transmit(receivers, stream, number, message)]

    def acknowledged(self, process: int, count: int) -> None:
        """Record that the first so many messages have come to a process."""
        way = self._ways.get(self._roster.rank_of[process])
        if way is not None:
            way.acknowledged(process, count)
            self._arrived(way)

    def lost(self, process: int) -> None:
        """Wait for no word of a process that is dead."""
        way = self._ways.get(self._roster.rank_of[process])
        if way is not None:
            way.lost(process)
            self._arrived(way)
        if not (self._roster.twins or self._restarts):
            self._ways.clear()
        if not self._roster.twins:
            self._notify_all()

    def _arrived(self, way: _Way) -> None:
        for line, number in way.arrived():
            self._commit(line, number)

    def _commit(self, line: _Line, number: int) -> None:
        if line.committed > number:
            raise ReplicationError(f"message {number} of {line.stream} has been committed twice")
        line.committed = number + 1
        if not line.is_untold and self._roster.twins:
            line.is_untold = True
            self._untold.append(line)

    def commit(self) -> list[Effect]:
        """Tell the other replicas what was committed since the last time; as master."""
        if not self._untold:
            return []
        word = ("committed", self._notify_all())
        return [Tell(twin, word) for twin in self._roster.twins]

    def begin_epoch(self) -> None:
        """Forget the streams of this epoch: all that was sent in them has arrived.

        The master may have told of streams of the next one, in which this program has sent nothing.
        """
        self._lines = {stream: line for stream, line in self._lines.items() if not line.sent}

    def _notify_all(self) -> tuple[tuple[Stream, int], ...]:
        """Return what the other replicas were not told, which they are now."""
        told, self._untold = self._untold, []
        for line in told:
            line.is_untold = False
        return tuple((line.stream, line.committed) for line in told)

    def commit_all(self) -> None:
        """Have the log of this epoch told to the others next time: the last master told some."""
        for line in self._lines.values():
            if line.committed and not line.is_untold:
                line.is_untold = True
                self._untold.append(line)

    def committed(self, marks: tuple[tuple[Stream, int], ...]) -> list[Effect]:
        """Record what the master has committed."""
        effects: list[Effect] = []
        for stream, upto in marks:
            line = self._line(stream)
            while line.backup and self.backup[line.backup[0]].number < upto:
                entry = self.backup.pop(line.backup.popleft())
                self.kept -= entry.kept
                effects.append(Drop(entry.message))
            line.committed = max(line.committed, upto)
        return effects
