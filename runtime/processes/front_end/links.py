"""Connections of a front-end to others, for what is not to wait for the launcher."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from gcm.interfaces.future import Future
from runtime.coupling.message_paths import cluster_of, rank_path
from runtime.forwarding.leading import lead_on
from runtime.machine.authority import OVER_LINKS, is_for_rank
from runtime.machine.paths import clustering_path
from runtime.part_names import is_cluster, numbers_of
from runtime.processes.member_host import HEARTBEAT, sender_of
from runtime.topology import NO_NAMES, RankNames
from runtime.transport.channel import Channel, Handler, IncomingCall, Relay
from runtime.transport.credentials import Credentials
from runtime.transport.errors import TransportError
from runtime.transport.messages import PLAIN_DATA, Target
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream
from runtime.transport.transports import end_when_silent
from runtime.wire.dialling.forward_requests import LINK
from runtime.wire.dialling.line import SILENCE_TIMEOUT

MOST = 64
"""With more front-ends nobody connects: each would to every other one."""

MOST_OF_ONE = 2
"""So many links of one front-end are kept: both ends may have dialled at once."""

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
        *,
        names: RankNames = NO_NAMES,
    ) -> None:
        self._names = names
        self._reactor = reactor
        self._credentials = credentials
        self._find = find
        self._serve = serve
        self._inward = inward
        self._links: dict[str, list[Channel]] = {}
        self._sought: set[str] = set()  # whom this one dials, or has a link to
        self._is_closed = False

    def connect(self, clusters: Iterable[str]) -> None:
        """Connect in the background to the front-ends of clusters that there is no link to.

        Each begins with the one behind it in the order of clusters. So most are dialled by the one
        before them in time, and half of all pairs need not be dialled by their second end.
        """
        others = set(clusters) - {self._credentials.name}
        new = others - self._sought
        if not new or len(others) >= MOST:
            return
        self._sought |= new
        own = numbers_of(self._credentials.name)
        order = sorted(new, key=lambda one: (numbers_of(one) < own, numbers_of(one)))
        threading.Thread(target=self._dial, args=[order], name="links", daemon=True).start()

    def way(self, cluster: str) -> Channel | None:
        """Return the latest connection to the front-end of a cluster, if there is one."""
        return next(reversed(self._links.get(cluster, ())), None)

    def admit(self, connected: socket.socket, peer: str, received: bytes) -> None:
        """Use a connection that another front-end has opened; on the reactor's thread."""
        if self._is_closed or not is_cluster(peer):
            who = self._names.name(peer)
            _log.warning("%s was turned away: it is not a front-end", who)
            connected.close()
            return
        end_when_silent(connected, SILENCE_TIMEOUT)  # the launcher may still be reached
        channel = Channel(
            self._reactor,
            SocketStream(connected),
            f"the front-end of {self._names.name(peer)}",
            partial(self._handle, peer),
            relay=partial(self._onward, peer),
            codec=PLAIN_DATA,
        )
        known = self._links.setdefault(peer, [])
        known.append(channel)
        self._sought.add(peer)
        channel.when_closed(lambda _: self._ended(peer, channel))
        channel.open(received)
        for spare in known[:-MOST_OF_ONE]:
            spare.close()

    def close(self) -> None:
        """Hang up."""
        self._is_closed = True
        for channels in list(self._links.values()):
            for channel in list(channels):
                channel.close()

    def _ended(self, peer: str, channel: Channel) -> None:
        self._links[peer].remove(channel)
        if not self._links[peer]:
            self._sought.discard(peer)

    def _dial(self, clusters: list[str]) -> None:
        for cluster in clusters:
            if self.way(cluster) is not None:  # it has dialled meanwhile
                continue
            try:
                made, received = lead_on((cluster, LINK), self._find, self._credentials)
            except (OSError, TransportError) as fault:  # it may connect itself
                _log.info("no link to the front-end of %s: %s", self._names.name(cluster), fault)
                self._reactor.soon(partial(self._sought.discard, cluster))
                continue
            self._reactor.soon(partial(self.admit, made, cluster, received))

    def _onward(self, peer: str, target: Target) -> Channel | None:
        if not (target.interface in OVER_LINKS and is_for_rank(target)):
            return None
        if cluster_of(rank_path(target.client)) != peer:
            raise TransportError(f"{peer} calls {target} in the name of {target.client!r}")
        return self._inward(target)

    def _handle(self, peer: str, request: IncomingCall) -> Future[Any] | IncomingCall | None:
        target = request.target
        if target.interface == HEARTBEAT and sender_of(target) == clustering_path(peer):
            return self._serve(request)
        if target.interface not in OVER_LINKS:  # else it is for a rank that has gone
            _log.warning("%s may not call %s as %r", self._names.name(peer), target, target.client)
        return None
