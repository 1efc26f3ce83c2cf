"""Connections of a front-end to others, for what is not to wait for the launcher."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from gcm.interfaces.future import Future
from runtime.coupling.words import cluster_of, identifier_of, rank_path
from runtime.forwarding import LINK, lead_on
from runtime.machine.paths import clustering_path
from runtime.processes.member_host import BETWEEN_RANKS, HEARTBEAT, sender_of
from runtime.transport.channel import Channel, Handler, IncomingCall, Relay
from runtime.transport.credentials import Credentials
from runtime.transport.errors import TransportError
from runtime.transport.messages import PLAIN_DATA, Target
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream
from runtime.wire.dialling.line import SILENCE_TIMEOUT, end_when_silent

MOST = 64
"""With more front-ends nobody connects: each would to every other one."""

_log = logging.getLogger(__name__)


class FrontEndLinks:
    """Carries requests of ranks to connect to them, and heartbeats.

    What it carries may get lost and be said again, so where there is no link now, the launcher is
    as good. A front-end that cannot be connected to connects itself.
    """

    def __init__(
        self,
        reactor: Reactor,
        credentials: Credentials,
        find: Callable[[str], tuple[str, ...]],
        serve: Handler,
        inward: Relay,
    ) -> None:
        self._reactor = reactor
        self._credentials = credentials
        self._find = find
        self._serve = serve
        self._inward = inward
        self._links: dict[str, list[Channel]] = {}
        self._begun: set[str] = set()
        self._is_closed = False

    def connect(self, clusters: Iterable[str]) -> None:
        """Connect to the front-ends of clusters, to each once, in the background."""
        new = set(clusters) - self._begun - {self._credentials.name}
        if not new or len(new | self._begun) >= MOST:
            return
        self._begun |= new
        threading.Thread(target=self._dial, args=[sorted(new)], name="links", daemon=True).start()

    def way(self, cluster: str) -> Channel | None:
        """Return the connection to the front-end of a cluster, if there is one."""
        return next(iter(self._links.get(cluster, ())), None)

    def admit(self, connected: socket.socket, peer: str, received: bytes) -> None:
        """Use a connection that another front-end has opened; on the reactor's thread."""
        if self._is_closed or cluster_of(rank_path(f"{peer}:0")) != peer or peer.count(":") != 1:
            _log.warning("%s was sent away: it is no front-end", peer)
            connected.close()
            return
        if connected.family != socket.AF_UNIX:
            end_when_silent(connected, SILENCE_TIMEOUT)  # the launcher may still be reached
        channel = Channel(
            self._reactor,
            SocketStream(connected),
            f"the front-end of {peer}",
            partial(self._hear, peer),
            relay=partial(self._onward, peer),
            codec=PLAIN_DATA,
        )
        self._links.setdefault(peer, []).append(channel)
        channel.when_closed(lambda _: self._links[peer].remove(channel))
        channel.open(received)

    def close(self) -> None:
        """Hang up."""
        self._is_closed = True
        for channels in list(self._links.values()):
            for channel in list(channels):
                channel.close()

    def _dial(self, clusters: list[str]) -> None:
        for cluster in clusters:
            try:
                made, received = lead_on((cluster, LINK), self._find, self._credentials)
            except (OSError, TransportError) as fault:  # it may connect itself
                _log.info("no link to the front-end of %s: %s", cluster, fault)
                continue
            self._reactor.soon(partial(self.admit, made, cluster, received))

    def _onward(self, peer: str, target: Target) -> Channel | None:
        if target.interface not in BETWEEN_RANKS:
            return None
        if cluster_of(rank_path(target.client)) != peer:
            raise TransportError(f"{peer} calls {target} in the name of {target.client!r}")
        return self._inward(target) if identifier_of(target.component) else None

    def _hear(self, peer: str, request: IncomingCall) -> Future[Any] | IncomingCall | None:
        target = request.target
        if target.interface == HEARTBEAT and sender_of(target) == clustering_path(peer):
            return self._serve(request)
        if target.interface not in BETWEEN_RANKS:  # else it is for a rank that has gone
            _log.warning("%s may not call %s as %r", peer, target, target.client)
        return None
