"""The connections of this rank, made of what its link to the front-end knows."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial

from runtime.later import logger
from runtime.membership.everybody import Everybody, everybody
from runtime.membership.rank_link import AGAIN, COUNTED, FIGURES, LEARNED, RankLink
from runtime.wire.connecting import DirectConnector
from runtime.wire.directory import Directory, Party
from runtime.wire.errors import PeerLost
from runtime.wire.messages import MessageSink
from runtime.wire.peer_connections import PeerConnections
from runtime.wire.references import References
from runtime.wire.words import COME, MEET

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import Any

    from runtime.routing import Experience
    from runtime.wire.probing import Probe
    from runtime.wire.routed import RoutedConnector

_log = logger(__name__)

Words = dict[str, Callable[..., None]]
"""What to do when others say something about routes."""


def open_connections(link: RankLink, sink: MessageSink) -> PeerConnections:
    """Return the connections of a rank; from now on it answers ranks that dial this one.

    The first call takes the listening sockets of the rank, so a process calls it once.
    """
    known = everybody(link)
    directory = directory_of(link)
    listeners = [socket.socket(fileno=listener.detach()) for listener in link.doors]
    link.doors.clear()
    routed = _routed(link, known, directory) if known.front_ends else None
    references = References(routed or DirectConnector(known.index, directory, link.credentials))
    connections = PeerConnections(
        known.index, directory, sink, references, listeners=listeners, credentials=link.credentials
    )
    references.keeper = connections

    def tell(operation: str) -> None:
        traffic = connections.traffic()
        link.note(operation, references.rows(traffic, directory), references.figures(traffic))

    known_words: Words = {FIGURES: lambda: tell(COUNTED)}
    if routed is not None:
        routed.hear(link.answer.get("routes", ()), connections.now())
        known_words |= _about_routes(connections, routed, directory)

    def hear(operation: str, words: tuple[Any, ...]) -> None:
        if operation in known_words:
            connections.soon(lambda: known_words[operation](*words))

    link.when_beckoned(hear)
    connections.at_end = lambda: tell("exchanged")
    return connections


def passed(connections: PeerConnections, peer: int) -> tuple[str, ...] | None:
    """Return the front-ends between this rank and a peer, as far as this end has connected them."""
    return (
        connections.connector.passed(peer)
        if isinstance(connections.connector, References)
        else None
    )


def _routed(link: RankLink, known: Everybody, directory: Directory) -> RoutedConnector:
    # only where not all can reach each other
    from runtime.coupling.words import rank_path
    from runtime.wire.routed import RoutedConnector

    front_ends = {
        cluster: Party("{}:{}".format(*cluster), one.host, one.machine, one.addresses)
        for cluster, one in known.front_ends.items()
    }

    def beckon(peer: int, operation: str, words: tuple[str, ...]) -> None:
        link.beckon(rank_path(directory.party(peer).name), operation, *words)

    return RoutedConnector(
        known.index,
        directory,
        link.credentials,
        known.grid,
        front_ends=front_ends,
        beckon=beckon,
        share=lambda news: link.note(LEARNED, news),
    )


def _about_routes(
    connections: PeerConnections, routed: RoutedConnector, directory: Directory
) -> Words:
    """Return what to do when peers ask to be connected to, and when something was learned."""

    def come(name: str) -> None:
        peer = directory.index(name)
        if peer is not None:
            connections.watch(peer)

    def meet(front_end: str, token: str) -> None:
        try:
            connections.come(routed.meet(front_end, token, connections.now()))
        except PeerLost as fault:  # who waits there notices
            _log.info("a meeting did not come about: %s", fault)

    def leave(peers: list[int]) -> None:
        for peer in peers:
            connections.rest(peer)  # where it is idle; the next message goes the shorter way

    def learn(told: list[Experience]) -> None:
        leave(routed.hear(told, connections.now()))

    def try_again() -> None:
        for probe in routed.probes(connections.now()):
            probe.begin(partial(tell, probe))

    def tell(probe: Probe, has_worked: bool) -> None:
        connections.soon(
            lambda: leave(routed.probed(probe, connections.now(), has_worked=has_worked))
        )

    return {COME: come, MEET: meet, LEARNED: learn, AGAIN: try_again}


def directory_of(link: RankLink) -> Directory:
    """Return who is where, as far as a rank was told."""
    return Directory(
        tuple(
            Party(str(one.identifier), one.host, one.machine, one.addresses)
            for one in everybody(link).residents
        )
    )
