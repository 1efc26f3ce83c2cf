"""Messages of ranks with replicas: sent to several processes, or received from several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from runtime.wire import Incoming, Outgoing

if TYPE_CHECKING:
    from runtime.replicas.effects import Stream


_LARGE = 64 << 10
"""Of how many bytes copies have memory that is used again: new memory costs more than the copy."""

MOST_SPARE = 16 << 20
"""How many bytes of that are kept at most while there are no copies in them."""


class CopyMemory:
    """Memory for copies of large messages, which programs often send in the same sizes."""

    def __init__(self) -> None:
        self._spare: dict[int, list[bytearray]] = {}
        self.spare_bytes = 0
        """How many bytes have no copies in them."""

    def copy(self, payload: Sequence[memoryview], size: int) -> bytearray | bytes:
        """Return a copy of the bytes of a payload."""
        if size < _LARGE:
            return b"".join(payload)
        spare = self._spare.get(size)
        if spare:
            memory = spare.pop()
            self.spare_bytes -= size
        else:
            memory = bytearray(size)
        target, at = memoryview(memory), 0
        for view in payload:
            end = at + len(view)
            target[at:end] = view
            at = end
        return memory

    def free(self, memory: bytearray) -> None:
        """Take back the memory of a copy that nobody needs any more."""
        size = len(memory)
        if self.spare_bytes + size > MOST_SPARE:
            self._spare.clear()
            self.spare_bytes = 0
        if size <= MOST_SPARE:
            self._spare.setdefault(size, []).append(memory)
            self.spare_bytes += size


class ReplicatedSending(Outgoing):
    """A message to all replicas of a rank."""

    __slots__ = ("_copy", "_parts", "epoch", "head", "is_transmitted", "payload", "size", "sync",
                 "to")  # fmt: skip

    def __init__(
        self, to: int, head: bytes, epoch: int, payload: Sequence[memoryview], sync: bool
    ) -> None:
        self.done, self.error = False, None
        self.to, self.head, self.epoch = to, head, epoch
        self.payload, self.sync = payload, sync
        self.size = 0
        for view in payload:
            self.size += len(view)
        self.is_transmitted = False
        self._parts: list[Outgoing] = []
        self._copy: bytearray | bytes = b""

    def await_part(self, part: Outgoing) -> None:
        """Wait for the copy to one of them, unless the program does not wait any more."""
        if not self.done:
            self._parts.append(part)

    def keep(self, memory: CopyMemory) -> None:
        """Copy the payload; the program continues, unless it waits for more."""
        self._copy = memory.copy(self.payload, self.size)
        self.payload = [memoryview(self._copy)]
        self.done = not self.sync

    def drop(self, memory: CopyMemory) -> None:
        """Drop the payload: all receivers have it."""
        self.payload = ()
        self.done = True
        if isinstance(self._copy, bytearray):
            memory.free(self._copy)
        self._copy = b""

    def look(self) -> bool:
        """Test whether all copies are sent, except those to lost processes."""
        if self.is_transmitted and not self.done:
            if self._parts:
                self._parts = [one for one in self._parts if not one.done]
            self.done = not self._parts
        return self.done


class ReplicatedIncoming(Incoming):
    """An incomplete message; if its sender is lost another replica sends it again."""

    __slots__ = ("_buffer", "_flow", "_is_wanted", "_spare", "_when_here", "process")

    def __init__(self, process: int, flow: Incoming, when_here: Callable[[], None]) -> None:
        super().__init__(flow.source, flow.head, flow.size, flow.number, self, asks=flow.asks)
        self.process = process
        self._when_here = when_here
        self._flow: Incoming | None = flow
        self._spare: tuple[int, Incoming] | None = None
        self._is_wanted = False
        self._buffer: memoryview | None = None
        flow.owner = self

    def matched(self, incoming: Incoming) -> None:
        """Let it land where the receiver wants it."""
        self.done, self._is_wanted, self._buffer = False, True, incoming.payload
        self._begin()

    def _begin(self) -> None:
        flow = self._flow
        if flow is None or not self._is_wanted:
            return
        if self._buffer is None:
            flow.take()
        else:
            flow.give(self._buffer)
        self.land()

    def land(self) -> bool:
        """Complete it once all of it is here; return whether it is."""
        flow = self._flow
        if flow is not None and flow.done and not self.done:
            flow.owner = None
            self.payload = flow.payload if self._buffer is None else self._buffer
            self.done = True
            if self._spare is not None:
                self._spare[1].take()
            self._when_here()
        return self.done

    def again(self, process: int, flow: Incoming) -> bool:
        """Receive it from another process, too; return whether it is done with that."""
        if self._flow is None:
            self.process, self._flow = process, flow
            flow.owner = self
            self._begin()
            return self.done
        if self._spare is not None:
            flow.take()
        else:
            self._spare = process, flow
        return False

    def lost(self, process: int) -> bool:
        """Record that a process is lost; return whether it is done with what another one sends.

        A process that ends well may leave when all of its message is here, matched or not.
        """
        if self._spare is not None and self._spare[0] == process and not _is_whole(self._spare[1]):
            self._spare = None
        if self.process != process or self.done or _is_whole(self._flow):
            return False
        if self._flow is not None:
            self._flow.owner = None
        self._flow, spare, self._spare = None, self._spare, None
        return spare is not None and self.again(*spare)


def _is_whole(flow: Incoming | None) -> bool:
    return flow is not None and flow.came == flow.size


class Arrival:
    """A message as sent by one process; acknowledged once it is here, from whichever process."""

    __slots__ = ("is_awaited", "is_here", "number", "size", "stream")

    def __init__(self, stream: Stream, number: int, incoming: Incoming, is_here: bool) -> None:
        self.stream, self.number, self.is_here = stream, number, is_here
        self.size, self.is_awaited = incoming.size, incoming.asks


class ReplicatedInbox:
    """Delivers each message of a stream once, and acknowledges them in the order of their sender.

    `complete` is called with messages that were delivered before they were complete. `acknowledge`
    is called for each message that is here for good: with the process, how many bytes it has, and
    whether its sender waits until it is received.
    """

    def __init__(
        self,
        deliver: Callable[[Incoming], None],
        complete: Callable[[Incoming], None],
        acknowledge: Callable[[int, int, bool], None],
    ) -> None:
        self._deliver, self._complete, self._acknowledge = deliver, complete, acknowledge
        self._entries: dict[int, deque[Arrival]] = {}
        self._landings: dict[tuple[Stream, int], ReplicatedIncoming] = {}

    def arrived(
        self, process: int, stream: Stream, number: int, incoming: Incoming, is_new: bool
    ) -> None:
        """Handle the beginning of a message from a process; it is new or was delivered before."""
        if not is_new:
            self._repeated(process, stream, number, incoming)
            return
        is_here = incoming.came == incoming.size
        entries = self._entries.get(process)
        if is_here and not entries:
            size, is_awaited = incoming.size, incoming.asks
            self._deliver(incoming)
            self._acknowledge(process, size, is_awaited)
            return
        if entries is None:
            entries = self._entries[process] = deque()
        entries.append(Arrival(stream, number, incoming, is_here))
        if is_here:
            self._deliver(incoming)
            return
        landing = ReplicatedIncoming(process, incoming, lambda: self._is_here(stream, number))
        self._landings[stream, number] = landing
        self._deliver(landing)

    def _repeated(self, process: int, stream: Stream, number: int, incoming: Incoming) -> None:
        landing = self._landings.get((stream, number))
        entries = self._entries.setdefault(process, deque())
        entries.append(Arrival(stream, number, incoming, landing is None))
        if landing is None:
            incoming.take()
        elif landing.again(process, incoming):
            self._complete(landing)
        self._say(process, entries)

    def _is_here(self, stream: Stream, number: int) -> None:
        self._landings.pop((stream, number), None)
        for process, entries in list(self._entries.items()):
            for entry in entries:
                if entry.number == number and entry.stream == stream:
                    entry.is_here = True
            self._say(process, entries)

    def _say(self, process: int, entries: deque[Arrival]) -> None:
        while entries and entries[0].is_here:
            one = entries.popleft()
            self._acknowledge(process, one.size, one.is_awaited)

    def lost(self, process: int) -> None:
        """Stop acknowledging to a lost process, and receive its messages from others."""
        self._entries.pop(process, None)
        for landing in list(self._landings.values()):
            if landing.lost(process):
                self._complete(landing)
