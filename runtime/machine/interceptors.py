"""The contract of interceptors: what stands in the port by which a rank sends and receives.

An interceptor is a class without arguments that a descriptor names with `<interceptor>`. It says
with `looks_at` what it gets. One that looks at envelopes sees each message without its payload:

    class Count:
        looks_at = "envelopes"

        def sending(self, envelope):          # at the sender; either may be left out
            ...  # return None to send it, seconds to send it so much later, DROP to drop it

        def received(self, envelope):         # at the receiver, in the order of the messages
            ...

One that looks at payloads changes what travels. It has both, and the receiver gets back what was
sent. That costs a copy at either end:

    class Compress:
        looks_at = "payloads"

        def sending(self, envelope, payload):
            return zlib.compress(payload)

        def received(self, envelope, payload):
            return zlib.decompress(payload)

They are called by the thread that moves messages and have to be quick. Each rank has one object of
each class.
"""

from __future__ import annotations

from typing import Any, Protocol

ENVELOPES, PAYLOADS = "envelopes", "payloads"


class _Drop:
    __slots__ = ()

    def __repr__(self) -> str:
        return "DROP"


DROP = _Drop()
"""What `sending` returns for a message that is not to be sent; its sender does not learn of it."""


class MessageEnvelope:
    """What is written on a message.

    `source` and `target` are ranks, `0:1:2` for rank 2 of cluster 1 of site 0. `size` counts the
    bytes of the payload, `tag` is the program's, and `is_collective` says that the message is part
    of a collective operation, where the tag means nothing.
    """

    __slots__ = ("is_collective", "size", "source", "tag", "target")

    def __init__(self, source: str, target: str, size: int, tag: int, is_collective: bool) -> None:
        self.source, self.target, self.size = source, target, size
        self.tag, self.is_collective = tag, is_collective

    def __repr__(self) -> str:
        what = "a collective" if self.is_collective else f"tag {self.tag}"
        return f"<{self.size} bytes from {self.source} to {self.target}, {what}>"


class EnvelopeInterceptor(Protocol):
    """What looks at envelopes; it has one method of these, or both."""

    looks_at: str

    def sending(self, envelope: MessageEnvelope) -> float | _Drop | None:
        """See a message before it is sent; return after how many seconds, or DROP."""

    def received(self, envelope: MessageEnvelope) -> None:
        """See a message before it is matched."""


class PayloadInterceptor(Protocol):
    """What looks at payloads."""

    looks_at: str

    def sending(self, envelope: MessageEnvelope, payload: memoryview) -> Any:
        """Return the bytes that travel instead of the payload."""

    def received(self, envelope: MessageEnvelope, payload: memoryview) -> Any:
        """Return the payload of the bytes that have travelled."""
