"""Count, compress or delay messages between sites: name one of these classes in the descriptor."""

import zlib
from collections import Counter

from runtime.machine.interceptors import MessageEnvelope

SENT: Counter[tuple[str, str]] = Counter()


class Count:
    looks_at = "envelopes"

    def sending(self, envelope: MessageEnvelope) -> None:
        SENT[envelope.source.split(":")[0], envelope.target.split(":")[0]] += envelope.size


class Compress:
    looks_at = "payloads"

    def sending(self, envelope: MessageEnvelope, payload: memoryview) -> bytes:
        return zlib.compress(payload)

    def received(self, envelope: MessageEnvelope, payload: memoryview) -> bytes:
        return zlib.decompress(payload)


class Delay:
    looks_at = "envelopes"

    def sending(self, envelope: MessageEnvelope) -> float:
        return 0.1  # seconds
