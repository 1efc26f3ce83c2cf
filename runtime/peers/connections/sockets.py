"""The sockets between members of a lab."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

from runtime.peers.credentials.credential import certified_by
from runtime.peers.errors import NotAuthentic, PeerError
from runtime.peers.model import Principal
from runtime.transport.errors import AuthenticationFailed
from runtime.transport.tls import TlsSocket, wrapped

CURE = "Both ends need credentials of the same lab that are not out of date; compare the clocks too"


class PeerSocket(TlsSocket):
    """An encrypted connection both ends of which have shown a certificate of the lab."""

    whole, cure = "lab", CURE
    principal: Principal
    """Who is at the other end, as soon as both have shaken hands."""

    def check(self, shown: Mapping[str, Any]) -> None:  # noqa: ARG002 - it has no types of names
        """Take note of who the other end is; raises AuthenticationFailed."""
        try:
            self.principal, _ = certified_by(self.getpeercert(binary_form=True) or b"")
        except (ValueError, PeerError) as error:
            why = "the certificate of the other end names nobody"
            raise AuthenticationFailed(why, cure=CURE) from error


def shaken(
    connected: socket.socket, context: ssl.SSLContext, timeout: float, knock: str | None
) -> PeerSocket:
    """Return the encrypted socket, which owns the connection; `knock` is what a dialler says.

    Raises:
        NotAuthentic: the other end is no member of the lab.
        OSError: the connection ended, or took too long; it is closed in any case.
    """
    try:
        made = wrapped(connected, context, PeerSocket, dialled=knock is not None, server_name=knock)
    except BaseException:
        connected.close()
        raise
    try:
        made.settimeout(timeout)
        made.shake_hands()
    except AuthenticationFailed as error:
        made.close()
        raise NotAuthentic(error.what, cause=str(error.__cause__ or ""), cure=error.cure) from None
    except BaseException:
        made.close()
        raise
    return made


def why_refused(error: ssl.SSLError) -> NotAuthentic:
    """Return what it means that the other end has ended the connection with a TLS alert."""
    return NotAuthentic(
        "the other end does not accept this credential", cause=str(error.reason), cure=CURE
    )


def addresses(host: str, port: int) -> Iterable[tuple[int, tuple[object, ...]]]:
    """Yield the families and socket addresses of a host; raises OSError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that is empty or too long
        raise OSError(f"{host!r} is no name of a host") from error
    for family, _, _, _, address in found:
        yield family, address
