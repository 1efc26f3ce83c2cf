"""The sockets between members of a lab."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterable, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from runtime.peers.credentials.credential import certified_by
from runtime.peers.errors import NotAuthentic, PeerError
from runtime.peers.model import Principal
from runtime.transport.errors import AuthenticationFailed
from runtime.transport.tls import TlsSocket, wrapped

CURE = "Both ends need credentials of the same lab that are not out of date; compare the clocks too"


ANOTHER_LAB = "TLSV1_UNRECOGNIZED_NAME"
"""What is said to who has not said the word of the lab."""


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
    connected: socket.socket, context: ssl.SSLContext, timeout: float, token: str | None
) -> PeerSocket:
    """Return the encrypted socket, which owns the connection; a dialler sends its `token`.

    Raises:
        NotAuthentic: the other end is no member of the lab.
        OSError: the connection ended, or took too long; it is closed in any case.
    """
    try:
        made = wrapped(connected, context, PeerSocket, dialled=token is not None, server_name=token)
    except BaseException:
        connected.close()
        raise
    try:
        made.settimeout(timeout)
        made.shake_hands()
    except AuthenticationFailed as error:
        made.close()
        if isinstance(error.__cause__, ssl.SSLError) and error.__cause__.reason == ANOTHER_LAB:
            raise why_refused(error.__cause__) from None
        raise NotAuthentic(error.what, cause=str(error.__cause__ or ""), cure=error.cure) from None
    except BaseException:
        made.close()
        raise
    return made


def why_refused(error: ssl.SSLError) -> NotAuthentic:
    """Return what it means that the other end has ended the connection with a TLS alert."""
    if error.reason == ANOTHER_LAB:
        return NotAuthentic(
            "another lab than that of this credential is there",
            cure="Use the credential of that lab (GCM_CREDENTIAL, gcm-peer run --credential FILE,"
            " gcm-peer lab join FILE), or correct the address",
        )
    return NotAuthentic(
        "the other end does not accept this credential", cause=str(error.reason), cure=CURE
    )


def addresses(host: str, port: int, timeout: float) -> Iterable[tuple[int, tuple[object, ...]]]:
    """Yield the families and socket addresses of a host; raises OSError."""
    try:
        found = _numeric(host, port) or _asked_for(host, port, timeout)
    except UnicodeError as error:  # a label that is empty or too long
        raise OSError(f"{host!r} is not a host name") from error
    for family, _, _, _, address in found:
        yield family, address


_Found = list[tuple[Any, Any, int, str, Any]]  # what `getaddrinfo` returns


def _numeric(host: str, port: int) -> _Found:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return []


def _asked_for(host: str, port: int, timeout: float) -> _Found:
    """Ask for the addresses of a name, which the system would do for as long as it likes."""
    answers: SimpleQueue[_Found | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as fault:  # the one who waits gets it
            answers.put(fault)

    threading.Thread(target=ask, name=f"address of {host:.40}", daemon=True).start()
    try:
        answer = answers.get(timeout=timeout)
    except Empty:
        raise OSError(f"nobody has told the address of {host} within {timeout:.3g} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer
