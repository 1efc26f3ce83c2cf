"""Where supernodes are, and where this process is itself."""

from __future__ import annotations

import socket
from collections.abc import Iterable

from runtime.peers.daemon.context import DaemonContext
from runtime.peers.model import Address

_ALL = ("", "0.0.0.0", "::")


def addresses_of(context: DaemonContext) -> list[Address]:
    """Return where supernodes are said to be: each address of each name.

    The configuration comes before the credential.
    """
    named = context.configuration.supernodes
    named = named or context.dialler.credential.header.supernodes
    return list(dict.fromkeys(one for name in named for one in _resolved(name)))


def _resolved(name: Address) -> list[Address]:
    try:
        found = socket.getaddrinfo(name.host, name.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []  # said where nobody is found
    return [Address(str(address[0]), name.port) for *_, address in found]


def own_addresses(context: DaemonContext, seen: Iterable[Address] = ()) -> tuple[Address, ...]:
    """Return where this process is: as it is configured, or as a supernode would be reached."""
    if configured := context.configuration.text("address"):
        return (Address.parse(configured, context.port),)
    listen = context.configuration.text("listen")
    if listen not in _ALL:
        return (Address(listen, context.port),)
    for other in [*addresses_of(context), *seen]:
        if host := source_address(other):
            return (Address(host, context.port),)
    return (Address(socket.getfqdn(), context.port),)


def listening_host(context: DaemonContext) -> str:
    """Return where this process is reached from this machine."""
    listen = context.configuration.text("listen")
    return "127.0.0.1" if listen in _ALL else listen


def source_address(other: Address) -> str:
    """Return the address from which this host would reach another one, "" where it has none."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            other.host, other.port, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)  # sends nothing
            return str(probe.getsockname()[0]).removeprefix("::ffff:")
    except (OSError, UnicodeError):
        return ""
