"""The private folder of a run at a cluster: where ranks find their front-end and the secret.

Only the user can read it, the key in it is removed once all ranks have come, and the folder is
gone when the front-end is.
"""

from __future__ import annotations

import os
import socket

KEY = "key"
SOCKET = "front-end"
LONGEST_SOCKET_PATH = 100  # systems allow a little more; Linux 107 bytes


def write_key(room: str, address: str, secret: bytes) -> None:
    """Leave address and secret for the ranks; raises OSError."""
    descriptor = os.open(os.path.join(room, KEY), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{address}\n{secret.hex()}\n")


def read_key(room: str) -> tuple[str, bytes]:
    """Return address and secret; raises OSError."""
    with open(os.path.join(room, KEY), encoding="utf-8") as file:
        address, secret = file.read().splitlines()
    return address, bytes.fromhex(secret)


def remove_key(room: str) -> None:
    """Remove the key; nothing happens if it has gone."""
    try:
        os.unlink(os.path.join(room, KEY))
    except FileNotFoundError:
        return


def listen(room: str, port: int | None) -> tuple[socket.socket, str]:
    """Return a listening socket and its address: a path in the room, or a port for other hosts.

    `port` None means that all ranks are on this host; 0 takes any free port. Raises OSError.
    """
    path = os.path.join(room, SOCKET)
    if port is None and len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1024)
        return listener, f"unix:{path}"
    host = "127.0.0.1" if port is None else ""
    listener = socket.create_server((host, port or 0), backlog=1024)
    name = host or socket.gethostname()
    return listener, f"{name}:{listener.getsockname()[1]}"
