"""Opens the rest of a route: the connection to the next stop, and through it to those behind."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from runtime.transport.credentials import Credentials
from runtime.transport.encryption import is_set_up, secured
from runtime.transport.errors import AuthenticationFailed, TransportError, Unreachable
from runtime.transport.lean import dial
from runtime.transport.transports import announce, named_by_user, socket_for
from runtime.wire.dialling.forward_requests import AnswerReader, ForwardRequest

ANSWER_TIMEOUT = 10.0
"""Seconds for the next stop of a route to prove itself, or to begin to encrypt."""

CONNECT_TIMEOUT = 4.0
"""Seconds for the host of the next stop to answer."""

_PIECE = 4096


class SilentStop(Unreachable):
    """The process exists but does not run now: its kernel has accepted the connection."""


Find = Callable[[str], tuple[str, ...]]
"""Returns the addresses of a stop, the best one first."""


def lead_on(
    stops: tuple[str, ...], find: Find, credentials: Credentials
) -> tuple[socket.socket, bytes]:
    """Return a connection through the next stop to the last one, and bytes received early.

    Raises:
        SilentStop: the process at the last stop was connected to, and does not answer.
        Unreachable: none of its addresses, which `find` returns, leads there; with all reasons.
    """
    addresses = find(stops[0])
    if not addresses:
        raise Unreachable("its address is not known here", place=stops[0])
    faults: list[str] = []
    kind = Unreachable
    for address in addresses:
        try:
            if stops[1:]:
                return _through(address, stops, credentials)
            return _to(address, stops[0], credentials)
        except (OSError, TransportError) as error:
            faults.append(str(error))
            kind = SilentStop if isinstance(error, SilentStop) else kind
    raise kind("; ".join(faults), place=stops[0])


def _to(address: str, name: str, credentials: Credentials) -> tuple[socket.socket, bytes]:
    """Connect to the end of a route; it proves itself to the sender, not to this forwarder."""
    bare, where = socket_for(address)
    made = socket.socket(fileno=bare.detach())
    try:
        made.settimeout(CONNECT_TIMEOUT)
        made.connect(where)
        announce(made, address)
        always = bool(named_by_user(address))
        made = secured(made, credentials, dialled=True, peer=name, always=always)
        made.settimeout(ANSWER_TIMEOUT)
        _set_up(made, address)
    except (AuthenticationFailed, SilentStop):
        made.close()
        raise
    except OSError as error:
        made.close()
        raise Unreachable(f"nobody answers: {error}", place=address) from error
    return made, b""


def _set_up(made: socket.socket, address: str) -> None:
    try:
        is_set_up(made)
    except TimeoutError as error:
        raise SilentStop(f"no answer within {ANSWER_TIMEOUT:g} s", place=address) from error


def _through(
    address: str, stops: tuple[str, ...], credentials: Credentials
) -> tuple[socket.socket, bytes]:
    """Ask the front-end of the first stop to open the route to the others."""
    bare, _, received = dial(address, credentials, ANSWER_TIMEOUT, peer=stops[0])
    made = bare if isinstance(bare, socket.socket) else socket.socket(fileno=bare.detach())
    reader = AnswerReader()
    deadline = time.monotonic() + 2 * ANSWER_TIMEOUT
    try:
        made.settimeout(ANSWER_TIMEOUT)
        made.sendall(ForwardRequest(stops[1:]).written())
        answer = reader.feed(received)
        while answer is None:
            made.settimeout(max(0.001, deadline - time.monotonic()))
            data = made.recv(_PIECE)
            if not data:
                raise Unreachable("it closed the connection", place=address)
            answer = reader.feed(data)
        if not answer.is_open:
            raise (SilentStop if answer.is_silent else Unreachable)(answer.why, place=address)
    except BaseException:
        made.close()
        raise
    return made, reader.rest
