"""The connections of this rank, made of what its link to the front-end knows."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from runtime.lazy_import import LazyModule, logger
from runtime.machine.composition import Composition
from runtime.machine.contracts import Routes
from runtime.machine.paths import RANKS
from runtime.machine.roles import REFERENCE_CACHE, TENSIONING
from runtime.membership.everybody import Everybody, everybody, front_ends_in
from runtime.membership.rank_link import RankLink
from runtime.wire.dialling.connecting import DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.line import RESUME_TIMEOUT, SILENCE_TIMEOUT
from runtime.wire.dialling.references import ReferenceController
from runtime.wire.errors import PeerLost
from runtime.wire.peer_connections import PeerConnections
from runtime.wire.stream.messages import MessageSink

if TYPE_CHECKING:
    from runtime import routing
    from runtime.machine.table import Report
    from runtime.membership.bind_address import AdvertisedAddresses
    from runtime.wire.dialling.probing import Probe
    from runtime.wire.dialling.routed import RoutedConnector
else:
    routing = LazyModule("runtime.routing")  # not where all ranks reach each other directly

_log = logger(__name__)


def open_connections(
    link: RankLink,
    sink: MessageSink,
    make: Callable[..., PeerConnections] | None = None,
    composition: Composition | None = None,
    known: Everybody | None = None,
) -> PeerConnections:
    """Return the connections of a rank; from now on it answers ranks that dial this one.

    The first call takes the listening sockets of the rank, so a process calls it once. `make` takes
    what the class `PeerConnections` takes, and is used instead of it;
    `composition` has the controllers that the descriptor names. `known` is what `everybody`
    returned; who asks more than once may get different answers.
    """
    known = known or everybody(link)
    directory = directory_of(known)
    listeners = [socket.socket(fileno=listener.detach()) for listener in link.listeners]
    link.listeners.clear()
    routed = _routed(link, known, directory, composition) if known.front_ends else None
    bound = None
    if composition is not None and composition.named(REFERENCE_CACHE, composition.here):
        bound = partial(composition.controller, REFERENCE_CACHE)
    references = ReferenceController(
        routed or DirectConnector(known.index, directory, link.credentials), bound
    )
    times = link.wrapper.settings.line_times or (SILENCE_TIMEOUT, RESUME_TIMEOUT)
    connections = (make or PeerConnections)(
        known.index, directory, sink, references, listeners=listeners, credentials=link.credentials,
        silence=times[0], resume_timeout=times[1],
    )  # fmt: skip
    references.keeper = connections

    def count(report: Callable[[str, list[Any], dict[str, int]], None]) -> None:
        traffic = connections.traffic()
        is_observed = link.wrapper.settings.is_observed
        rows = references.rows(traffic, directory, by_rank=is_observed)
        report(link.name, rows, references.figures(traffic))

    above = link.wrapper.references
    connections.at_end = lambda: count(above.exchanged)
    if routed is not None:
        routed.learn(routing.experiences_of(link.wrapper.found_routes), connections.now())
    link.wrapper.attach(_Routes(connections, routed, directory, lambda: count(above.counted)))
    return connections


def passed(connections: PeerConnections, peer: int) -> tuple[str, ...] | None:
    """Return the front-ends between this rank and a peer, as far as this end has connected them."""
    return (
        connections.connector.passed(peer)
        if isinstance(connections.connector, ReferenceController)
        else None
    )


def learn_front_ends(connections: PeerConnections, table: Sequence[Report]) -> None:
    """Let a rank know where front-ends forward that have come since it began."""
    if isinstance(connections.connector, ReferenceController):
        found = front_end_parties(front_ends_in(table))
        connections.connector.connector.front_ends.update(found)


def _routed(
    link: RankLink, known: Everybody, directory: RankDirectory, composition: Composition | None
) -> RoutedConnector:
    # only where not all can reach each other
    from runtime.wire.dialling.routed import RoutedConnector

    def peers(peer: int) -> Routes:
        return link.to(Routes, RANKS + directory.party(peer).name)

    return RoutedConnector(
        known.index,
        directory,
        link.credentials,
        known.grid,
        front_ends=front_end_parties(known.front_ends),
        peers=peers,
        share=lambda news: link.wrapper.references.learned(link.name, routing.plain(news)),
        tension=None if composition is None else _tension(composition),
    )


def _tension(composition: Composition) -> routing.Tensioning:
    found: routing.Tensioning = composition.controller(TENSIONING, routing.Tension())
    return found


class _Routes:
    """Does what is said about routes, on the thread that drives the connections.

    Without `routed` all ranks reach each other directly, and there is nothing to learn.
    """

    def __init__(
        self,
        connections: PeerConnections,
        routed: RoutedConnector | None,
        directory: RankDirectory,
        count: Callable[[], None],
    ) -> None:
        self._connections = connections
        self._routed = routed
        self._directory = directory
        self._count = count

    def count(self) -> None:
        """Tell what was sent until now."""
        self._connections.soon(self._count)

    def come(self, member: str) -> None:
        """Look whether a rank is there that this one has to connect to."""
        peer = self._directory.index(member)
        if peer is not None:
            self._soon(lambda _: self._connections.watch(peer))

    def meet(self, front_end: str, token: str) -> None:
        """Come to a front-end, where another rank waits."""
        self._soon(lambda routed: meet(self._connections, routed, front_end, token))

    def news(self, experiences: list[Any]) -> None:
        """Learn which routes worked for others and which did not."""
        told = routing.experiences_of(experiences) if self._routed is not None else []
        self._soon(lambda routed: self._leave(routed.learn(told, self._connections.now())))

    def try_again(self) -> None:
        """Try routes again that were found closed."""
        self._soon(self._probe)

    def _soon(self, call: Callable[[RoutedConnector], None]) -> None:
        if self._routed is not None:
            self._connections.soon(partial(call, self._routed))

    def _probe(self, routed: RoutedConnector) -> None:
        for probe in routed.probes(self._connections.now()):
            probe.begin(partial(self._take_result, probe))

    def _take_result(self, probe: Probe, has_worked: bool) -> None:
        self._soon(
            lambda routed: self._leave(
                routed.probed(probe, self._connections.now(), has_worked=has_worked)
            )
        )

    def _leave(self, peers: list[int]) -> None:
        for peer in peers:
            self._connections.rest(peer)  # where it is idle; the next message goes the shorter way


def meet(connections: PeerConnections, routed: RoutedConnector, front_end: str, token: str) -> None:
    """Go to a front-end where another rank waits; if that fails, the other one notices."""
    try:
        connections.come(routed.meet(front_end, token, connections.now()))
    except PeerLost as fault:
        _log.info("a connection over a third front-end failed: %s", fault)


def front_end_parties(
    known: Mapping[tuple[int, int], AdvertisedAddresses],
) -> dict[tuple[int, int], Party]:
    """Return where front-ends forward, as far as a rank was told."""
    return {
        cluster: Party("{}:{}".format(*cluster), "", *found) for cluster, found in known.items()
    }


def directory_of(known: Everybody) -> RankDirectory:
    """Return who is where, as far as a rank was told."""
    return RankDirectory(
        tuple(
            Party.of(one, known.cluster_name(one.identifier), known.names)
            for one in known.residents
        )
    )
