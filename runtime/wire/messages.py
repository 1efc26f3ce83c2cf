"""What the two ends of a message hold in their hands: `Outgoing` and `Incoming`."""

from __future__ import annotations

from typing import Any, Protocol


class Outgoing:
    """A message that is being sent.

    `done` says that the memory of its payload may be used again; with `error` it did not arrive.
    """

    __slots__ = ("done", "error")

    def __init__(self, *, done: bool = False, error: Exception | None = None) -> None:
        self.done = done
        self.error = error


SENT = Outgoing(done=True)
"""What `send` returns for each message that has left at once."""


class Incoming:
    """A message that arrives: from whom (`source`, an index), its `head`, the `size` of its payload.

    `done` says that it has been matched and its `payload` is complete. `owner` is for the receiver.
    """

    __slots__ = ("done", "head", "owner", "payload", "size", "source")

    def __init__(self, source: int, head: bytes, size: int) -> None:
        self.source = source
        self.head = head
        self.size = size
        self.payload: memoryview | bytes | None = None
        self.done = False
        self.owner: Any = None

    def give(self, buffer: memoryview) -> None:
        """Match it: its payload goes to `buffer`, writable bytes of exactly its size."""
        raise NotImplementedError

    def take(self) -> None:
        """Match it: its payload goes to memory that is made for it."""
        raise NotImplementedError


class Receiver(Protocol):
    """Who is told what arrives. What it raises leaves `progress`, so it should raise nothing."""

    def arrived(self, incoming: Incoming) -> None:
        """Know that a message is here or begins to come in; it may be matched now or later."""
        ...

    def completed(self, incoming: Incoming) -> None:
        """Know that the payload of a message is complete that was not when it was matched."""
        ...

    def lost(self, peer: int, why: Exception) -> None:
        """Know that nothing more will come from a peer, nor reach it."""
        ...
