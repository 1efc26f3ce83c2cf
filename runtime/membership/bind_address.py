"""The addresses that a rank binds and advertises to ranks of other clusters.

Its listeners cost nothing until they are used; `runtime.wire`, which accepts at them, is loaded by
programs that ask for the communicators.
"""

from __future__ import annotations

import _socket  # not `socket`: that also imports selectors, and a rank has no use for either
import os

from runtime.host_addresses import host_addresses
from runtime.membership.run_directory import address_in
from runtime.transport.errors import TransportError
from runtime.transport.lean import socket_for
from runtime.transport.passage import PASSED, Passage

NOWHERE, ON_MACHINE, EVERYWHERE = "nowhere", "on this machine", "everywhere"
"""The reach of a rank: the hosts from which ranks of other clusters may connect.

Behind the one port of a daemon it is a `Passage`, as text: every host, through that port.
"""

_BACKLOG = 512
_MACHINE = "/proc/sys/kernel/random/boot_id"
_NETWORK = "/proc/self/ns/net"


AdvertisedAddresses = tuple[str, tuple[str, ...]]
"""The machine of a rank, and the addresses on it that others dial."""

NOT_ADVERTISED: AdvertisedAddresses = ("", ())


def open_listeners(
    run_directory: str, name: str, reach: str
) -> tuple[list[_socket.socket], AdvertisedAddresses]:
    """Bind listeners as `reach` asks; return them with the addresses to advertise.

    `name` is that of the socket in the run directory. A rank that cannot listen has fewer
    addresses, or none; ranks that need one report that.
    """
    listeners: list[_socket.socket] = []
    addresses: list[str] = []
    wanted = [] if reach == NOWHERE else [address_in(run_directory, name)]
    passage = Passage.parse(reach) if reach.startswith(PASSED) else None
    if passage is not None:
        wanted.append(passage.bind_address(name))
    elif reach == EVERYWHERE:
        wanted.append("0.0.0.0:0")
    for address in wanted:
        try:
            listener, found = _listen(address)
        except (OSError, TransportError):
            continue
        listeners.append(listener)
        if passage is not None and address.startswith(PASSED):
            found = [passage.address(name)]
        addresses += found
    return listeners, (this_machine() if listeners else "", tuple(addresses))


def _listen(address: str) -> tuple[_socket.socket, list[str]]:
    listener, where = socket_for(address)
    try:
        if listener.family == _socket.AF_UNIX:
            if os.path.exists(where):
                os.unlink(where)  # of a rank that was here before
            os.fchmod(listener.fileno(), 0o600)  # before it has a name
        listener.bind(where)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    if listener.family == _socket.AF_UNIX:
        return listener, [address]
    host = address.rpartition(":")[0]
    names = [os.uname().nodename, *host_addresses()] if host == "0.0.0.0" else [host]
    return listener, [f"{name}:{listener.getsockname()[1]}" for name in names]


def this_machine() -> str:
    """Return what processes have in common that can reach each other by Unix sockets."""
    try:
        with open(_MACHINE, encoding="ascii") as file:
            return f"{file.read().strip()} {os.stat(_NETWORK).st_ino}"
    except OSError:
        return ""
