"""What ends and hub say to each other: the frames of guards, with an end and a connection in each.

The number of a frame holds which end is the other one, and which connection it is about. The hub
replaces the first of the two on the way: what an end addresses to another one comes from it there.
Both ends of a pair open connections, with even numbers the one that comes first and with odd ones
the other, so no two connections of a pair have the same number.
"""

from __future__ import annotations

from collections.abc import Iterator

OPEN, DATA, CREDIT, SHUT, RESET = b"O", b"D", b"C", b"S", b"R"
"""Open a connection; bytes; room for so many more; no more bytes; the connection has broken."""

GONE, PING = b"G", b"P"
"""From the hub: another end has gone; an end lives if it says the same again."""

FROM_OTHERS = "tunnelled"
"""The socket in the folder of a run at which a front-end takes what comes through tunnels."""

_CONNECTIONS = 1 << 20

WINDOW = 2 << 20
"""The bytes of a connection that may be under way: what a channel of OpenSSH holds."""

PIECE = 1 << 16
"""The most bytes of a frame."""

LEASE = 30.0
"""Seconds without a word after which an end takes the hub for lost."""


def socket_to(cluster: str) -> str:
    """Return the name of the socket there that leads to the front-end of another cluster."""
    return f"to-{cluster}"


def number_of(end: int, connection: int) -> int:
    """Return the number of a frame about a connection with another end.

    >>> end_and_connection(number_of(3, 7))
    (3, 7)
    """
    return end * _CONNECTIONS + connection


def end_and_connection(number: int) -> tuple[int, int]:
    """Return which end and which connection a frame is about."""
    return divmod(number, _CONNECTIONS)


def connections(me: int, other: int) -> Iterator[int]:
    """Yield the numbers of the connections that one end opens to another.

    >>> first, second = connections(0, 1), connections(1, 0)
    >>> next(first), next(first), next(second), next(second)
    (0, 2, 1, 3)
    """
    yield from range(int(me > other), _CONNECTIONS, 2)
