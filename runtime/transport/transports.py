"""The table of transports: how sockets listen and connect, what addresses say, what is tuned.

An address begins with the name of its transport, as `unix:/a/path` does; one of TCP has none, and
is `host:port`, perhaps with who is behind it: `unix:4711` is a port of a host of that name. A row
of the table is of this package, or was put there by `use`: a class that the user's own descriptor
names. Addresses come from peers too, so they are looked up and never make anything be imported.

Whatever carries the bytes, both ends prove who they are above it. Imports little: ranks need it.
"""

from __future__ import annotations

import _socket  # not `socket`: that also imports selectors, and a rank has no use for either
import errno
import os

from runtime.transport.errors import Unreachable
from runtime.transport.passage import NAME, PASSED, TOKEN, announcement, host_and_port

TYPE_CHECKING = False  # known to type checkers; ranks do not import `typing` for this
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from runtime.transport.transport import Transport

UNIX, SSH = "unix:", "ssh:"
"""Before the path of a socket: of a process, or of the end of a tunnel through `ssh`."""

_BACKLOG = 512
SMALL_SEGMENT = 536
"""Bytes of a packet that every network passes on."""

_UNSENT = 256 << 10  # bytes in the system that have not left, beyond which it takes no more
_BUFFER = 1 << 20  # bytes that a local connection keeps on their way, if the system lets it
_EVERY_HOST = "0.0.0.0"
_THIS_HOST = "127.0.0.1"


class _UnixSockets:
    """Sockets in the file system, of the user alone unless they are not `is_private`."""

    is_on_host = True

    def __init__(self, kind: int = _socket.SOCK_STREAM, *, is_private: bool = True) -> None:
        self._kind, self._is_private = kind, is_private

    def listen(self, where: str, /) -> tuple[_socket.socket, str]:
        listener = _socket.socket(_socket.AF_UNIX, self._kind)
        if self._is_private:
            os.fchmod(listener.fileno(), 0o600)  # before it has a name
        return _bound(listener, where), where

    def connecting(self, address: str, /) -> tuple[_socket.socket, Any]:
        return _socket.socket(_socket.AF_UNIX, self._kind), address


class _TcpSockets:
    """Ports of hosts."""

    is_on_host = False

    def listen(self, where: str, /) -> tuple[_socket.socket, str]:
        listener, bound = self.connecting(where)
        listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        port = _bound(listener, bound).getsockname()[1]
        return listener, f"{host_and_port(where)[0]}:{port}"

    def connecting(self, address: str, /) -> tuple[_socket.socket, Any]:
        host, port = host_and_port(address)
        if not port.isdecimal():
            raise Unreachable(
                "this is not an address", place=address, cure="Write host:port, or unix:path"
            )
        try:
            found = _socket.getaddrinfo(host.strip("[]"), int(port), type=_socket.SOCK_STREAM)
        except OSError as error:
            raise Unreachable(
                f"the name of the host is not known: {error}", place=address
            ) from error
        family, kind, protocol, _, where = found[0]
        made = _socket.socket(family, kind, protocol)
        send_at_once(made)
        return made, where


class _Named:
    """A class of the user; what it raises becomes an error that names it."""

    def __init__(self, name: str, made: Transport) -> None:
        self._name, self._made = name, made
        self.is_on_host = bool(made.is_on_host)

    def listen(self, where: str, /) -> tuple[_socket.socket, str]:
        made, found = self._call(self._made.listen, where)
        if isinstance(found, str):
            return made, found
        made.close()
        raise Unreachable(f"the transport '{self._name}' gave {found!r} as address", place=where)

    def connecting(self, address: str, /) -> tuple[_socket.socket, Any]:
        return self._call(self._made.connecting, address)

    def _call(self, method: Any, text: str) -> tuple[_socket.socket, Any]:
        try:
            made, where = method(text)
            return _socket.socket(fileno=made.detach()), where
        except OSError:
            raise
        except Exception as error:  # whatever a class of a user raises
            raise Unreachable(
                f"the transport '{self._name}' raised {type(error).__name__}: {error}", place=text
            ) from error


_TCP, _SHARED = _TcpSockets(), _UnixSockets(is_private=False)
_TABLE: dict[str, Transport] = {
    UNIX: _UnixSockets(),
    SSH: _UnixSockets(),
    PASSED: _UnixSockets(_socket.SOCK_SEQPACKET),
}
"""The rows, by what addresses begin with."""
_NAMED_LISTENERS: set[int] = set()
"""Descriptors of listening sockets of the user's transports."""


def use(name: str, made: Transport) -> None:
    """Put a class among the transports that the user's descriptor names into the table."""
    _TABLE[f"{name}:"] = _Named(name, made)


def _row(address: str) -> tuple[str, Transport, str]:
    """Return the prefix of an address, its row of the table, and what that understands."""
    name, colon, rest = address.partition(":")
    row = _TABLE.get(name + colon)
    if isinstance(row, _UnixSockets) and not rest.startswith("/"):  # a host has that name
        row = None
    return ("", _TCP, address) if row is None else (name + colon, row, rest)


def socket_for(address: str) -> tuple[_socket.socket, Any]:
    """Return an unconnected socket for an address, and what to connect it to.

    Raises:
        Unreachable: it is no address of any transport, or the name of its host is not known.
    """
    _, row, rest = _row(address)
    return row.connecting(rest)


