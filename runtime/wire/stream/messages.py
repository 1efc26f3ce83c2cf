"""What the two ends of a message hold in their hands: `Outgoing` and `Incoming`."""

from __future__ import annotations

from typing import Any, Protocol


class Outgoing:
    """A message that is being sent.

    `done` says that the memory of its payload may be used again; with `error` it did not arrive.
    """

    __slots__ = ("done", "error")

    def __init__(self, *, done: bool = False) -> None:
        self.done = done
        self.error: Exception | None = None


SENT = Outgoing(done=True)
"""What `send` returns for each message whose payload is not needed any more."""


class Origin(Protocol):
    """Where an incoming message comes from, and to where it tells that it was matched."""

    def matched(self, incoming: Incoming) -> None:
        """Record that somebody takes the message."""


class Incoming:
    """A message that arrives.

    It has a `source`, an index, a `head`, and a payload of `size` bytes. `done` says that it has
    been matched and its `payload` is complete. `owner` is for the receiver.
    """

    __slots__ = (
        "_origin",
        "asks",
        "came",
        "done",
        "head",
        "is_lent",
        "number",
        "owner",
        "payload",
        "ranges",
        "reach",
        "size",
        "source",
    )  # fmt: skip

    def __init__(
        self,
        source: int,
        head: bytes,
        size: int,
        number: int,
        origin: Origin,
        *,
        asks: bool,
        lent: memoryview | None = None,
    ) -> None:
        self.source = source
        self.head = head
        self.size = size
        self.number = number
        self.asks = asks
        """Whether the sender waits to be told that it was matched."""
        self.payload = lent
        self.is_lent = lent is not None
        """Whether the payload lies where it cannot stay, which ends when `arrived` returns."""
        self.came = 0 if lent is None else size
        """How many bytes of the payload are here."""
        self.reach: int
        """Before which byte they lie; one that is not complete at once has it."""
        self.ranges: list[int]
        """The bytes that were announced, as `runtime.wire.stream.byte_ranges` has them."""
        self.done = False
        self.owner: Any = None
        self._origin: Origin | None = origin

    @property
    def is_matched(self) -> bool:
        """Whether somebody takes it."""
        return self._origin is None

    def give(self, buffer: memoryview) -> None:
        """Match it: its payload goes to `buffer`, writable bytes of exactly its size.

        Raises:
            ValueError: the buffer has another size, or the message has been matched before.
        """
        if len(buffer) != self.size:
            raise ValueError(f"the buffer has {len(buffer)} bytes, the payload {self.size}")
        origin = self._origin
        if origin is None:
            raise ValueError("the message has been matched before")
        self._origin = None
        came = self.came
        if came == self.size:
            self.done = True
            buffer[:] = self.payload or b""
        elif came and self.payload is not None:
            buffer[: self.reach] = self.payload[: self.reach]
        self.payload = buffer
        origin.matched(self)

    def take(self) -> None:
        """Match it: its payload goes to memory that is made for it.

        Raises:
            ValueError: the message has been matched before.
        """
        origin = self._origin
        if origin is None:
            raise ValueError("the message has been matched before")
        self._origin = None
        if self.is_lent:
            self.keep()
        self.done = self.came == self.size
        origin.matched(self)

    def keep(self) -> None:
        """Let the payload have memory of its own."""
        assert self.payload is not None
        self.payload = memoryview(bytearray(self.payload))
        self.is_lent = False


class MessageSink(Protocol):
    """Who is told what arrives. What it raises leaves `progress`, so it should raise nothing."""

    def arrived(self, incoming: Incoming) -> None:
        """Record that a message is here or begins to come in; it may be matched now or later."""

    def completed(self, incoming: Incoming) -> None:
        """Record that the payload of a message is complete that was not when it was matched."""

    def lost(self, peer: int, why: Exception) -> None:
        """Record that nothing more will come from a peer, nor reach it."""
