"""Which connections are encrypted, and what has to be known to move their bytes. Imports little.

A connection is encrypted when it is one between hosts and the run has a certificate. Both ends
come to the same answer without a word: they look at the address at which the connection was taken.
What encrypts, `runtime.transport.tls`, is loaded for the first such connection, so that processes
of a run on one machine do without it.
"""

from __future__ import annotations

import _socket  # not `socket`: that also imports selectors, and a rank has no use for either
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.transport.keys import audience_of
from runtime.transport.transports import stays_on_host

if TYPE_CHECKING:
    from runtime.transport.credentials import Credentials

    Socket = TypeVar("Socket", bound=_socket.socket)

_LOOPBACK = ("127.", "::1", "::ffff:127.")


def is_loopback(address: Any) -> bool:
    """Tell whether a socket address, as `getsockname` returns it, is on this machine only.

    >>> is_loopback(("127.0.0.1", 4711)), is_loopback(("10.0.0.7", 4711)), is_loopback("/a/path")
    (True, False, True)
    """
    return not isinstance(address, tuple) or str(address[0]).startswith(_LOOPBACK)


def secured(
    connected: Socket,
    credentials: Credentials,
    *,
    dialled: bool,
    peer: str = "",
    always: bool = False,
) -> Socket:
    """Return what to use for a connection: itself, or a socket that encrypts and owns it now.

    `dialled` says which end this is, `peer` the name of the one that is expected at the other.
    A run with a certificate encrypts `always` what a transport of the user carries: nobody here
    knows where that leads.
    `is_set_up` has to be asked before the first byte is sent.

    Raises:
        OSError: the connection has ended already.
        TransportError: the certificate is of no use.
    """
    if not credentials.certificate or (stays_on_host(connected) and not always):
        return connected
    address = connected.getpeername() if dialled else connected.getsockname()
    if is_loopback(address) and credentials.trusts_loopback and not always:
        return connected
    from runtime.transport.tls import encrypted

    expected = audience_of(peer)
    made: Any = encrypted(connected, credentials.certificate, dialled=dialled, expected=expected)
    return made  # type: ignore[no-any-return]  # it is a socket of either kind


def encrypts(connected: _socket.socket) -> bool:
    """Tell whether a socket encrypts, so that what it is given is not what the system sees."""
    return hasattr(connected, "shake_hands")


def is_set_up(connected: _socket.socket) -> bool:
    """Go on with the handshake of an encrypted connection; return whether nothing lacks.

    Raises:
        OSError: the connection has ended.
        AuthenticationFailed: the other end has no certificate of the run, or another one's.
    """
    shake_hands = getattr(connected, "shake_hands", None)
    return shake_hands is None or bool(shake_hands())


def certified(connected: _socket.socket) -> str:
    """Return the name in the certificate of the other end; nothing where none was shown."""
    return str(getattr(connected, "certified", ""))


def wants_to_write(connected: _socket.socket) -> bool:
    """Tell whether the handshake waits until more can be sent, not for the other end."""
    return bool(getattr(connected, "wants_to_write", False))
