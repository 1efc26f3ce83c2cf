"""The addresses of this host, by which others may reach it where they do not know its name.

Which of them leads to it from elsewhere nobody here can know: who connects tries one after the
other. Bridges to containers and virtual machines lead to nobody else. Imports little: ranks need it
when they start.
"""

from __future__ import annotations

import _socket  # not `socket`: that also imports selectors, and a rank has no use for either
import fcntl
import struct

TYPE_CHECKING = False  # known to type checkers; importing `typing` would delay every rank
if TYPE_CHECKING:
    from collections.abc import Iterable

VIRTUAL = (
    "docker", "virbr", "br-", "lxc", "lxd", "cni", "podman", "flannel", "vmnet", "vboxnet", "veth",
)  # fmt: skip
"""How the names of interfaces begin behind which there are containers or virtual machines."""

MOST = 3
"""So many addresses of a host are told at most: every rank hears of those of all others."""

_GET_ADDRESS = 0x8915  # SIOCGIFADDR of Linux
_ADDRESS = slice(20, 24)


def host_addresses() -> list[str]:
    """Return the IPv4 addresses of this host by which others may reach it; the first few."""
    found = []
    with _Socket() as asking:
        for _, name in _socket.if_nameindex():
            try:
                told = fcntl.ioctl(
                    asking.fileno(), _GET_ADDRESS, struct.pack("256s", name.encode())
                )
            except OSError:  # it has none
                continue
            found.append((name, _socket.inet_ntoa(told[_ADDRESS])))
    return outwards(found)


def outwards(interfaces: Iterable[tuple[str, str]]) -> list[str]:
    """Return the addresses of interfaces that may lead to other hosts.

    >>> outwards([("lo", "127.0.0.1"), ("docker0", "172.17.0.1"), ("ib0", "10.1.0.7")])
    ['10.1.0.7']
    """
    return [
        address
        for name, address in interfaces
        if not name.startswith(VIRTUAL) and not address.startswith("127.")
    ][:MOST]


class _Socket:
    """A socket to ask the system with."""

    def __enter__(self) -> _socket.socket:
        self._made = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        return self._made

    def __exit__(self, *_: object) -> None:
        self._made.close()
