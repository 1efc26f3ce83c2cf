"""The private folder of a run at a cluster: where ranks find their front-end and the secrets.

Only the user can read it, the key in it is removed once all ranks have come, and the folder is
gone when the front-end is.
"""

from __future__ import annotations

import os

KEY = "key"
UNIX = "unix:"
LONGEST_SOCKET_PATH = 100  # systems allow a little more; Linux 107 bytes


def address_in(room: str, name: str, port: int | None = None) -> str:
    """Return an address to listen at: a socket in the room, or a port for other hosts too."""
    path = os.path.join(room, name)
    if port is not None:
        return f"0.0.0.0:{port}"
    return UNIX + path if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH else "127.0.0.1:0"


def as_others_see(address: str) -> str:
    """Return how other hosts reach an address at which this one listens."""
    host, _, port = address.rpartition(":")
    if host != "0.0.0.0":
        return address
    import socket  # only where there are other hosts: ranks import this module

    return f"{socket.gethostname()}:{port}"


def write_key(room: str, address: str, secret: bytes, reach: str, certificate: bytes = b"") -> None:
    """Leave for the ranks address, secrets, and from where others reach them; raises GridError."""
    path = os.path.join(room, KEY)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{address}\n{secret.hex()}\n{reach}\n{certificate.hex()}\n")
    except OSError as fault:
        from runtime.errors import GridError  # ranks import this module, and write nothing

        raise GridError(
            f"ranks cannot be told where to report: {fault.strerror}",
            place=path,
            cure="Name another folder for temporary files in TMPDIR, with rights and space",
        ) from fault


def read_key(room: str) -> tuple[str, bytes, str, bytes]:
    """Return what `write_key` left; raises OSError."""
    with open(os.path.join(room, KEY), encoding="utf-8") as file:
        address, secret, reach, certificate = file.read().splitlines()
    return address, bytes.fromhex(secret), reach, bytes.fromhex(certificate)


def crash_file(room: str, rank: int) -> str:
    """Return where a rank leaves in which line of the program it crashed."""
    return os.path.join(room, f"{rank}.crash")


def remove_key(room: str) -> None:
    """Remove the key; nothing happens if it has gone."""
    try:
        os.unlink(os.path.join(room, KEY))
    except FileNotFoundError:
        return
