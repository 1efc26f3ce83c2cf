"""Messages of Pyro5's wire protocol, cut out of a stream and written. A machine without IO.

Every connection of a run begins in this protocol, so ordinary Pyro5 clients and members of the run
meet at one port. Nothing of Pyro5 itself is imported: members need it only once they serve Pyro5
clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from runtime.transport.errors import FrameError
from runtime.transport.frames import Part

MARK = b"PYRO"
VERSION = 502
HEADER = Struct("!4sHBBHHII16sHH")  # see `PyroMessage`; lengths of payload and annotations
END_MARK = 0x4DC5
CHUNK = Struct("!4sI")  # name and length of an annotation
NO_CORRELATION = bytes(16)

CONNECT, CONNECTED, REFUSED, INVOKE, RESULT, PING = range(1, 7)
SERPENT, MARSHAL, JSON, MSGPACK = range(1, 5)

_LONGEST_WHY = 1000

EXCEPTION, COMPRESSED, ONEWAY, BATCH = 1, 2, 4, 8


class PyroMessage:
    """One message: what kind, in which serializer, its annotations and its payload."""

    __slots__ = ("annotations", "flags", "kind", "payload", "sequence", "serializer")

    def __init__(
        self,
        kind: int,
        payload: Part = b"",
        annotations: Mapping[str, Part] | None = None,
        *,
        flags: int = 0,
        sequence: int = 0,
        serializer: int = JSON,
    ) -> None:
        self.kind = kind
        self.payload = payload
        self.annotations = dict(annotations or {})
        self.flags = flags
        self.sequence = sequence
        self.serializer = serializer

    def parts(self) -> list[Part]:
        """Return the bytes to send; payload and annotations are not copied."""
        found: list[Part] = [b""]
        for name, data in self.annotations.items():
            found += [CHUNK.pack(name.encode(), len(data)), data]
        found[0] = HEADER.pack(
            MARK,
            VERSION,
            self.kind,
            self.serializer,
            self.flags,
            self.sequence,
            len(self.payload),
            sum(len(part) for part in found),
            NO_CORRELATION,
            0,
            END_MARK,
        )
        return [*found, self.payload]

    def joined(self) -> bytes:
        """Return the bytes to send as one piece: for small messages."""
        return b"".join(self.parts())


def refusal(asked: PyroMessage, why: str) -> PyroMessage:
    """Return the answer to a client that may not connect, in the serializer that it speaks."""
    text = why.encode("ascii", "replace").replace(b"\\", b"/").replace(b'"', b"'")[:_LONGEST_WHY]
    payload = b'"' + text + b'"'  # the same in serpent and JSON
    if asked.serializer == MSGPACK:
        payload = b"\xda" + len(text).to_bytes(2, "big") + text
    return PyroMessage(
        REFUSED, payload, sequence=asked.sequence, serializer=asked.serializer, flags=EXCEPTION
    )


class MessageReader:
    """Takes messages off what is received, one at a time: what follows one may be no message.

    >>> reader = MessageReader(1000)
    >>> reader.feed(PyroMessage(PING, b"hello").joined() + b"other")
    >>> message = reader.take()
    >>> message.kind == PING, bytes(message.payload), reader.rest
    (True, b'hello', b'other')
    """

    def __init__(self, most_bytes: int | Mapping[int, int]) -> None:
        self.most_bytes = most_bytes
        """How large the next message may be, if that depends on it by its serializer."""
        self._buffer = bytearray()

    @property
    def rest(self) -> bytes:
        """What was received and not taken."""
        return bytes(self._buffer)

    def __len__(self) -> int:
        """Return how many bytes were received and not taken."""
        return len(self._buffer)

    def feed(self, data: Part) -> None:
        """Take note of what was received."""
        self._buffer += data

    def take(self) -> PyroMessage | None:
        """Return the next message, or None as long as it is not complete.

        Raises:
            FrameError: the bytes are no message, or one beyond the limit.
        """
        buffer = self._buffer
        known = min(len(buffer), len(MARK))
        if buffer[:known] != MARK[:known]:
            raise FrameError("what was received is not a message of Pyro5")
        if len(buffer) < HEADER.size:
            return None
        fields = HEADER.unpack_from(buffer)
        _, version, kind, serializer, flags, sequence, payload, annotations, _, _, mark = fields
        if version != VERSION or mark != END_MARK:
            raise FrameError(
                f"a message of version {version} of Pyro5's protocol; {VERSION} is spoken here",
                cure="Use Pyro5 at the other end",
            )
        most = self.most_bytes
        most = most if isinstance(most, int) else most.get(serializer, 0)
        if payload + annotations > most:
            raise FrameError(
                f"a message says it has {payload + annotations} bytes; at most {most} are allowed"
            )
        middle = HEADER.size + annotations
        end = middle + payload
        if len(buffer) < end:
            return None
        found = _annotations(bytes(buffer[HEADER.size : middle]))
        taken = PyroMessage(
            kind,
            bytes(buffer[middle:end]),
            found,
            flags=flags,
            sequence=sequence,
            serializer=serializer,
        )
        del buffer[:end]
        return taken


def _annotations(data: bytes) -> dict[str, Part]:
    found: dict[str, Part] = {}
    place = 0
    while place < len(data):
        if len(data) - place < CHUNK.size:
            raise FrameError("the annotations of a message are cut off")
        name, size = CHUNK.unpack_from(data, place)
        place += CHUNK.size
        if len(data) - place < size:
            raise FrameError("the annotations of a message are cut off")
        found[name.decode("ascii", "replace")] = data[place : place + size]
        place += size
    return found