def announce(connected: _socket.socket, address: str) -> None:
    """Say for whom a new connection is, if its address tells that; raises OSError."""
    prefix, _, _ = _row(address)
    _, is_passed, behind = address.partition("/")
    if is_passed and not prefix:
        token, _, name = behind.partition("/")
        # Few bytes, and the first ones: the system takes them at once.
        if connected.send(announcement(token, name)) != TOKEN + NAME:
            raise ConnectionError("the connection takes nothing")


def listen(address: str, *, is_private: bool = True) -> tuple[_socket.socket, str]:
    """Return a socket that listens at an address, and the address that it really has.

    The system chooses for port 0. A path is the user's own if it `is_private`.

    Raises:
        Unreachable: nobody can listen there.
    """
    prefix, row, rest = _row(address)
    try:
        made, found = (row if is_private or prefix != UNIX else _SHARED).listen(rest)
    except OSError as error:
        raise Unreachable(
            f"cannot listen there: {error.strerror or error}",
            place=address,
            cure="Choose another port, or 0 for any that is free",
        ) from error
    (_NAMED_LISTENERS.add if isinstance(row, _Named) else _NAMED_LISTENERS.discard)(made.fileno())
    return made, prefix + found


def advertised(address: str, *names: str) -> tuple[str, ...]:
    """Return the addresses that others dial for one that is listened at, by `names` first."""
    host, port = host_and_port(address)
    if host != _EVERY_HOST:
        return (address,)
    from runtime.host_addresses import host_addresses  # only where there are other hosts

    found = dict.fromkeys((*names, os.uname().nodename, *host_addresses()))
    return tuple(f"{name}:{port}" for name in found if name)


def of_use(addresses: Iterable[str], *, is_near: bool) -> tuple[str, ...]:
    """Return those addresses of a process that lead there, `is_near` from its own host."""
    return tuple(one for one in addresses if is_near or not is_on_host(one))


def is_on_host(address: str) -> bool:
    """Tell whether an address leads nowhere but on the host where somebody listens at it."""
    _, row, _ = _row(address)
    return row.is_on_host or address.startswith(f"{_THIS_HOST}:")


def named_by_user(address: str) -> str:
    """Return the transport of an address if the descriptor names its class, else nothing."""
    prefix, row, _ = _row(address)
    return prefix[:-1] if isinstance(row, _Named) else ""


def is_listener_of_user(listener: _socket.socket) -> bool:
    """Tell whether a listening socket is of a transport whose class the descriptor names."""
    return listener.fileno() in _NAMED_LISTENERS


# --- what the system is told of a connection, by its kind of socket -------------------------------


def stays_on_host(connected: _socket.socket) -> bool:
    """Tell whether the bytes of a connection stay within this system, which knows both ends."""
    return connected.family == _socket.AF_UNIX


def send_at_once(connected: _socket.socket) -> None:
    """Let small messages leave without waiting for more; raises OSError."""
    _tell_tcp(connected, _socket.TCP_NODELAY, 1)


def end_when_silent(
    connected: _socket.socket, silence: float, *, even_if_full: bool = True
) -> None:
    """Let the system end a connection when its other host has said nothing for so long.

    The other process need not say anything: its system answers. But it has to read what is sent:
    with `even_if_full` a connection ends that has had no room for so long. Without, the system
    waits for the answer to what was sent far longer, so somebody has to ask `has_answered`.
    """
    if not _is_internet(connected):
        return
    if even_if_full:
        _tell_tcp(connected, _socket.TCP_USER_TIMEOUT, int(silence * 1000))
    _tell_tcp(connected, _socket.TCP_KEEPIDLE, max(1, int(silence / 3)))
    _tell_tcp(connected, _socket.TCP_KEEPINTVL, max(1, int(silence / 6)))
    _tell_tcp(connected, _socket.TCP_KEEPCNT, 4)
    connected.setsockopt(_socket.SOL_SOCKET, _socket.SO_KEEPALIVE, 1)


def send_small_segments(connecting: _socket.socket) -> None:
    """Let no packet be large, in both directions, of what is about to connect.

    Where a network loses large packets without a word, all that is large gets lost.
    """
    _tell_tcp(connecting, _socket.TCP_MAXSEG, SMALL_SEGMENT)


def tune(connected: _socket.socket, silence: float) -> None:
    """Let small messages leave at once and overtake, and silence of the peer be noticed."""
    connected.setblocking(False)
    if stays_on_host(connected):
        connected.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, _BUFFER)
        return
    send_at_once(connected)
    _tell_tcp(connected, _socket.TCP_NOTSENT_LOWAT, _UNSENT)
    end_when_silent(connected, silence)


def _is_internet(connected: _socket.socket) -> bool:
    return connected.family in (_socket.AF_INET, _socket.AF_INET6)


def _tell_tcp(connected: _socket.socket, option: int, value: int) -> None:
    """Set an option of TCP where there is one: other protocols of the user know some of them."""
    if not _is_internet(connected):
        return
    try:
        connected.setsockopt(_socket.IPPROTO_TCP, option, value)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            raise


def _bound(listener: _socket.socket, where: Any) -> _socket.socket:
    try:
        listener.bind(where)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
