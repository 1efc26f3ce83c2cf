"""The run directory of a cluster: from it ranks learn the address of their front-end and their
keys.

Only the user can read it. The front-end removes the keys in it once all ranks have connected, and
the whole directory when it ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from runtime.rank_name import RankName
from runtime.transport.keys import Keyring, audience_of, member_name
from runtime.transport.passage import host_and_port
from runtime.transport.transports import UNIX

KEY = "key"
"""The file that all ranks read: the address of the front-end, and what the ranks share."""

TICKETS = "tickets"
"""The file from which each rank reads its own tickets."""

FOR_RANKS = ("front-end ", "ranks ")
"""Prefixes of the audiences to which ranks may send."""

_TICKET = 32  # bytes
LONGEST_SOCKET_PATH = 100  # systems allow a little more; Linux 107 bytes


def address_in(directory: str, name: str, port: int | None = None) -> str:
    """Return an address to bind: a socket in the directory, or a port for other hosts too."""
    path = os.path.join(directory, name)
    if port is not None:
        return f"0.0.0.0:{port}"
    return UNIX + path if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH else "127.0.0.1:0"


def as_others_see(address: str) -> str:
    """Return the address that other hosts dial, for one that this host has bound."""
    host, port = host_and_port(address)
    if host != "0.0.0.0":
        return address
    import socket  # only where there are other hosts: ranks import this module

    return f"{socket.gethostname()}:{port}"


class Bootstrap:
    """Bootstrap information of a rank: the address of its front-end, and its own keys.

    `transports` are those at which it listens for other ranks, `incarnation` counts its starts. The
    front-end may take `patience` seconds to answer: it starts many ranks at once.
    """

    __slots__ = ("address", "certificate", "incarnation", "keys", "patience", "transports")

    def __init__(
        self,
        address: str,
        transports: tuple[str, ...],
        incarnation: int,
        keys: Keyring,
        certificate: bytes = b"",
        *,
        patience: float = 60.0,
    ) -> None:
        self.address = address
        self.transports = transports
        self.incarnation = incarnation
        self.keys = keys
        self.certificate = certificate
        self.patience = patience


def write_key(
    directory: str, ranks: Iterable[str], bootstrap: Bootstrap, *, alone: str = ""
) -> None:
    """Write the bootstrap information of ranks, with keys made of their front-end's; raises
    GridError.

    The files of a rank that is started again `alone` are beside those of the others.
    """
    audience, tickets, others = "", [], list[str]()
    for rank in ranks:
        audience = audience_of(rank)
        name = member_name(rank, bootstrap.incarnation)
        own = bootstrap.keys.of(name, (audience,), FOR_RANKS).tickets
        others = list(own)
        tickets.append(b"".join(own.values()))
    checked = bootstrap.keys.checks[audience].hex() if audience else ""
    lines = [
        bootstrap.address, "\t".join(bootstrap.transports), str(bootstrap.incarnation),
        str(bootstrap.patience), bootstrap.certificate.hex(), checked, *others,
    ]  # fmt: skip
    suffix = _suffix(alone)
    path = os.path.join(directory, KEY)
    try:
        for name, data in ((TICKETS, b"".join(tickets)), (KEY, "\n".join(lines).encode())):
            path = os.path.join(directory, name + suffix)
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


def read_key(directory: str, rank: str, *, is_alone: bool = False) -> Bootstrap:
    """Return the bootstrap information that `write_key` wrote for a rank; raises OSError."""
    suffix = _suffix(rank if is_alone else "")
    with open(os.path.join(directory, KEY + suffix), encoding="utf-8") as file:
        lines = file.read().split("\n")
    address, named, incarnation, patience, certificate, checked, *others = lines
    size = _TICKET * len(others)
    place = 0 if is_alone else RankName.parse(rank).rank
    with open(os.path.join(directory, TICKETS + suffix), "rb", 0) as file:
        data = os.pread(file.fileno(), size, size * place)
    tickets = {one: data[_TICKET * n : _TICKET * (n + 1)] for n, one in enumerate(others)}
    keys = Keyring({audience_of(rank): bytes.fromhex(checked)}, None, tickets)
    proof = bytes.fromhex(certificate)
    transports = tuple(filter(None, named.split("\t")))
    return Bootstrap(address, transports, int(incarnation), keys, proof, patience=float(patience))


def crash_file(directory: str, rank: int) -> str:
    """Return where a rank leaves in which line of the program it crashed."""
    return os.path.join(directory, f"{rank}.crash")


def remove_key(directory: str, *, alone: str = "") -> None:
    """Remove what `write_key` left; nothing happens if it has gone."""
    for name in (KEY, TICKETS):
        try:
            os.unlink(os.path.join(directory, name + _suffix(alone)))
        except FileNotFoundError:
            continue


def _suffix(alone: str) -> str:
    return f".{RankName.parse(alone).rank}" if alone else ""
