"""The post of this rank, made of what its link to the front-end knows."""

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
from runtime.wire.messages import Receiver
from runtime.wire.post import Post
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


def open_post(link: RankLink, receiver: Receiver) -> Post:
    """Return the post of a rank; from now on it answers ranks that dial this one.

    The first call takes the listening sockets of the rank, so there is one post per process.
    """
    known = everybody(link)
    directory = directory_of(link)
    doors = [socket.socket(fileno=door.detach()) for door in link.doors]
    link.doors.clear()
    routed = _routed(link, known, directory) if known.front_ends else None
    references = References(routed or DirectConnector(known.index, directory, link.credentials))
    post = Post(
        known.index, directory, receiver, references, doors=doors, credentials=link.credentials
    )
    references.keeper = post

    def tell(operation: str) -> None:
        traffic = post.traffic()
        link.note(operation, references.rows(traffic, directory), references.figures(traffic))

    known_words: Words = {FIGURES: lambda: tell(COUNTED)}
    if routed is not None:
        routed.hear(link.answer.get("routes", ()), post.now())
        known_words |= _about_routes(post, routed, directory)

    def hear(operation: str, words: tuple[Any, ...]) -> None:
        if operation in known_words:
            post.soon(lambda: known_words[operation](*words))

    link.when_beckoned(hear)
    post.at_end = lambda: tell("exchanged")
    return post


def passed(post: Post, peer: int) -> tuple[str, ...] | None:
    """Return the front-ends between this rank and a peer, as far as this end has connected them."""
    return post.connector.passed(peer) if isinstance(post.connector, References) else None


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


def _about_routes(post: Post, routed: RoutedConnector, directory: Directory) -> Words:
    """Return what to do when peers ask to be connected to, and when something was learned."""

    def come(name: str) -> None:
        peer = directory.index(name)
        if peer is not None:
            post.watch(peer)

    def meet(front_end: str, token: str) -> None:
        try:
            post.come(routed.meet(front_end, token, post.now()))
        except PeerLost as fault:  # who waits there notices
            _log.info("a meeting did not come about: %s", fault)

    def leave(peers: list[int]) -> None:
        for peer in peers:
            post.rest(peer)  # where it is idle; the next message goes the shorter way

    def learn(told: list[Experience]) -> None:
        leave(routed.hear(told, post.now()))

    def try_again() -> None:
        for probe in routed.probes(post.now()):
            probe.begin(partial(tell, probe))

    def tell(probe: Probe, has_worked: bool) -> None:
        post.soon(lambda: leave(routed.probed(probe, post.now(), has_worked=has_worked)))

    return {COME: come, MEET: meet, LEARNED: learn, AGAIN: try_again}


def directory_of(link: RankLink) -> Directory:
    """Return who is where, as far as a rank was told."""
    return Directory(
        tuple(
            Party(str(one.identifier), one.host, one.machine, one.addresses)
            for one in everybody(link).residents
        )
    )
