"""Connections that another process accepts for this one: ranks behind the one port of a daemon.

A firewall leaves a peer one port, that of its daemon. Whoever dials a process behind it says first
for whom the connection is: the token of a launch, which only its members know, and a name. The
daemon reads nothing else. It hands the socket itself over, through a socket in a folder of its own,
so from then on the bytes go directly from kernel to kernel, as if the process had accepted it. Both
ends authenticate each other afterwards, as on every connection.

    passage = Passage("/home/ana/.gcm/peer/doors/x", "lab7:7701/0123...")
    listener = ... bind(passage.bind_address("rank3"))         # the process
    dial(passage.address("rank3"), ...)                # the others

Imports little: ranks need it when they start.
"""

from __future__ import annotations

import _socket  # not `socket`: that also imports selectors, and a rank has no use for either
import os
import sys

TYPE_CHECKING = False  # known to type checkers; ranks do not import `typing` for this
if TYPE_CHECKING:
    import socket
    from typing import Any

PASSED = "passed:"
"""Before the path of a socket through which connections are handed over."""

TOKEN, NAME = 32, 16
"""The bytes of a token, hexadecimal digits, and of the name behind it, filled with spaces.

No TLS message begins with such a digit.
"""

FORWARDER = "forwarder"
"""The name of a front-end that forwards."""

_DESCRIPTOR = 4
_WAIT = 1.0  # seconds for a descriptor that is sent at once behind the connection


class Passage:
    """The way to the processes of one launch: where they listen, and where others dial."""

    def __init__(self, folder: str, way: str) -> None:
        self._folder = folder
        self._way = way

    @classmethod
    def parse(cls, text: str) -> Passage:
        """Read what `str` wrote.

        >>> str(Passage.parse("passed:lab7:7701/abc /tmp/x"))
        'passed:lab7:7701/abc /tmp/x'
        """
        way, _, folder = text.removeprefix(PASSED).partition(" ")
        return cls(folder, way)

    def __str__(self) -> str:
        """Return it as text."""
        return f"{PASSED}{self._way} {self._folder}"

    def bind_address(self, name: str) -> str:
        """Return the address that a process binds."""
        return f"{PASSED}{self._folder}/{name}"

    def address(self, name: str) -> str:
        """Return the address that others dial."""
        return f"{self._way}/{name}"


def host_and_port(address: str) -> tuple[str, str]:
    """Return the host and the port of an address; without a port they are no numbers.

    >>> host_and_port("lab7:7701/abc/rank3"), host_and_port("[::1]:4711")
    (('lab7', '7701'), ('[::1]', '4711'))
    """
    host, _, port = host_port(address).rpartition(":")
    return host, port


def path_in(address: str) -> str:
    """Return the path of a socket in an address that has a prefix.

    >>> path_in("unix:/tmp/run/rank3")
    '/tmp/run/rank3'
    """
    return address.partition(":")[2]


def host_port(address: str) -> str:
    """Return the part of an address that the system dials.

    >>> host_port("lab7:7701/abc/rank3"), host_port("lab7:4711")
    ('lab7:7701', 'lab7:4711')
    """
    return address.partition("/")[0]


def announcement(token: str, name: str) -> bytes:
    """Return what is said first.

    >>> announcement("0" * 32, "rank3")[30:]
    b'00rank3           '
    """
    return token.encode() + name.encode().ljust(NAME)


def accepted(listener: socket.socket) -> tuple[socket.socket, Any]:
    """Accept a connection, or take over one that was accepted elsewhere; raises OSError.

    As `accept` does, it returns where the connection comes from.
    """
    made, where = listener.accept()
    if made.type != _socket.SOCK_SEQPACKET:
        return made, where
    with made:
        made.settimeout(_WAIT)
        try:
            _, beside, _, _ = made.recvmsg(1, _socket.CMSG_LEN(_DESCRIPTOR))
        except TimeoutError:  # not OSError of another kind: that stands for a lack of descriptors
            raise ConnectionError("no connection was handed over in time") from None
    for level, kind, data in beside:
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
            descriptor = int.from_bytes(data[:_DESCRIPTOR], sys.byteorder)
            os.set_inheritable(descriptor, False)
            taken = type(listener)(fileno=descriptor)
            try:
                return taken, taken.getpeername()
            except OSError:  # it has hung up already
                taken.close()
                raise ConnectionError("the connection has ended") from None
    raise ConnectionError("no connection was handed over")
