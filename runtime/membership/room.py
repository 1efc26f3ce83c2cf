"""The private folder of a run at a cluster: where ranks find their front-end and their keys.

Only the user can read it, the keys in it are removed once all ranks have come, and the folder is
gone when the front-end is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from runtime.transport.keys import Keyring, audience_of, member_name

KEY = "key"
"""The file that all ranks read: where the front-end is, and what they have in common."""

TICKETS = "tickets"
"""The file of which each rank reads its own piece."""

FOR_RANKS = ("front-end ", "ranks ")
"""How the audiences begin to which ranks have something to say."""

_TICKET = 32  # bytes
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


class Entrance:
    """What a rank is told before it knows anybody: where its front-end is, and its own keys.

    `reach` says from where others reach the rank, `incarnation` how often it was started.
    """

    __slots__ = ("address", "certificate", "incarnation", "keys", "reach")

    def __init__(
        self,
        address: str,
        reach: str,
        incarnation: int,
        keys: Keyring,
        certificate: bytes = b"",
    ) -> None:
        self.address = address
        self.reach = reach
        self.incarnation = incarnation
        self.keys = keys
        self.certificate = certificate


def write_key(room: str, ranks: Iterable[str], entrance: Entrance, *, alone: str = "") -> None:
    """Leave for ranks what they need, made of the keys of their front-end; raises GridError.

    What a rank needs that is started again `alone` is beside that of the others.
    """
    audience, tickets, others = "", [], list[str]()
    for rank in ranks:
        audience = audience_of(rank)
        name = member_name(rank, entrance.incarnation)
        own = entrance.keys.of(name, (audience,), FOR_RANKS).tickets
        others = list(own)
        tickets.append(b"".join(own.values()))
    checked = entrance.keys.checks[audience].hex() if audience else ""
    told = [
        entrance.address, entrance.reach, str(entrance.incarnation), entrance.certificate.hex(),
        checked, *others,
    ]  # fmt: skip
    suffix = _suffix(alone)
    path = os.path.join(room, KEY)
    try:
        for name, data in ((TICKETS, b"".join(tickets)), (KEY, "\n".join(told).encode())):
            path = os.path.join(room, name + suffix)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
    except OSError as fault:
        from runtime.errors import GridError  # ranks import this module, and write nothing

        raise GridError(
            f"ranks cannot be told where to report: {fault.strerror}",
            place=path,
            cure="Name another folder for temporary files in TMPDIR, with rights and space",
        ) from fault


def read_key(room: str, rank: str, *, is_alone: bool = False) -> Entrance:
    """Return what `write_key` left for a rank, which may be started again alone; raises OSError."""
    suffix = _suffix(rank if is_alone else "")
    with open(os.path.join(room, KEY + suffix), encoding="utf-8") as file:
        address, reach, incarnation, certificate, checked, *others = file.read().split("\n")
    size = _TICKET * len(others)
    place = 0 if is_alone else int(rank.rpartition(":")[2])
    with open(os.path.join(room, TICKETS + suffix), "rb", 0) as file:
        data = os.pread(file.fileno(), size, size * place)
    tickets = {one: data[_TICKET * n : _TICKET * (n + 1)] for n, one in enumerate(others)}
    keys = Keyring({audience_of(rank): bytes.fromhex(checked)}, None, tickets)
    return Entrance(address, reach, int(incarnation), keys, bytes.fromhex(certificate))


def crash_file(room: str, rank: int) -> str:
    """Return where a rank leaves in which line of the program it crashed."""
    return os.path.join(room, f"{rank}.crash")


def remove_key(room: str, *, alone: str = "") -> None:
    """Remove what `write_key` left; nothing happens if it has gone."""
    for name in (KEY, TICKETS):
        try:
            os.unlink(os.path.join(room, name + _suffix(alone)))
        except FileNotFoundError:
            continue


def _suffix(alone: str) -> str:
    return f".{alone.rpartition(':')[2]}" if alone else ""
