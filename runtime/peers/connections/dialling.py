"""Opens connections to members of a lab, and makes sure who answers."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Container, Iterable
from functools import cached_property

from runtime.peers.connections.calls import PROTOCOL, opened
from runtime.peers.connections.connection import Frames, MemberConnection
from runtime.peers.connections.sockets import addresses, shaken, why_refused
from runtime.peers.credentials.contexts import contexts
from runtime.peers.credentials.credential import Credential
from runtime.peers.errors import NotAuthentic, PeerError, PeerUnreachable
from runtime.peers.model import Address, Member, Principal
from runtime.shown_text import shown
from runtime.transport.errors import FrameError

DIAL_TIMEOUT = 5.0
"""How many seconds it may take until the other end has proved who it is."""


class MemberDialler:
    """Opens connections with a credential, to nobody who is revoked."""

    def __init__(
        self,
        credential: Credential,
        timeout: float = DIAL_TIMEOUT,
        revoked: Container[Principal] = (),
    ) -> None:
        self.credential = credential
        self.timeout = timeout
        self._revoked = revoked

    @property
    def me(self) -> str:
        """The `caller` of calls over these connections."""
        return str(self.credential.principal)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return contexts(self.credential)[1]

    def reach(self, peer: Member, timeout: float | None = None) -> MemberConnection:
        """Return a connection to a peer, at the first of its addresses where it answers.

        Raises:
            PeerUnreachable: nobody answers.
            NotAuthentic: somebody else does.
        """
        faults = []
        for address in peer.addresses:
            try:
                return self.dial(address, peer.principal, timeout)
            except PeerError as fault:
                faults.append(fault)
        if len(faults) == 1:
            raise faults[0]
        raise PeerUnreachable(
            "it is at none of its addresses" if faults else "no address of it is known",
            place=str(peer.principal),
            cause="\n".join(map(str, faults)),
        )

    def dial(
        self, address: Address, expected: Principal | None = None, timeout: float | None = None
    ) -> MemberConnection:
        """Return a connection to an address, where `expected` or else any member answers.

        Raises:
            PeerUnreachable: nobody answers, or not in time.
            NotAuthentic: who answers is no member of the lab, or not the one expected.
        """
        timeout = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        place = f"{expected} at {address}" if expected else str(address)
        try:
            connection = self._dialled(address, deadline)
        except ssl.SSLError as error:
            raise _at(place, why_refused(error)) from error
        except NotAuthentic as error:
            raise _at(place, error) from error.__cause__
        except (OSError, FrameError) as error:
            raise _silence(place, error, timeout) from error
        found = connection.principal
        if found in self._revoked:
            connection.close()
            raise NotAuthentic(f"the credential of {found} is revoked here", place=str(address))
        if expected is not None and found != expected:
            connection.close()
            raise NotAuthentic(
                f"{found} answers there, and not {expected}",
                place=str(address),
                cure="The address or the port that is known of it is wrong",
            )
        return connection

    def _dialled(self, address: Address, deadline: float) -> MemberConnection:
        token = self.credential.token
        found = addresses(address.host, address.port, _left(deadline))
        joined = _connected(found, deadline)
        encrypted = shaken(joined, self._context, _left(deadline), token)
        try:
            frames = Frames(encrypted)
            frame = frames.receive(deadline)
            if frame is None:
                raise ConnectionError("it closed the connection before it identified itself")
            greeting = opened(frame)
            if not isinstance(greeting, dict) or greeting.get("protocol") != PROTOCOL:
                raise NotAuthentic(
                    f"it speaks another version of the protocol than this end ({PROTOCOL})",
                    cause=shown(str(greeting)),
                    cure="Install the same version of gcm-grid at both ends",
                )
        except BaseException:
            encrypted.close()
            raise
        return MemberConnection(frames, address)


def _connected(found: Iterable[tuple[int, tuple[object, ...]]], deadline: float) -> socket.socket:
    """Return a connection to the first address that takes one; raises OSError."""
    fault: OSError = OSError("the host has no address")
    for family, address in found:
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.settimeout(_left(deadline))
            made.connect(address)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            made.close()
            fault = error
        else:
            return made
    raise fault


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())


def _at(place: str, error: NotAuthentic) -> NotAuthentic:
    error.place = place
    return error


def _silence(place: str, error: Exception, timeout: float) -> PeerUnreachable:
    is_late = isinstance(error, TimeoutError)
    return PeerUnreachable(
        f"nobody has answered within {timeout:g} s" if is_late else "it cannot be reached",
        place=place,
        cause="" if is_late else str(error),
        cure="Check that the peer is up (gcm-peer status), its address, and firewalls between",
    )
