"""Where a rank listens for ranks of other clusters: sockets that cost nothing until they are used.

What is behind them, `runtime.wire`, is loaded by programs that ask for the communicators.
"""

from __future__ import annotations

import _socket  # not `socket`: that also imports selectors, and a rank has no use for either
import os

from runtime.host_addresses import host_addresses
from runtime.membership.room import address_in
from runtime.transport.errors import TransportError
from runtime.transport.lean import socket_for
from runtime.transport.passage import PASSED, Passage

NOWHERE, ON_MACHINE, EVERYWHERE = "nowhere", "on this machine", "everywhere"
"""From where ranks of other clusters can be expected, as front-ends are told.

Behind the one port of a daemon it is a `Passage`, as text: everywhere, by that way.
"""

_BACKLOG = 512
_MACHINE = "/proc/sys/kernel/random/boot_id"
_NETWORK = "/proc/self/ns/net"


Found = tuple[str, tuple[str, ...]]
"""Which machine this is, and the addresses on it."""

NOT_FOUND: Found = ("", ())


def open_doors(room: str, name: str, reach: str) -> tuple[list[_socket.socket], Found]:
    """Return listening sockets where they make sense, and how others find them.

    `name` is that of the socket in the room. A rank that cannot listen has fewer addresses, or
    none: others say so when they need one.
    """
    doors: list[_socket.socket] = []
    addresses: list[str] = []
    wanted = [] if reach == NOWHERE else [address_in(room, name)]
    passage = Passage.parse(reach) if reach.startswith(PASSED) else None
    if passage is not None:
        wanted.append(passage.bind_address(name))
    elif reach == EVERYWHERE:
        wanted.append("0.0.0.0:0")
    for address in wanted:
        try:
            door, found = _listen(address)
        except (OSError, TransportError):
            continue
        doors.append(door)
        if passage is not None and address.startswith(PASSED):
            found = [passage.address(name)]
        addresses += found
    return doors, (this_machine() if doors else "", tuple(addresses))


def _listen(address: str) -> tuple[_socket.socket, list[str]]:
    door, where = socket_for(address)
    try:
        if door.family == _socket.AF_UNIX:
            if os.path.exists(where):
                os.unlink(where)  # of a rank that was here before
            os.fchmod(door.fileno(), 0o600)  # before it has a name
        door.bind(where)
        door.listen(_BACKLOG)
    except OSError:
        door.close()
        raise
    if door.family == _socket.AF_UNIX:
        return door, [address]
    host = address.rpartition(":")[0]
    names = [os.uname().nodename, *host_addresses()] if host == "0.0.0.0" else [host]
    return door, [f"{name}:{door.getsockname()[1]}" for name in names]


def this_machine() -> str:
    """Return what processes have in common that can reach each other by Unix sockets."""
    try:
        with open(_MACHINE, encoding="ascii") as file:
            return f"{file.read().strip()} {os.stat(_NETWORK).st_ino}"
    except OSError:
        return ""
