"""The messages between a launcher and its guard: kind, command number, length, payload.

Needs nothing but the built-ins: it travels to hosts where this package is not installed.
"""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; importing `typing` would take longer than the rest
if TYPE_CHECKING:
    from collections.abc import Iterator

PROTOCOL = 1
HEADER = 9  # one byte of kind, four of command number, four of length
CHUNK = 65536
WINDOW = 1 << 20  # bytes a command may leave unread before its writer has to wait
MOST = 1 << 25  # bytes of a message of a guard: those that tell what a folder holds are the longest

# From the launcher.
START, DATA, CLOSE, SIGNAL, MAKE_ROOM, DROP_ROOM, SEAL, PING, REPEAT, END = (
    b"S", b"D", b"C", b"K", b"R", b"U", b"L", b"P", b"E", b"Q",
)  # fmt: skip
# To the launcher.
HELLO, STARTED, FAILED, OUTPUT, ERROR, CREDIT, EXITED, ROOM, SEALED = (
    b"h", b"s", b"f", b"o", b"e", b"a", b"x", b"r", b"l",
)  # fmt: skip
# Whom a signal reaches: the process, its process group, or everything that descends from it.
PROCESS, GROUP, TREE = b"p", b"g", b"t"


def frame(kind: bytes, number: int, payload: bytes = b"") -> bytes:
    """Return one message: kind, command number, length, payload."""
    return kind + number.to_bytes(4, "big") + len(payload).to_bytes(4, "big") + payload


def frames(buffer: bytearray, most: int = MOST) -> Iterator[tuple[bytes, int, bytes]]:
    """Take every complete message out of `buffer`, which keeps what is left.

    Raises ValueError as soon as a message is announced with more than `most` bytes.
    """
    start = 0
    while len(buffer) - start >= HEADER:
        body = start + HEADER
        size = int.from_bytes(buffer[start + 5 : body], "big")
        if size > most:
            raise ValueError(f"a message of {size:,} bytes was announced, of at most {most:,}")
        end = body + size
        if len(buffer) < end:
            break
        number = int.from_bytes(buffer[start + 1 : start + 5], "big")
        yield bytes(buffer[start : start + 1]), number, bytes(buffer[body:end])
        start = end
    del buffer[:start]
